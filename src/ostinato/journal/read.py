"""Reading a session file back: the longest prefix whose seals hold, and what had to be left out, as a value.

Nothing here writes but `move_aside`, which never destroys: what is cut from the session is kept beside it.
"""

import itertools
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from ostinato.codec import (
    BrokenLine,
    Envelope,
    ForeignLine,
    SealedLine,
    Unknown,
    decode_line,
    decode_record,
)
from ostinato.errors import JournalError
from ostinato.history import History
from ostinato.journal import side_files
from ostinato.records import Record, ResponseEnded


class BadTail(msgspec.Struct, frozen=True):
    """From `offset` (bytes) on the file cannot be trusted. `moved_to` is set once the tail was moved aside."""

    offset: int
    length_bytes: int
    reason: str
    moved_to: Path | None = None


class Scan(msgspec.Struct, frozen=True):
    """What a session file holds.

    `unknown` are records of a later version. `lost` are the SHA-256 names of side files that are missing or damaged;
    their records are shortened or left out. `ignored_lines` counts broken lines of other programs and lines of a writer
    that had been replaced. `valid_bytes` is the length of the trusted prefix. `replied_at`: when the last reply ended, by the clock
    of whoever wrote it; None if none did, or its stamp says no moment.
    """

    records: tuple[Record, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    lost: tuple[str, ...] = ()
    title: str = ""
    tag: str = ""
    session_id: str = ""
    cwd: str = ""
    last_seq: int = 0
    epoch: int = 0
    valid_bytes: int = 0
    ignored_lines: int = 0
    bad_tail: BadTail | None = None
    replied_at: datetime | None = None


def read_session(path: Path) -> Scan:
    """The session in the file, which stays as it is. Raises JournalError if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(f"cannot read the session file `{path}`: {error.strerror}") from error
    return scan(data, lambda digest: side_files.load(path, digest))


def scan(data: bytes, load: Callable[[str], bytes | None]) -> Scan:
    """What the bytes of a session file hold; `load` gives the bytes of a side file by its SHA-256, or None."""
    reading = _Reading(load)
    start = 0
    while start < len(data) and not reading.has_ended:
        end = data.find(b"\n", start)
        stop = len(data) if end < 0 else end
        reading.take(data[start:stop], start, min(stop + 1, len(data)))
        start = stop + 1
    return reading.result(len(data))


def fold(records: Iterable[Record]) -> History:
    """The history that was live when the last record was written."""
    return History.fold(records)


def move_aside(path: Path, tail: BadTail) -> Path:
    """Copy everything from the tail's offset to a new file beside the session's. Raises OSError."""
    with open(path, "rb") as file:
        file.seek(tail.offset)
        data = file.read()
    for number in itertools.count(1):
        target = path.with_name(f"{path.name}.bad-{number}")
        try:
            copy = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with open(copy, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return target
    raise AssertionError  # itertools.count has no end


class _Reading:
    """The state of one scan. A broken line ends the prefix unless the next line of ours follows the last without a gap:
    then the broken one was another program's.
    """

    def __init__(self, load: Callable[[str], bytes | None]) -> None:
        self._load = load
        self._records: list[Record] = []
        self._unknown: list[Unknown] = []
        self._lost: list[str] = []
        self._names = ForeignLine(custom_title="", tag="")
        self._last: Envelope | None = None
        self._first: Envelope | None = None
        self._valid_bytes = 0
        self._ignored = 0
        self._reply_stamp = ""
        self._doubt: BadTail | None = None
        self._doubtful_lines = 0
        self.has_ended = False

    def take(self, line: bytes, start: int, after: int) -> None:
        found = decode_line(line)
        match found:
            case BrokenLine():
                self._doubtful_lines += 1
                self._doubt = self._doubt or BadTail(start, 0, found.reason)
            case ForeignLine():
                self._names = renamed(self._names, found)
                if self._doubt is None:
                    self._valid_bytes = after
            case SealedLine():
                self._take_sealed(found, start, after)

    def _take_sealed(self, line: SealedLine, start: int, after: int) -> None:
        last = self._last
        if last is not None and line.envelope.epoch < last.epoch:
            self._ignored += 1  # its writer had been replaced and nobody built on it
        elif line.envelope.seq != (1 if last is None else last.seq + 1):
            self._doubt = self._doubt or BadTail(start, 0, "a record is missing before this one")
            self.has_ended = True
            return
        else:
            self._last = line.envelope
            self._first = self._first or line.envelope
            self._keep(line)
        self._ignored += self._doubtful_lines
        self._doubt, self._doubtful_lines = None, 0
        self._valid_bytes = after

    def _keep(self, line: SealedLine) -> None:
        record = line.record
        if line.envelope.stored:
            whole = self._whole(line.envelope.stored)
            if whole is None:
                self._lost.append(line.envelope.stored)
            record = whole or record
        if isinstance(record, Unknown):
            self._unknown.append(record)
        elif record is not None:
            self._records.append(record)
        if isinstance(record, ResponseEnded):
            self._reply_stamp = line.envelope.timestamp

    def _whole(self, digest: str) -> Record | Unknown | None:
        data = self._load(digest)
        if data is None:
            return None
        try:
            return decode_record(data)
        except msgspec.DecodeError:
            return None

    def result(self, length: int) -> Scan:
        first, last, doubt = self._first, self._last, self._doubt
        if doubt is not None:
            doubt = BadTail(doubt.offset, length - doubt.offset, doubt.reason)
        return Scan(
            records=tuple(self._records),
            unknown=tuple(self._unknown),
            lost=tuple(self._lost),
            title=self._names.custom_title or "",
            tag=self._names.tag or "",
            session_id=first.session_id if first else "",
            cwd=first.cwd if first else "",
            last_seq=last.seq if last else 0,
            epoch=last.epoch if last else 0,
            valid_bytes=doubt.offset if doubt else self._valid_bytes,
            ignored_lines=self._ignored,
            bad_tail=doubt,
            replied_at=_moment(self._reply_stamp),
        )


def _moment(stamp: str) -> datetime | None:
    """Of a stamp with a time zone, which a comparison with the clock needs."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment


def renamed(names: ForeignLine, line: ForeignLine) -> ForeignLine:
    """The title and tag after another program's line: the later one wins, an empty tag clears it."""
    if line.type == "custom-title" and line.custom_title:
        return ForeignLine(custom_title=line.custom_title, tag=names.tag)
    if line.type == "tag" and line.tag is not None:
        return ForeignLine(custom_title=names.custom_title, tag=line.tag)
    return names
