"""The session of a conversation: a new one, or one that goes on, with an answer to every call that a crash left open."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from ostinato.engine.clock import RandomIds, SystemClock
from ostinato.engine.options import Options
from ostinato.errors import JournalError
from ostinato.history import History
from ostinato.journal.last_model import chosen_model
from ostinato.journal.opening import OpenedSession
from ostinato.journal.read import Scan
from ostinato.journal.resume import answers, open_calls
from ostinato.journal.sessions import find_session, newest_session, resume_session, start_session
from ostinato.journal.unkept import MemoryOnly, Unkept
from ostinato.journal.write import SessionWriter
from ostinato.records import Record, SettingChanged


class Session(msgspec.Struct, frozen=True):
    """Where records go, what was there before, and what the user should know of it. `replied_at`: when the last reply of an earlier
    run ended.
    """

    session_id: str
    journal: SessionWriter | MemoryOnly
    records: tuple[Record, ...] = ()
    is_new: bool = True
    notices: tuple[str, ...] = ()
    replied_at: datetime | None = None


def session_to_go_on(options: Options, root: Path | None, cwd: Path) -> Path:
    """The file of the session that the options resume or continue. `cwd` is resolved. Raises UsageError."""
    return newest_session(root, cwd) if options.resume is None else find_session(root, options.resume, cwd)


def new_session(options: Options, root: Path | None, cwd: Path) -> Session:
    """`cwd` is resolved. Raises JournalError (the id is taken)."""
    session_id = options.session_id or RandomIds().uuid()
    if not options.keep_session:
        return Session(session_id, MemoryOnly())
    started = start_session(root, cwd, session_id, now=SystemClock().utc_now, is_real=True)
    if isinstance(started, Unkept):
        return Session(session_id, started.journal, notices=(started.reason,))
    return Session(session_id, started)


def resumed_session(path: Path, *, model: str) -> Session:
    """The session in this file, from now on with the model of that name, "" for none. Raises UsageError and JournalError."""
    opened = resume_session(path, now=SystemClock().utc_now)
    if isinstance(opened, OpenedSession):
        journal, found, notices = opened.writer, opened.found, ()
    else:
        journal, found, notices = opened.journal, opened.found, (opened.reason,)
    if found.unknown:
        journal.close()
        raise JournalError(
            f"`{path}` holds {len(found.unknown)} records of a later version",
            hint="update ostinato to resume this session",
        )
    session_id = found.session_id or path.stem
    records = found.records
    if model and chosen_model(records) not in {"", model}:
        records = (*records, SettingChanged("model", model))
        journal.write(records[-1])
    return Session(session_id, journal, records, False, (*notices, *_damage(found)), found.replied_at)


def _damage(found: Scan) -> Iterable[str]:
    tail = found.bad_tail
    if tail is not None:
        where = f"; it lies in `{tail.moved_to}`" if tail.moved_to else ""
        yield f"the end of the session file was damaged ({tail.reason}){where}"
    if found.lost:
        yield f"{len(found.lost)} long results of the session are missing; their beginnings are kept"


def spill_folder(session: Session) -> Path | None:
    """Where output that is too long for a result is kept whole; None if nothing is kept."""
    journal = session.journal
    return None if isinstance(journal, MemoryOnly) else journal.folder_beside("tool-results")


def opened_history(session: Session, first: Record) -> History:
    """The history as the model will see it. `first` is written to a new session; a resumed one gets its missing answers."""
    added: tuple[Record, ...] = (first,)
    if not session.is_new:
        added = answers(open_calls(session.records), uuid=RandomIds().uuid, content_hash=_content_hash)
    for record in added:
        session.journal.write(record)
    return History.fold(session.records).extend(added)


def _content_hash(path: str) -> str | None:
    """SHA-256 of the file's bytes now; empty if there is no file, None if it cannot be read."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""
    except OSError:
        return None
