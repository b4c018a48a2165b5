"""Whether a person said yes to what a project supplies: kept outside the project, for one folder and one content.

Promise: any change of anything that could act takes the trust away and is named. Whatever cannot be told is not trusted.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from ostinato.config.places import LOCAL_FILE
from ostinato.config.project_things import Things
from ostinato.config.read_file import read_settings_file
from ostinato.config.save_rule import Saved
from ostinato.config.settings_text import Unreadable
from ostinato.config.write_file import locked_folder, swap_in
from ostinato.real_path import real_path

TRUST_FILE: Final = "trust.json"
VERSION: Final = 1
MAX_TRUST_BYTES: Final = 16 << 20

Kind: TypeAlias = Literal["added", "changed", "removed", "unreadable"]


class Change(msgspec.Struct, frozen=True):
    """`name` is the way below the project root."""

    name: str
    kind: Kind


class Trusted(msgspec.Struct, frozen=True):
    """`things` is what was trusted; look again with `is_unchanged` before one of them acts."""

    things: Things


class Untrusted(msgspec.Struct, frozen=True):
    """`changed`: what is not as it was trusted; all things where nobody ever trusted the folder.

    `reason` is why the record says nothing, if it could not be used. Nothing to act and no reason: nothing to say.
    """

    things: Things
    changed: tuple[Change, ...]
    was_trusted: bool = False
    reason: str = ""


TrustState: TypeAlias = Trusted | Untrusted


class Kept(msgspec.Struct, frozen=True):
    """The record was changed."""


class NotKept(msgspec.Struct, frozen=True):
    """The record is as it was; `reason` and `hint` say why, to a person."""

    reason: str
    hint: str = ""


def trust_state(data_root: Path | None, project_root: Path, things: Things) -> TrustState:
    """Compare with the record. Exactly this folder counts: a parent's trust is not a child's, nor a worktree's."""
    record = (
        _Unusable("there is no home to keep it in") if data_root is None else _read(data_root, project_root)
    )
    if isinstance(record, _Unusable):
        return Untrusted(things, _changes({}, things), reason=f"{record.what}, so nothing is trusted")
    recorded = record.projects.get(_key(project_root))
    if recorded is None:
        return Untrusted(things, _changes({}, things))
    changed = _changes(recorded, things)
    return Untrusted(things, changed, was_trusted=True) if changed else Trusted(things)


def record_trust(data_root: Path | None, project_root: Path, things: Things) -> Kept | NotKept:
    """Keep a yes to exactly these things, which must be those that the person was shown."""
    unreadable = sorted(name for name, digest in things.digests.items() if digest is None)
    if unreadable:
        return NotKept(
            f"`{unreadable[0]}` of the project cannot be read, or is too much to look at",
            "make it readable, or remove it",
        )
    entry = {_text(name): digest for name, digest in things.digests.items() if digest is not None}
    return _change(data_root, project_root, lambda _: entry)


def forget_trust(data_root: Path | None, project_root: Path) -> Kept | NotKept:
    return _change(data_root, project_root, lambda _: None)


def renew_trust(
    data_root: Path | None,
    project_root: Path,
    saved: Saved,
    *,
    inert: Mapping[str, str | None] | None = None,
) -> Kept | NotKept:
    """After our own `save_rules`: the trust of the file goes from what it was to what was written, if it was trusted.

    `inert`: all that the project supplies, where none of it acts and so nobody was ever asked. A yes to the rule is then a
    yes to the file that was made for it, beside exactly these.
    """
    name = str(LOCAL_FILE)

    def renewed(recorded: Mapping[str, str] | None) -> Mapping[str, str] | None:
        if saved.after is None:
            return recorded
        if recorded is None:
            return _beside(inert, name, saved)
        if recorded.get(name) != saved.before:
            return recorded
        return {**recorded, name: saved.after}

    return _change(data_root, project_root, renewed)


def _beside(inert: Mapping[str, str | None] | None, name: str, saved: Saved) -> dict[str, str] | None:
    if inert is None or saved.after is None or inert.get(name) != saved.before:
        return None
    known = {_text(thing): digest for thing, digest in inert.items() if digest is not None}
    return {**known, name: saved.after}


