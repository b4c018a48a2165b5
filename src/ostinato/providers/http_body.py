"""The body of an HTTP/1.1 reply out of raw bytes, whichever of the three ways it is framed. No network here.

All that one read brings goes out at once, however many chunks it is in: a chunk of HTTP has no meaning of its own.
"""

from typing import Final, Protocol

from ostinato.providers.http_head import BadReply, ReplyHead

MAX_LINE_BYTES: Final = 16 * 1024
"""A chunk's size with its extensions, or all trailers."""

MAX_SIZE_DIGITS: Final = 15
LINE_END: Final = b"\r\n"


class Body(Protocol):
    """Feed it what arrives. `is_finished` once the end was told; `has_surplus` if something came behind the end."""

    @property
    def is_finished(self) -> bool: ...

    @property
    def has_surplus(self) -> bool: ...

    def feed(self, data: bytes) -> bytes:
        """The content in `data`, which may be none yet. Raises BadReply."""
        ...

    def close(self) -> None:
        """The connection has ended. Raises BadReply if that was too early."""
        ...


class ChunkedBody:
    """Ends with a chunk of size zero and its trailers, which are dropped."""

    def __init__(self) -> None:
        self.is_finished = False
        self.has_surplus = False
        self._rest = b""  # the start of a line whose end has not come yet
        self._left = 0  # bytes of the open chunk that are still to come
        self._is_first = True
        self._is_in_trailers = False
        self._fault: BadReply | None = None

    def feed(self, data: bytes) -> bytes:
        """What came whole before a fault is given out first; the fault is raised by the next call."""
        if self._fault is not None:
            raise self._fault
        pieces: list[bytes] = []
        try:
            self._take(data, pieces)
        except BadReply as fault:
            if not any(pieces):
                raise
            self._fault = fault
        return b"".join(pieces)

    def _take(self, data: bytes, pieces: list[bytes]) -> None:
        if self._is_in_trailers:
            self._end(data)
            return
        at = self._left
        pieces.append(data[:at])
        if at > len(data):
            self._left -= len(data)
            return
        if self._rest:
            data = self._rest + data
        while (begins := self._past_chunk(data, at)) >= 0 and (ends := data.find(LINE_END, begins)) >= 0:
            size = _size(data[begins:ends])
            self._is_first = False
            begins, at = ends + 2, ends + 2 + size
            if size == 0:
                self._is_in_trailers, self._rest = True, b""
                self._end(data[at:])
                return
            pieces.append(data[begins:at])
        self._left, self._rest = max(0, at - len(data)), data[at:]
        if len(self._rest) > MAX_LINE_BYTES:
            raise BadReply("a chunk of the reply cannot be read")

    def close(self) -> None:
        raise BadReply("the connection ended before the reply did")

    def _past_chunk(self, data: bytes, at: int) -> int:
        """Where the next size begins: behind the line end of the chunk before it; -1 while that has not come."""
        if self._is_first:
            return at
        line_end = data[at : at + 2]
        if not LINE_END.startswith(line_end):
            raise BadReply("a chunk of the reply does not end where it should")
        return at + 2 if line_end == LINE_END else -1

    def _end(self, data: bytes) -> None:
        """Past the last chunk: nothing of it is content."""
        if self.is_finished:
            self.has_surplus = self.has_surplus or bool(data)
            return
        rest = self._rest = self._rest + data
        if rest.startswith(LINE_END):
            end = len(LINE_END)
        elif (found := rest.find(2 * LINE_END)) >= 0:
            end = found + 2 * len(LINE_END)
        elif len(rest) > MAX_LINE_BYTES:
            raise BadReply("the end of the reply cannot be read")
        else:
            return
        self.is_finished, self.has_surplus = True, len(rest) > end


def _size(line: bytes) -> int:
    """Of the chunk that the line announces; what may stand behind a semicolon means nothing here."""
    digits = line.partition(b";")[0].rstrip(b" \t")
    try:
        if (
            digits.isalnum() and len(digits) <= MAX_SIZE_DIGITS
        ):  # `int` itself would take signs and underscores
            return int(digits, 16)
    except ValueError:
        pass
    raise BadReply("the size of a chunk of the reply cannot be read")


class SizedBody:
    """Ends after so many bytes."""

    def __init__(self, size: int) -> None:
        self.is_finished = size == 0
        self.has_surplus = False
        self._left = size

    def feed(self, data: bytes) -> bytes:
        content = data[: self._left]
        self._left -= len(content)
        self.is_finished = self._left == 0
        self.has_surplus = self.has_surplus or len(content) < len(data)
        return content

    def close(self) -> None:
        raise BadReply("the connection ended before the reply did")


class OpenBody:
    """Ends with the connection; nothing tells a cut from an end."""

    def __init__(self) -> None:
        self.is_finished = False
        self.has_surplus = False

    def feed(self, data: bytes) -> bytes:
        return data

    def close(self) -> None:
        self.is_finished = True


class PackedBody:
    """A body that was packed with `gzip` or `deflate` though nobody asked for it."""

    def __init__(self, inner: Body) -> None:
        import zlib  # ruff: ignore[import-outside-top-level] - hardly any server does this

        self._inner = inner
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either form, whichever it turns out to be
        self._fault = zlib.error

    @property
    def is_finished(self) -> bool:
        return self._inner.is_finished

    @property
    def has_surplus(self) -> bool:
        return self._inner.has_surplus

    def feed(self, data: bytes) -> bytes:
        try:
            return self._unpacker.decompress(self._inner.feed(data))
        except self._fault as error:
            raise BadReply("the reply cannot be unpacked") from error

    def close(self) -> None:
        self._inner.close()


def body_of(head: ReplyHead) -> Body:
    """The reader that the head asks for."""
    match head.framing:
        case "chunked":
            body: Body = ChunkedBody()
        case "sized":
            body = SizedBody(head.size)
        case "until_close":
            body = OpenBody()
    is_packed = head.headers.get("content-encoding", "").strip().lower() in {"gzip", "x-gzip", "deflate"}
    return PackedBody(body) if is_packed else body
