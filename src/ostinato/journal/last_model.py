"""Which model a session was last set to, found without reading all that was said."""

from collections.abc import Iterable
from pathlib import Path

from ostinato.codec import SealedLine, decode_line
from ostinato.records import Record, SessionStarted, SettingChanged

_MARKS = (b'"session_started"', b'"setting_changed"')


def last_model(path: Path) -> str:
    """The model's name in the newest record that chose one; "" where none did, or the file cannot be read."""
    found = ""
    try:
        with open(path, "rb") as file:
            for line in file:
                if any(mark in line for mark in _MARKS):
                    found = _chosen_in(line) or found
    except OSError:
        return ""
    return found


def chosen_model(records: Iterable[Record]) -> str:
    """The model's name in the last of the records that chose one."""
    found = ""
    for record in records:
        match record:
            case SessionStarted(model=model) | SettingChanged(name="model", value=model):
                found = model or found
            case _:
                pass
    return found


def _chosen_in(line: bytes) -> str:
    """A prompt may speak of such records too; what is broken chose nothing."""
    answer = decode_line(line.rstrip(b"\n"))
    record = answer.record if isinstance(answer, SealedLine) else None
    return chosen_model((record,)) if isinstance(record, SessionStarted | SettingChanged) else ""