def trusted_folders(data_root: Path | None) -> tuple[Path, ...] | NotKept:
    """The folders that the record names, in order of their names."""
    if data_root is None:
        return ()
    # asked about no project: the record itself cannot lie in it
    record = _read(data_root, data_root / TRUST_FILE / "no project")
    if isinstance(record, _Unusable):
        return NotKept(record.what, record.hint)
    return tuple(Path(_name(key)) for key in sorted(record.projects))


# ------------------------------------------------------------------------------------------------ record


class _Record(msgspec.Struct, frozen=True):
    version: int
    projects: dict[str, dict[str, str]]


class _Unusable(msgspec.Struct, frozen=True):
    what: str
    hint: str = ""


_EMPTY: Final = _Record(VERSION, {})
_EntryChange: TypeAlias = Callable[[Mapping[str, str] | None], Mapping[str, str] | None]
"""From what is recorded of a project to what shall be; None: nothing."""


def _changes(recorded: Mapping[str, str], things: Things) -> tuple[Change, ...]:
    now = {_text(name): digest for name, digest in things.digests.items()}
    changes: list[Change] = []
    for name in sorted({*recorded, *now}):
        if name not in now:
            changes.append(Change(name, "removed"))
        elif now[name] is None:
            changes.append(Change(name, "unreadable"))
        elif name not in recorded:
            changes.append(Change(name, "added"))
        elif now[name] != recorded[name]:
            changes.append(Change(name, "changed"))
    return tuple(changes)


def _read(data_root: Path, project_root: Path) -> _Record | _Unusable:
    path = _path(data_root)
    if path.is_relative_to(real_path(project_root)):
        return _Unusable(
            f"the record of trust `{path}` lies in the project itself",
            "keep it outside, with `OSTINATO_HOME`",
        )
    content = read_settings_file(path, MAX_TRUST_BYTES)
    if content is None:
        return _EMPTY
    if isinstance(content, Unreadable):
        return _Unusable(f"the record of trust `{path}` {content.what}", content.hint)
    if not _is_ours_alone(path):
        return _Unusable(
            f"others may write the record of trust `{path}`", f"run `chmod 600 {path}`, or delete it"
        )
    try:
        record = msgspec.json.decode(content, type=_Record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Unusable(f"the record of trust `{path}` is broken", "delete it, and trust your projects anew")
    if record.version != VERSION:
        return _Unusable(
            f"the record of trust `{path}` was written by another version", "use that version, or delete it"
        )
    return record


def _is_ours_alone(path: Path) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_uid in {os.geteuid(), 0} and not status.st_mode & 0o022


def _change(data_root: Path | None, project_root: Path, change: _EntryChange) -> Kept | NotKept:
    if data_root is None:
        return NotKept(
            "there is no home to keep trust in", "set `OSTINATO_HOME` to a folder that can be written"
        )
    try:
        return _change_locked(data_root, project_root, change)
    except OSError as error:
        return NotKept(
            f"the record of trust in `{data_root}` cannot be written: {error.strerror or error}",
            "the yes holds for this run only; set `OSTINATO_HOME` to a folder that can be written to keep it",
        )


def _change_locked(data_root: Path, project_root: Path, change: _EntryChange) -> Kept | NotKept:
    data_root.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = _path(data_root)
    with locked_folder(path.parent):
        record = _read(data_root, project_root)
        if isinstance(record, _Unusable):
            return NotKept(record.what, record.hint)
        _write(path, record, _key(project_root), change)
    return Kept()


def _write(path: Path, record: _Record, key: str, change: _EntryChange) -> None:
    before = record.projects.get(key)
    entry = change(before)
    if entry == before:
        return
    projects = {name: things for name, things in record.projects.items() if name != key}
    if entry is not None:
        projects[key] = dict(entry)
    content = msgspec.json.format(msgspec.json.encode(_Record(VERSION, projects)), indent=1)
    swap_in(path, content + b"\n", mode=0o600)


def _path(data_root: Path) -> Path:
    return real_path(data_root / TRUST_FILE)


def _key(project_root: Path) -> str:
    return _text(str(real_path(project_root)))


def _name(text: str) -> str:
    """The opposite of `_text`."""
    return os.fsdecode(bytes.fromhex(text[1:])) if text.startswith("\0") else text


def _text(name: str) -> str:
    """A name as JSON can hold it. Names that are not UTF-8 start with NUL, which no real name has."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "\0" + os.fsencode(name).hex()
    return name
