"""Starting, finding, resuming and copying sessions by what a person knows of them: a folder, an id or its beginning.

A home that cannot be written is no error: the session runs unkept and says so.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from ostinato.codec import BrokenLine, ForeignLine, SealedLine, decode_line
from ostinato.errors import JournalError, UsageError
from ostinato.journal.opening import OpenedSession, create_session, reopen_session
from ostinato.journal.places import project_folder, session_file
from ostinato.journal.read import read_session, renamed
from ostinato.journal.unkept import MemoryOnly, Unkept
from ostinato.journal.write import SessionWriter
from ostinato.messages import Text, UserMessage
from ostinato.records import QueueArrived, QueueTaken

_LOOK_BYTES: Final = 65_536
_READ_ONLY: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}")
_MAX_PROMPT_CHARACTERS: Final = 200
_MAX_NAMED: Final = 5
_NAMED_CHARACTERS: Final = 40


class SessionSummary(msgspec.Struct, frozen=True):
    """A session in a listing. `prompt` is the beginning of the first thing the user asked, else of the first that waits to be."""

    session_id: str
    path: Path
    modified: datetime
    size_bytes: int
    title: str
    tag: str
    prompt: str


def start_session(
    root: Path | None, cwd: Path, session_id: str, *, now: Callable[[], datetime], is_real: bool = False
) -> SessionWriter | Unkept:
    """A new session of the folder; `is_real`: there is no link in the folder's path. Raises JournalError if the id is taken,
    UsageError if it is none.
    """
    if not _ID.fullmatch(session_id):
        raise UsageError(
            f"`{session_id}` cannot be a session id", hint="use a UUID, or letters, digits and hyphens"
        )
    if root is None:
        return _unkept("there is no home folder; set OSTINATO_HOME to keep sessions")
    path = session_file(root, cwd, session_id, is_real=is_real)
    try:
        return create_session(path, session_id=session_id, cwd=str(cwd), now=now)
    except OSError as error:
        return _unkept(f"`{path}` cannot be created: {error.strerror}")


def resume_session(path: Path, *, now: Callable[[], datetime]) -> OpenedSession | Unkept:
    """The session in the file, ready to go on; unkept if the file may only be read. Raises JournalError."""
    try:
        return reopen_session(path, now=now)
    except JournalError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in _READ_ONLY:
            raise
        return Unkept(f"what follows is not kept: {error.message}", MemoryOnly(), read_session(path))


def list_sessions(root: Path | None, cwd: Path | None = None) -> tuple[SessionSummary, ...]:
    """The sessions of a folder, or of all folders, newest first; those without a prompt or title are left out."""
    found = [summary for path in _files(root, cwd) if (summary := _summary(path)) is not None]
    return tuple(sorted(found, key=lambda summary: (summary.modified, summary.session_id), reverse=True))


def newest_session(root: Path | None, cwd: Path) -> Path:
    """The file of the folder's newest session. Raises UsageError if there is none."""
    found = list_sessions(root, cwd)
    if not found:
        raise UsageError(
            f"there is no session to continue in `{cwd}`",
            hint="start one without --continue, or resume one of another folder by its id",
        )
    return found[0].path


def find_session(root: Path | None, name: str, cwd: Path | None = None) -> Path:
    """The file of the session with this id, or the one whose id begins so or whose title is this.

    Looks in the folder's sessions first, then in all. Raises UsageError if none or several fit, and names those that there are.
    """
    for place in (cwd, None) if cwd is not None else (None,):
        fitting = _fitting(root, name, place)
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise UsageError(
                f"several sessions fit `{name}`: {_named(map(_known, fitting))}", hint="give more of the id"
            )
    there = list_sessions(root, cwd)
    where = "" if cwd is None else " of this folder"
    raise UsageError(
        f"there is no session `{name}`",
        hint=f"the newest{where}: {_named(there)}" if there else f"there are no sessions{where}",
    )


def copy_session(
    source: Path, root: Path | None, cwd: Path, session_id: str, *, now: Callable[[], datetime]
) -> SessionWriter | Unkept:
    """A fork: a new session that begins with everything the source holds; the source stays as it is.

    Raises JournalError if the source cannot be read, or holds records of a later version that a copy would lose.
    """
    found = read_session(source)
    if found.unknown:
        raise JournalError(
            f"`{source}` holds {len(found.unknown)} records of a later version",
            hint="update ostinato to fork this session",
        )
    writer = start_session(root, cwd, session_id, now=now)
    if isinstance(writer, SessionWriter):
        for record in found.records:
            writer.write(record)
    return writer


