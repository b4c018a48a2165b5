"""Writing a session file: one writer, one synchronous write per record, and no further word after any failure.

A record is written when `write` returns: it survives the process. After `sync` it survives the machine. Whatever goes
wrong on the way poisons the writer, so that nothing is shown as kept that is not.
"""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from ostinato.codec import (
    FORMAT,
    BrokenLine,
    Envelope,
    ForeignLine,
    SealedLine,
    can_be_read,
    decode_line,
    encode,
    encode_line,
)
from ostinato.errors import JournalError
from ostinato.journal import side_files
from ostinato.journal.append_file import Added, AppendFile
from ostinato.journal.chain import Chain
from ostinato.journal.group_sync import GroupSync
from ostinato.journal.read import Scan, renamed
from ostinato.journal.timestamp import Timestamp
from ostinato.messages import SystemMessage
from ostinato.real_path import real_path
from ostinato.records import Record, SessionStarted, SettingChanged


class SessionWriter:
    """The one writer of a session file; `opening.py` makes it. Implements the Journal port.

    Before each write it looks whether the file is still the one it left: another program's rename or tag is taken in,
    a record of another writer or a file cut or deleted by somebody ends this writer. A file that it began, and in which nothing
    came to stand that is worth keeping, is gone again when it closes.
    """

    def __init__(
        self, file: AppendFile, found: Scan, *, session_id: str, cwd: str, now: Callable[[], datetime]
    ) -> None:
        """`found` is what the file holds already, read under its lock."""
        self.session_id = session_id
        self._file = file
        self._sync = GroupSync(file)
        self._cwd = cwd
        self._now = now
        self._stamp = Timestamp()
        self._seq = found.last_seq
        self._epoch = found.epoch + 1
        self._chain = Chain(found.records)
        self._names = ForeignLine(custom_title=found.title, tag=found.tag)
        self._names_end = 0  # unknown for what was there before
        self._is_worth_keeping = bool(found.last_seq)

    @property
    def path(self) -> Path:
        return self._file.path

    def folder_beside(self, name: str) -> Path:
        """The folder of this name among those that belong to the session, without links; it need not exist."""
        beside = str(self._file.real_path().with_suffix(""))
        folder = f"{beside}/{name}"
        is_linked = os.path.islink(beside) or os.path.islink(folder)  # to a larger disk, say
        return real_path(folder) if is_linked else Path(folder)

    @property
    def title(self) -> str:
        """What the user or another program named the session; empty if nobody did."""
        return self._names.custom_title or ""

    @property
    def tag(self) -> str:
        return self._names.tag or ""

    def write(self, record: Record) -> None:
        """Append the record. Raises JournalError; then the session must stop."""
        if (added := self._file.added()) is not None:
            self._meet(added)
        self._file.append(self._sealed(record))
        self._seq += 1
        if not self._is_worth_keeping:
            self._is_worth_keeping = is_worth_keeping(record)
        self._chain.follow(record)

    def claim(self) -> None:
        """Mark the file as this writer's: a process that held it before can append no more. Raises JournalError."""
        self._meet_others()
        self._file.append(encode_line(None, self._envelope(), None))
        self._seq += 1

    def rename(self, title: str) -> None:
        """Give the session a title, in the form that other programs use. Raises JournalError."""
        self._write_name({"type": "custom-title", "customTitle": title, "sessionId": self.session_id})

    def set_tag(self, tag: str) -> None:
        """Tag the session; empty clears the tag. Raises JournalError."""
        self._write_name({"type": "tag", "tag": tag, "sessionId": self.session_id})

    async def sync(self) -> None:
        """Everything written so far survives the machine; concurrent callers share one sync. Raises JournalError."""
        await self._sync.sync()

    def restate_names(self) -> None:
        """Write title and tag once more, where listings and readers find them. Raises JournalError."""
        title, tag = self.title, self.tag
        if title:
            self.rename(title)
        if tag:
            self.set_tag(tag)

    def close(self) -> None:
        """Give the file free; what was written stays. Later writes raise JournalError."""
        try:
            if self._file.is_sound and not (self._is_worth_keeping or self.title or self.tag):
                self._file.remove()
            elif self._file.is_sound and self._are_names_far():
                self.restate_names()
        except JournalError:
            pass  # every record is kept; only a listing shows the first prompt instead of the title
        finally:
            self._file.close()

    def _are_names_far(self) -> bool:
        """Listings look for title and tag in the first and last 64 KiB only."""
        return self._file.end - self._names_end >= side_files.MAX_LINE_BYTES

    def _envelope(self, stored: str = "") -> Envelope:
        return Envelope(
            FORMAT,
            self._seq + 1,
            self._epoch,
            self.session_id,
            self._stamp.of(self._now()),
            self._cwd,
            stored,
        )

    def _sealed(self, record: Record) -> bytes:
        try:
            line = encode_line(record, self._envelope(), self._chain.last)
            if not can_be_read(line):  # it would lock the user out of the whole session
                raise ValueError("a record holds a value of a kind that could not be read again")
            if len(line) <= side_files.MAX_LINE_BYTES:
                return line
            whole = encode(record)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._file.poisoned("encode a record for", error) from error
        try:
            digest, side_file = side_files.store(self.path, whole)
        except OSError as error:
            raise self._file.poisoned("write beside", error) from error
        self._sync.include(side_file)
        return encode_line(side_files.preview(record), self._envelope(digest), self._chain.last)

    def _meet_others(self) -> None:
        """Take in what other programs appended since; refuse if the file is not ours any more."""
        if (added := self._file.added()) is not None:
            self._meet(added)

    def _meet(self, added: Added) -> None:
        self._seq += added.has_own
        for line in added.lines:
            self._take_in(decode_line(line))

    def _take_in(self, line: SealedLine | ForeignLine | BrokenLine) -> None:
        match line:
            case SealedLine():
                raise self._file.poisoned("write", "another process has taken the session over")
            case ForeignLine():
                self._names = renamed(self._names, line)
                self._names_end = self._file.end
            case BrokenLine():
                pass  # the reader leaves it out, because our next record follows without a gap

    def _write_name(self, line: dict[str, str]) -> None:
        self._meet_others()
        data = encode(line)
        self._file.append(data + b"\n")
        self._take_in(decode_line(data))


def is_worth_keeping(record: Record) -> bool:
    """Whether a session that holds no more than this could be gone on with: its beginning, its settings and what the program
    itself answered are nothing that anybody said.
    """
    if isinstance(record, SystemMessage):
        return record.subtype != "local_command_output"
    return not isinstance(record, SessionStarted | SettingChanged)
