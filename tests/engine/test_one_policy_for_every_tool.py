"""What is refused is refused to every tool that could do it, and to mentions, however the path is spelt: one table a policy."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.events import UserEvent
from ostinato.messages import ToolResult, ToolUse
from ostinato.option_values import PermissionMode
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = [pytest.mark.process, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

OLD, NEW = "TOPSECRET", "OVERWRITTEN"
TEXT = json.dumps({"cells": [{"cell_type": "markdown", "source": f"{OLD} word", "id": "a"}], "nbformat": 4})
"""Of a text and of a notebook beside it, so that every tool finds what it can change."""

ENDS = (".txt", ".ipynb")

CHANGES: dict[str, Mapping[str, Any]] = {
    "Write": {"file_path": "{}", "content": NEW},
    "Edit": {"file_path": "{}", "old_string": OLD, "new_string": NEW},
    "MultiEdit": {"file_path": "{}", "edits": [{"old_string": OLD, "new_string": NEW}]},
    "NotebookEdit": {"notebook_path": "{}", "cell_id": "a", "new_source": NEW},
}
WRITING_COMMANDS = (
    f"echo {NEW} > {{}}",
    f"echo {NEW} >> {{}}",
    f"sed -i s/{OLD}/{NEW}/ {{}}",
    f"echo {NEW} | tee {{}}",
    f"printf {NEW} | dd of={{}}",
    "cp open.txt {}",
    "mv -f open.txt {}",
    "ln -sf open.txt {}",
    "truncate -s 0 {}",
    "rm {}",
    f"python3 -c \"open('{{}}', 'w').write('{NEW}')\"",
)
LOOKS: dict[str, Mapping[str, Any]] = {
    "Read": {"file_path": "{}"},
    "Grep": {"pattern": "TOP.*", "path": "{}", "output_mode": "content"},
}
READING_COMMANDS = (
    "cat {}",
    "head -c 99 < {}",
    "grep -o TOP.* {}",
    "cp {} open.txt; cat open.txt",
    "base64 {}",
    "diff {} /dev/null",
    "python3 -c \"print(open('{}').read())\"",
)


def calls(tools: dict[str, Mapping[str, Any]], commands: tuple[str, ...], path: str) -> list[ToolUse]:
    """The same place by every tool and by every command; notebooks by the tool for them."""
    inputs = [
        (name, {key: _at(value, name, path) for key, value in given.items()}) for name, given in tools.items()
    ]
    inputs += [("Bash", {"command": command.replace("{}", f"{path}.txt")}) for command in commands]
    return [call(name, f"t{number}", **given) for number, (name, given) in enumerate(inputs)]


def _at(value: object, tool: str, path: str) -> object:
    return path + (".ipynb" if tool == "NotebookEdit" else ".txt") if value == "{}" else value


async def results(
    folder: Path,
    asked: list[ToolUse],
    *,
    prompt: str = "go",
    mode: PermissionMode = "acceptEdits",
    allowed: tuple[str, ...] = (),
    denied: tuple[str, ...] = (),
    reads: str = "",
) -> tuple[list[ToolResult], str]:
    """What the calls got, and all that the model was sent. Nobody can be asked."""
    seen = [call("Read", f"r{end}", file_path=reads + end) for end in ENDS if reads]
    replies = [Reply(*blocks) for blocks in (seen, asked) if blocks]
    model = ScriptedModel(*replies, Reply(say("done")))
    chosen = Options(
        cwd=folder / "work",
        model=model,
        environment={"HOME": str(folder / "home"), "PATH": os.environ["PATH"]},
        permission_mode=mode,
        allowed_tools=allowed,
        disallowed_tools=denied,
        keep_session=False,
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message(prompt)]
    blocks = [block for event in events if isinstance(event, UserEvent) for block in event.message.content]
    found = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    return [found[one.id] for one in asked], str([request.messages for request in model.requests])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`work` is the workspace; `work-other` and `elsewhere` lie beside it."""
    work = tmp_path / "work"
    for place in ("work/kept", "work/.git", "work/.vscode", "work/sub", "work-other", "elsewhere", "home"):
        (tmp_path / place).mkdir(parents=True)
        for end in ENDS:
            (tmp_path / place / f"f{end}").write_text(TEXT)
    (work / "open.txt").write_text("{}")
    for way, target in {"way": "kept", "out": "../elsewhere", "settings": ".vscode"}.items():
        (work / way).symlink_to(target)
    for way, target in {"file": "kept/f", "outfile": "../elsewhere/f", "hook": ".git/f"}.items():
        for end in ENDS:
            (work / (way + end)).symlink_to(target + end)
    return tmp_path


