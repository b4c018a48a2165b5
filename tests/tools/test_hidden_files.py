"""A search through a folder shows nothing of the files that rules deny: no line, no count, no name, and not whether one would fit."""

from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.events import UserEvent
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = pytest.mark.process

SEARCHES: list[dict[str, Any]] = [
    {},
    {"path": "."},
    {"path": ".", "output_mode": "content"},
    {"output_mode": "content", "glob": "sec*"},
    {"output_mode": "content", "-C": 3, "multiline": True},
    {"output_mode": "count"},
    {"path": "private", "output_mode": "content"},
    {"output_mode": "content", "glob": "private/**"},
    {"output_mode": "content", "-o": True, "-n": False},
]


async def _shown(folder: Path, given: dict[str, Any], rules: tuple[str, ...], mode: Any = "default") -> str:
    model = ScriptedModel(Reply(call("Grep", "t1", **{"pattern": "TOP.*", **given})), Reply(say("ok")))
    chosen = Options(
        cwd=folder,
        model=model,
        environment={"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"},
        permission_mode=mode,
        disallowed_tools=rules,
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    return str([event.message.content[0] for event in events if isinstance(event, UserEvent)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    for name in ("secrets.txt", "private/key"):
        (tmp_path / name).write_text("TOPSECRET\n")
    (tmp_path / "open.txt").write_text("TOPMOST\n")
    return tmp_path


@pytest.mark.parametrize("given", SEARCHES, ids=str)
async def test_no_search_shows_anything_of_a_denied_file(given: dict[str, Any], folder: Path) -> None:
    rules = ("Read(secrets.txt)", "Read(/private/**)")
    for mode in ("default", "bypassPermissions"):
        shown = await _shown(folder, given, rules, mode)
        assert "SECRET" not in shown
        assert "secrets.txt" not in shown
        assert "private/key" not in shown


async def test_other_files_are_shown_and_that_some_are_not_is_said(folder: Path) -> None:
    shown = await _shown(folder, {"output_mode": "content"}, ("Read(secrets.txt)", "Read(private/**)"))
    assert "TOPMOST" in shown
    assert "left out" in shown


async def test_the_answer_does_not_tell_whether_a_denied_file_fits(folder: Path) -> None:
    rules = ("Read(secrets.txt)", "Read(private/**)")
    fits = await _shown(folder, {"pattern": "TOPS.CRET"}, rules)
    assert fits == await _shown(folder, {"pattern": "TOPS.XRET"}, rules)


async def test_a_rule_about_files_elsewhere_changes_no_answer(folder: Path) -> None:
    assert "left out" not in await _shown(folder, {}, ("Read(//etc/shadow)",))
