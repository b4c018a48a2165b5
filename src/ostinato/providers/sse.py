"""Server-sent events out of raw bytes: the full grammar, incremental, linear in what arrives, bounded per event.

However the network cuts the bytes, the same events come out; text stays bytes, so that no code point is ever split.
"""

import msgspec

from ostinato.errors import ModelError

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""No honest event comes near it: half of the largest request body that a provider takes."""

LINE_FEED, CARRIAGE_RETURN = 10, 13
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(msgspec.Struct, frozen=True, gc=False):
    """`name` is the `event:` field, empty when there was none; `data` is its data lines, joined by line feeds."""

    name: bytes
    data: bytes


class SseReader:
    """Feed it what arrives; it gives back the events that are complete. Comments, ids and retry times are dropped."""

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._rest = bytearray()  # the start of a line whose end has not come yet
        self._name = b""
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._is_at_start = True
        self._ends_with_return = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that `chunk` completes. Raises `ModelError` (`malformed_response`) for an event over the cap."""
        if not (self._rest or self._data or self._name or self._is_at_start or self._ends_with_return):
            event = _usual_event(chunk)
            if event is not None and len(chunk) <= self._max_event_bytes:
                return [event]
        if self._ends_with_return and chunk:
            self._ends_with_return = False
            if chunk[0] == LINE_FEED:  # the second half of a line end that the network cut in two
                chunk = chunk[1:]
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest += chunk
            self._check_size(len(self._rest))
            return []
        text = bytes(self._rest) + chunk if self._rest else chunk
        lines = text.splitlines()  # for bytes: LF, CRLF and CR, nothing else
        last = text[-1]
        self._ends_with_return = last == CARRIAGE_RETURN
        self._rest = bytearray() if last in {LINE_FEED, CARRIAGE_RETURN} else bytearray(lines.pop())
        return self._take(lines)

    def flush(self) -> list[ServerSentEvent]:
        """The stream has ended: what an absent last line end or blank line held back."""
        lines = [bytes(self._rest), b""] if self._rest else [b""]
        self._rest = bytearray()
        return self._take(lines)

    def _take(self, lines: list[bytes]) -> list[ServerSentEvent]:
        if self._is_at_start and lines:
            self._is_at_start = False
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        events: list[ServerSentEvent] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(
                        ServerSentEvent(self._name, data[0] if len(data) == 1 else b"\n".join(data))
                    )
                    data.clear()
                    self._data_bytes = 0
                self._name = b""
            elif line.startswith(b"data:"):
                value = line[6:] if line.startswith(b"data: ") else line[5:]
                data.append(value)
                self._data_bytes += len(value)
                self._check_size(self._data_bytes)
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ")
            elif line == b"data":
                data.append(b"")
            elif line == b"event":
                self._name = b""
        return events

    def _check_size(self, size: int) -> None:
        if size > self._max_event_bytes:
            raise ModelError(
                f"one event of the reply is larger than {self._max_event_bytes:,} bytes",
                kind="malformed_response",
                hint="check the base URL: no model says that much at once",
            )


def _usual_event(chunk: bytes) -> ServerSentEvent | None:
    """The event of a chunk that holds one and nothing else, in the form nearly all servers write: a name and a line of data, or
    the data alone. None for any other chunk. This is most of what a reply is made of, and several times as fast as line by line.
    """
    end = len(chunk) - 2
    start = chunk.find(b"\n") + 1 if chunk[:7] == b"event: " else 0
    is_one = chunk[end:] == b"\n\n" and chunk.find(b"\n", start) == end
    if not is_one or chunk[start : start + 6] != b"data: " or b"\r" in chunk:
        return None
    return ServerSentEvent(chunk[7 : start - 1] if start else b"", chunk[start + 6 : end])