def assert_all_refused(asked: list[ToolUse], got: list[ToolResult]) -> None:
    passed = [dict(one.input) for one, result in zip(asked, got, strict=True) if not result.is_error]
    assert passed == []


@pytest.mark.parametrize("one", calls(CHANGES, WRITING_COMMANDS, "sub/f"), ids=lambda one: str(one.input))
async def test_every_one_of_these_changes_what_may_be_changed(folder: Path, one: ToolUse):
    """So that none of the tables passes because a call could not have worked at all."""
    path = folder / f"work/sub/f{'.ipynb' if one.name == 'NotebookEdit' else '.txt'}"
    (got,), _ = await results(folder, [one], mode="bypassPermissions", reads="sub/f")
    assert not got.is_error
    assert not path.exists() or path.read_text() != TEXT


@pytest.mark.parametrize("one", calls(LOOKS, READING_COMMANDS, "sub/f"), ids=lambda one: str(one.input))
async def test_every_one_of_these_shows_what_may_be_shown(folder: Path, one: ToolUse):
    (got,), sent = await results(folder, [one], mode="bypassPermissions", prompt="look at @sub/f.txt")
    assert OLD in str(got.content) or one.input.get("command", "").startswith("base64")
    assert OLD in sent


SPELT = ["kept/f", "sub/../kept/f", "./kept//f", "way/f", "file", "{}/kept/f"]


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("path", SPELT)
async def test_what_must_not_be_changed_is_changed_by_nothing(folder: Path, path: str, mode: PermissionMode):
    before = files(folder)
    place = path.replace("{}", str(folder / "work"))
    asked = calls(CHANGES, WRITING_COMMANDS[: -1 if mode == "bypassPermissions" else None], place)
    got, _ = await results(
        folder, asked, mode=mode, allowed=("Edit", "Write"), denied=("Edit(kept/**)",), reads=place
    )
    assert_all_refused(asked, got)
    assert files(folder) == before


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("path", SPELT)
async def test_what_must_not_be_read_is_shown_by_nothing(folder: Path, path: str, mode: PermissionMode):
    place = path.replace("{}", str(folder / "work"))
    tools = LOOKS | {name: given for name, given in CHANGES.items() if name != "Write"}
    asked = calls(tools, READING_COMMANDS[: -1 if mode == "bypassPermissions" else None], place)
    got, sent = await results(
        folder, asked, prompt=f"look at @{place}.txt", mode=mode, allowed=("Read",), denied=("Read(kept/**)",)
    )
    assert_all_refused(asked, got)
    assert OLD not in sent.replace(f"'{OLD}'", "")  # but for the inputs of the calls themselves


@pytest.mark.parametrize(
    "path",
    [
        "../elsewhere/f",
        "../work-other/f",
        "sub/../../work-other/f",
        "out/f",
        "outfile",
        "{}-other/f",
        "out/../work-other/f",
        "~/f",
    ],
)
async def test_what_lies_outside_is_neither_changed_nor_shown_without_a_yes(folder: Path, path: str):
    before = files(folder)
    place = path.replace("{}", str(folder / "work"))
    asked = calls(CHANGES | LOOKS, WRITING_COMMANDS + READING_COMMANDS, place)
    got, sent = await results(folder, asked, prompt=f"look at @{place}.txt")
    assert_all_refused(asked, got)
    assert files(folder) == before
    assert f"{OLD} word" not in sent


@pytest.mark.parametrize("path", [".git/f", ".vscode/f", "settings/f", "hook", ".GIT/f"])
async def test_what_runs_or_rules_later_is_changed_by_nothing_without_a_yes(folder: Path, path: str):
    before = files(folder)
    asked = calls(CHANGES, WRITING_COMMANDS, path)
    got, _ = await results(folder, asked, allowed=("Edit", "Write", "Edit(.git/**)"), reads=path)
    assert_all_refused(asked, got)
    assert files(folder) == before


@pytest.mark.parametrize("name", ["pipe", "link", "zero"])
async def test_what_is_no_file_holds_nobody_up(folder: Path, name: str):
    work = folder / "work"
    for end in ENDS:
        os.mkfifo(work / f"pipe{end}")
        (work / f"link{end}").symlink_to(f"pipe{end}")
        (work / f"zero{end}").symlink_to("/dev/zero")
    asked = calls(CHANGES | LOOKS | {"Glob": {"pattern": "*", "path": "{}"}}, (), name)
    got, sent = await results(folder, asked, prompt=f"look at @{name}.txt", allowed=("Read", "Edit", "Write"))
    assert_all_refused(asked, got)
    assert "no regular file" in sent