def _unkept(reason: str) -> Unkept:
    return Unkept(f"this session is not kept: {reason}", MemoryOnly())


def _named(sessions: Iterable[SessionSummary]) -> str:
    """The newest few in one line, each with what it is about."""
    newest = sorted(sessions, key=lambda one: one.modified, reverse=True)
    told = [f"{one.session_id}{_about(one)}" for one in newest[:_MAX_NAMED]]
    return ", ".join(told) + (f" and {len(newest) - _MAX_NAMED} more" if len(newest) > _MAX_NAMED else "")


def _about(session: SessionSummary) -> str:
    said = session.title or session.prompt
    cut = said if len(said) <= _NAMED_CHARACTERS else f"{said[: _NAMED_CHARACTERS - 1]}…"
    return f" ({cut})" if cut else ""


def _known(path: Path) -> SessionSummary:
    """What is known of the file, also where it names nothing."""
    return _summary(path) or SessionSummary(path.stem, path, datetime.fromtimestamp(0, UTC), 0, "", "", "")


def _files(root: Path | None, cwd: Path | None) -> Iterable[Path]:
    """Regular files alone: opening a FIFO of that name would wait for ever."""
    if root is None:
        return ()
    folders = _names(root / "projects") if cwd is None else [project_folder(root, cwd)]
    named = (path for folder in folders for path in _names(folder) if path.suffix == ".jsonl")
    return (path for path in named if os.path.isfile(path))


def _names(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if it is none, or may not be read."""
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def _fitting(root: Path | None, name: str, cwd: Path | None) -> list[Path]:
    paths = list(_files(root, cwd))
    exact = [path for path in paths if path.stem == name]
    if exact or not name:
        return exact[:1]
    beginning = [path for path in paths if path.stem.startswith(name)]
    return beginning or [summary.path for summary in list_sessions(root, cwd) if summary.title == name]


def _summary(path: Path) -> SessionSummary | None:
    """What the first and last 64 KiB tell, or None if that names nothing."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            head = file.read(_LOOK_BYTES)
            file.seek(max(len(head), status.st_size - _LOOK_BYTES))
            tail = file.read(_LOOK_BYTES)
    except OSError:
        return None
    look = _look(head, tail)
    if look is None or not (look.prompt or look.names.custom_title):
        return None
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    title, tag = look.names.custom_title or "", look.names.tag or ""
    return SessionSummary(path.stem, path, modified, status.st_size, title, tag, look.prompt)


class _Look(msgspec.Struct, frozen=True):
    prompt: str
    names: ForeignLine


def _look(head: bytes, tail: bytes) -> _Look | None:
    """None if no line of ours is among them: another program's transcript, which cannot be resumed here."""
    prompt, names, is_ours = "", ForeignLine(custom_title="", tag=""), False
    waiting: dict[str, str] = {}
    for line in (*head.split(b"\n"), *tail.split(b"\n")):
        is_name = b'"custom-title"' in line or line.startswith(b'{"type":"tag"')
        if not is_name and prompt:
            continue
        match decode_line(line):
            case ForeignLine() as foreign:
                names = renamed(names, foreign)
            case SealedLine() as sealed:
                is_ours = True
                prompt = prompt or _prompt(sealed)
                _note_waiting(sealed, waiting)
            case BrokenLine():
                continue  # the cut ends of head and tail, or damage that resuming will report
    return _Look(prompt or next(iter(waiting.values()), ""), names) if is_ours else None


def _note_waiting(line: SealedLine, waiting: dict[str, str]) -> None:
    """What was typed and not sent may be all that a session holds."""
    match line.record:
        case QueueArrived(prompt_uuid=uuid, text=text):
            waiting[uuid] = _shortened(text)
        case QueueTaken(prompt_uuids=uuids):
            for uuid in uuids:
                waiting.pop(uuid, None)
        case _:
            pass


def _prompt(line: SealedLine) -> str:
    record = line.record
    if not isinstance(record, UserMessage) or record.is_meta or record.origin != "prompt":
        return ""
    text = " ".join(block.text for block in record.content if isinstance(block, Text))
    return _shortened(text)


def _shortened(text: str) -> str:
    return " ".join(text.split())[:_MAX_PROMPT_CHARACTERS]
