"""Files that run code or change policy later are found wherever they are and however they are spelt."""

from pathlib import Path

import pytest

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
