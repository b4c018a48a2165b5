"""Files that run code or change policy later are found wherever they are and however they are spelt."""

from pathlib import Path

import pytest
from tests.permissions.gate_calls import bash, file_tool, outcome

from ostinato.permissions.protected_paths import is_protected

HOME = Path("/home/ann")


@pytest.mark.parametrize(
    "path",
    [
        "/w/.git/hooks/pre-commit", "/w/.git/config", "/w/.git", "/w/a/b/.git/info/attributes", "/w/.git/modules/x/config", "/w/.gitmodules",
        "/w/.GIT/config", "/w/.Git./config", "/w/.git /config", "/w/x/../.git/config", "/w/bare.git/hooks/x", "/w/sub/HEAD", "/w/.ostinato/settings.json", "/w/.ostinato/skills/x/SKILL.md",
        "/w/.claude/settings.json", "/w/.claude", "/w/.codex/x", "/w/.agents/x", "/w/.gemini/x", "/w/.vscode/tasks.json", "/w/.idea/x", "/w/.husky/x",
        "/w/.cargo/config.toml", "/w/.devcontainer/x", "/w/.mcp.json", "/w/a/.MCP.JSON", "/w/.envrc", "/w/.npmrc", "/w/.pypirc", "/w/.ripgreprc", "/home/ann/.bashrc", "/w/.zshrc",
        "/home/ann/.ssh/authorized_keys", "/home/ann/.gitconfig", "/home/ann/.config/git/config", "/w/.claude/worktrees/x/.git/config", "/w/.claude/worktrees",
    ],
)  # fmt: skip
def test_a_protected_path_is_named(path: str) -> None:
    assert is_protected(Path(path), home=HOME)


@pytest.mark.parametrize(
    "path",
    [
        "/w/a.py", "/w/.gitignore", "/w/.github/workflows/x.yml", "/w/git/config", "/w/AGENTS.md", "/w/CLAUDE.md", "/w/.env", "/w/config", "/w/hooks/x",
        "/w/.claude/worktrees/x/a.py", "/w/.npmrc/x.py", "/w/.config/x", "/w/x.git", "/w/header", "/w/.vscode-test/x",
    ],
)  # fmt: skip
def test_other_paths_are_free(path: str) -> None:
    assert is_protected(Path(path), home=HOME) is None


PROCESS_READERS = [
    "cat /proc/self/environ",
    "cat /proc/1/environ",
    "cat /proc/*/environ",
    "cat /proc/self/env*",
    "cat /proc/self/task/1/environ",
    "cd /proc/self && cat environ",
    "cat < /proc/self/environ",
    "grep -r KEY /proc",
    "rg KEY /proc/self",
    "cp /proc/self/environ a",
    "strings /proc/1/environ",
    "tr a b < /proc/self/environ",
    "cat /proc/$PPID/environ",
    "python3 -c \"open('/proc/self/environ')\"",
]


@pytest.mark.parametrize("command", PROCESS_READERS)
def test_the_environment_of_a_process_is_never_read_without_a_yes(command: str) -> None:
    for root in (Path("/nowhere/abc"), Path("/")):
        for mode in ("default", "acceptEdits", "plan", "dontAsk"):
            for rules in (
                (),
                (
                    "allow Read",
                    "allow Read(//**)",
                    "allow Bash(cat:*)",
                    "allow Bash(python3 *)",
                    "allow Bash(cd:*)",
                ),
            ):
                assert outcome(bash(command, root), *rules, mode=mode) != "Allow"


def test_the_file_tools_are_held_off_as_well() -> None:
    for rules in ((), ("allow Read",), ("allow Read(//proc/**)",)):
        assert outcome(file_tool("Read", "/proc/self/environ"), *rules) == "Ask"
        assert outcome(file_tool("Grep", "/proc/1/environ"), *rules) == "Ask"
    assert outcome(file_tool("Read", "/proc/cpuinfo"), "allow Read(//proc/**)") == "Allow"
    assert outcome(bash("cat /proc/cpuinfo"), "allow Read(//proc/**)") == "Allow"
