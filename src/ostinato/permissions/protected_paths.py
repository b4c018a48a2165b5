"""Files whose change would run code or change policy later: never written without an explicit yes.

Promise: found at any depth, existing or not, in any spelling of case. The caller asks for the path as given and
for the path it resolves to.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from types import MappingProxyType

from ostinato.permissions.name_set import names

FOLDERS: Mapping[str, str] = MappingProxyType({
    ".ostinato": "ostinato's settings",
    ".claude": "another agent's settings",
    ".codex": "another agent's settings",
    ".agents": "another agent's settings",
    ".gemini": "another agent's settings",
    ".cursor": "another agent's settings",
    ".vscode": "editor settings",
    ".idea": "editor settings",
    ".husky": "git hooks",
    ".githooks": "git hooks",
    ".cargo": "build settings",
    ".devcontainer": "container settings",
    ".ssh": "SSH settings and keys",
    ".gnupg": "keys",
    ".aws": "credentials",
    ".kube": "credentials",
    ".docker": "container settings",
})
SHELL_FILES = names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout"
    " .kshrc .mkshrc .cshrc .tcshrc .login .inputrc .xprofile .xinitrc .xsessionrc .pam_environment"
)
FILES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(SHELL_FILES, "a shell's start file")
    | dict.fromkeys(
        names(".npmrc .pypirc .yarnrc .yarnrc.yml .pnpmrc .netrc .pip.conf .gemrc .condarc"),
        "package settings",
    )
    | dict.fromkeys(names(".gitmodules .gitconfig"), "git's settings")
    | dict.fromkeys(
        names(".envrc .ripgreprc .mcp.json .claude.json .pre-commit-config.yaml"), "tool settings"
    )
)
PROCESS_SECRETS = ("environ", "mem")
PROCESS_SECRET = re.compile(r"/proc/\S*?/(?:environ|mem)\b")
"""Such a file as it is spelt inside other text."""
MIN_PARTS_OF_PROCESS_FILE = 3
OTHERS_SECRETS = "the environment of a process, secrets included"
GIT_INTERNALS = "git's internals"


def is_protected(path: Path, *, home: Path) -> str | None:
    """The name of the protection that covers `path`, or None.

    `path` should be absolute; `.` and `..` are removed by name. `.claude/worktrees` holds working copies and is
    judged by what is inside it.
    """
    parts = _normal_parts(path)
    for index, part in enumerate(parts):
        rest = parts[index + 1 :]
        found = _protection(part, rest, is_last=not rest)
        if found is not None:
            return found
    return _protection_in_home(parts, _normal_parts(home))


def is_protected_from_reading(path: Path, *, is_tree: bool = False) -> str | None:
    """The name of the protection, or None. What a process was started with holds the secrets that its children are not given.

    `is_tree`: everything below the path is read, too. A wildcard counts as all that it could stand for.
    """
    parts = tuple(part for part in _normal_parts(path) if part != "/")
    if not parts:
        return OTHERS_SECRETS if is_tree else None
    if not fnmatchcase("proc", parts[0]):
        return None
    if is_tree and len(parts) < MIN_PARTS_OF_PROCESS_FILE:
        return OTHERS_SECRETS
    is_file = len(parts) >= MIN_PARTS_OF_PROCESS_FILE and any(
        fnmatchcase(name, parts[-1]) for name in PROCESS_SECRETS
    )
    return OTHERS_SECRETS if is_file else None


def _normal_parts(path: PurePath) -> tuple[str, ...]:
    """Parts in one case and without what case-insensitive file systems ignore at the end of a name."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part.casefold().rstrip(" .") or part)
    return tuple(parts)


def _protection(part: str, rest: tuple[str, ...], *, is_last: bool) -> str | None:
    if part == ".git" or part.endswith(".git"):
        return _protection_in_git(part, rest)
    if part == ".claude" and len(rest) > 1 and rest[0] == "worktrees":
        return None
    if part in FOLDERS:
        return FOLDERS[part]
    # A folder that holds `HEAD`, `objects` and `refs` is a repository to git, and its `config` can run programs.
    if is_last and part == "head":
        return "a bare repository's files"
    return FILES.get(part) if is_last else None


def _protection_in_git(part: str, rest: tuple[str, ...]) -> str | None:
    if part == ".git":
        return GIT_INTERNALS
    return "a bare repository's files" if rest and rest[0] in {"hooks", "config", "head", "modules"} else None


def _protection_in_home(parts: tuple[str, ...], home: tuple[str, ...]) -> str | None:
    """Settings that count only in the home folder."""
    if parts[: len(home)] != home or not home:
        return None
    rest = parts[len(home) :]
    if rest[:1] == (".config",) or rest[:2] == (".local", "bin") or rest[:2] == ("library", "launchagents"):
        return "the user's settings"
    return None
