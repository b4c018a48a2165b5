"""Paths that the file system refuses, or that are none: whatever a call names, there is an answer, and it is never a yes by accident."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from tests.permissions.gate_calls import MODES, policy

from ostinato.engine.call_facts import call_facts
from ostinato.option_values import PermissionMode
from ostinato.permissions.decision import decide
from ostinato.permissions.hidden_files import hidden_files
from ostinato.permissions.path_resolution import looked_up
from ostinato.permissions.rules import parse_rule
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.verdict import Allow, CallFacts
from ostinato.sandbox.workspace import LocalWorkspace

NOBODY = 65_534
LONG = "/".join(["y" * 200] * 25)
NASTY = (
    "", ".", "..", "/", "//", "~", "~root", "~nobody/x", "-x", "*", "[", "\\", "a\nb", "a\0b", "a\ud800", "\udcff", "x" * 300, LONG,
    "loop", "loop/x", "gone", "gone/x", "file/x", "closed", "closed/in", "closed/in/deeper", "closed/*", "loop/*", "file/*",
    "x" * 300 + "/*", "/proc/self/fd/0", "/dev/stdin/x", "/proc/1/cwd/x",
)  # fmt: skip
COMMANDS = (
    "cat '{}'", "cat {}", "cd '{}'", "cd '{}' && git status", "git -C '{}' log -p", "echo x > '{}'", "cat < '{}'", "[[ -f '{}' ]]",
    "test -e '{}'", "cp '{}' b", "mv b '{}'", "find '{}' -name x", "find . -name '{}'", "grep -r x '{}'", "rg x '{}'", "ls '{}'",
    "stat '{}'", "touch '{}'", "'{}'", "'{}' x", "git '{}'", "env '{}'", "xargs '{}'", "sh '{}'", "bash -c '{}'", "find . -exec '{}' ;",
    "timeout '{}' ls", "diff '{}' b", "tar '{}' b", "sort '{}'", "X='{}' ls", "X='{}'", "sed '{}' b",
)  # fmt: skip
RULES = (
    (),
    ("deny Read(closed/**)", "deny Edit(file/**)", "ask Cd(loop)"),
    ("deny Read(//**)", "deny Bash('':*)"),
    ("allow Read(//**)", "allow Edit(//**)"),
)


@contextmanager
def nobody() -> Generator[None]:
    """Without the rights that open every folder."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.fixture(scope="module")
def folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as name:
        made = Path(os.path.realpath(name))
        made.chmod(0o755)
        (made / "loop").symlink_to("loop")
        (made / "gone").symlink_to("nowhere")
        (made / "file").write_text("x")
        (made / "closed").mkdir()
        (made / "closed" / "in").write_text("x")
        (made / "closed").chmod(0)
        yield made
        (made / "closed").chmod(0o755)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_gets_an_answer_whatever_path_it_names(command: str, folder: Path):
    with nobody():
        for path in NASTY:
            text = command.replace("{}", path)
            call = looked_up(
                CallFacts(
                    "Bash", {"command": text}, False, folder, (folder,), folder, shell=read_command(text)
                )
            )
            for rules, mode in zip(cycle(RULES), (*MODES, "default", "default"), strict=False):
                decide(call, policy(*rules, mode=mode))


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Grep", "Glob"])
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "bypassPermissions"])
def test_a_path_that_cannot_be_resolved_is_never_inside(tool: str, mode: PermissionMode, folder: Path):
    workspace = LocalWorkspace(folder, (folder,), {}, None, folder)
    with nobody():
        for path in NASTY:
            is_read = tool in {"Read", "Grep", "Glob"}
            named = (folder / path,)
            paths = (named, ()) if is_read else ((), named)
            facts = call_facts(
                tool, {"file_path": path}, workspace, home=folder, is_read_only=is_read, paths=paths
            )
            verdict = decide(facts, policy(mode=mode))
            assert not (isinstance(verdict, Allow) and ("\0" in path or "\ud800" in path)), path


def test_a_search_hides_what_cannot_be_looked_at(folder: Path):
    rule = parse_rule("Read(closed/**)", "deny", "test")
    with nobody():
        is_hidden = hidden_files((rule,), (folder,), cwd=folder, home=folder)
        assert is_hidden is not None
        answers = {path: is_hidden(folder / path) for path in NASTY}
    assert answers["closed/in"]
    assert answers["a\0b"]
    assert answers["a\ud800"]
