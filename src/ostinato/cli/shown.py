"""What a front end makes of an event: bytes for standard output, talk for standard error. Making it writes nothing."""

from typing import Protocol

import msgspec

from ostinato.events import Event, SystemEvent
from ostinato.visible_text import visible


class Shown(msgspec.Struct, frozen=True):
    """`out` is data, `talk` is for the person beside it."""

    out: bytes = b""
    talk: str = ""


NOTHING = Shown()


def warning_line(event: Event) -> str:
    """What the user must hear of while the query goes on (a wait before a retry, a budget nearly used), in one line."""
    if isinstance(event, SystemEvent) and event.message.level != "info":
        return f"note: {visible(event.message.text)}\n"
    return ""


class Renderer(Protocol):
    """One way to show a query. `show` gets every event in order; the last two are the `Terminal` and the `Result`."""

    def begin(self) -> Shown:
        """Before the first event."""
        ...

    def show(self, event: Event) -> Shown: ...
