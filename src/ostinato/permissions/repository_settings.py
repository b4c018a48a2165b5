"""Which programs a repository's own git settings would start when git only looks. It looks at the file system.

A repository that came in an archive brings `.git/config` along, and `git status` or `git log -p` run what it names:
so a git command is proven to only read only where the repository's settings name no program.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

MAX_SETTINGS_BYTES = 256 * 1024
MAX_SETTINGS_FILES = 200
SECTION = re.compile(r"""\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]""")
KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)")
STARTING = frozenset({
    ("core", "fsmonitor"),
    ("core", "hookspath"),
    ("core", "worktree"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("diff", "command"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
    ("log", "showsignature"),
    ("gpg", "program"),
    ("include", "path"),
    ("includeif", "path"),
})
"""Settings (section, key) by which a looking git starts a program, reads elsewhere, or reads settings elsewhere."""
INDEX_HOOK = "post-index-change"
"""The one hook that runs when git only refreshes what it knows of the files."""


def repository_problem(folder: Path) -> str:
    """Why git, looking at things in `folder`, may run a program of the repository's choice; "" if it does not."""
    try:
        found = next(_problems(folder), "")
    except (OSError, ValueError):
        return "the repository's git settings cannot be read"
    return found


def _problems(folder: Path) -> Iterator[str]:
    for git_folder in _git_folders(folder):
        if os.path.lexists(git_folder / "hooks" / INDEX_HOOK):
            yield f"the repository has a hook `{INDEX_HOOK}`"
        for file in _settings_files(git_folder):
            if (name := _starting_setting(_text(file))) is not None:
                yield f"the repository's git settings hold `{name}`"


def _git_folders(folder: Path) -> tuple[Path, ...]:
    """The git folders in and above `folder`, with what a worktree shares; empty outside of any repository. All of them: git passes over
    a folder that it finds no good (an empty `.git`, one with an odd `HEAD`) and goes on to the one above.
    """
    real = Path(os.path.realpath(folder))
    return tuple(found for parent in (real, *real.parents) for found in _git_folders_at(parent))


def _git_folders_at(folder: Path) -> tuple[Path, ...]:
    entry = folder / ".git"
    if entry.is_dir():
        return _with_shared(entry)
    if entry.is_file():
        target = _text(entry).removeprefix("gitdir:").strip()
        return _with_shared(folder / target)
    if (folder / "HEAD").exists() and (folder / "objects").is_dir():
        return _with_shared(folder)
    return ()


def _with_shared(git_folder: Path) -> tuple[Path, ...]:
    shared = git_folder / "commondir"
    return (git_folder, git_folder / _text(shared).strip()) if shared.is_file() else (git_folder,)


def _settings_files(git_folder: Path) -> Iterator[Path]:
    """`config` and its relatives, those of submodules included: git looks into them too."""
    names = ("config", "config.worktree")
    yield from (git_folder / name for name in names if (git_folder / name).exists())
    count = 0
    for folder, _, files in os.walk(git_folder / "modules", onerror=_raise):
        for name in names:
            if name in files:
                count += 1
                if count > MAX_SETTINGS_FILES:
                    raise ValueError("too many submodules to look at")
                yield Path(folder) / name


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _text(path: Path) -> str:
    with open(path, "rb") as file:
        content = file.read(MAX_SETTINGS_BYTES + 1)
    if len(content) > MAX_SETTINGS_BYTES:
        raise ValueError(f"{path} is too large")
    return content.decode("utf-8-sig", "replace")


def _starting_setting(text: str) -> str | None:
    """The first setting of `STARTING`. Read more widely than git does: a key may follow its section on one line."""
    section, subsection = "", ""
    for line in text.splitlines():
        rest = line
        while (match := SECTION.match(rest)) is not None:
            section, _, old_subsection = match[1].lower().partition(".")
            subsection = match[2] or old_subsection
            rest = rest[match.end() :]
        key = KEY.match(rest)
        if key is not None and (section, key[1].lower()) in STARTING:
            return ".".join(part for part in (section, subsection, key[1].lower()) if part)
    return None
