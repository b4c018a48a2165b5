"""The heads of HTTP/1.1 messages: a request's is written, a reply's is read, strictly and within a bound. No network here.

What no head may hold is refused before it is sent; what is no head is refused as soon as that can be told.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

MAX_HEAD_BYTES: Final = 128 * 1024
"""All headers of a reply together; servers themselves rarely take more than 16 KiB."""

NO_BODY_STATUSES: Final = frozenset({204, 304})
FIRST_FINAL_STATUS: Final = 200

_BEGINNINGS: Final = (b"HTTP/1.0 ", b"HTTP/1.1 ")
_NAME_BYTES: Final = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What a header's name may be made of."""

Framing = Literal["chunked", "sized", "until_close"]


class BadReply(Exception):
    """What came is no HTTP/1.1, or breaks its rules."""


class ReplyHead(msgspec.Struct, frozen=True):
    """Header names are lower case; what came twice is joined by commas. `size` is the body's, in bytes, where it is told;
    `keeps_alive`: the server lets the connection serve the next request.
    """

    status: int
    headers: dict[str, str]
    framing: Framing
    size: int = 0
    keeps_alive: bool = False


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Raises ValueError for what cannot travel in a head: line breaks, names with spaces, text beyond ASCII."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        text = value.strip(" \t")
        if not _is_name(name.encode("ascii", "replace").replace(b"?", b" ")):
            raise ValueError(f"`{name}` is no name of a header")
        if any(character in text for character in "\r\n\0"):
            raise ValueError(f"the header `{name}` holds a line break")
        if not text.isascii():
            raise ValueError(f"the header `{name}` holds characters that no header can carry")
        lines.append(f"{name}: {text}")
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _is_name(name: bytes) -> bool:
    return bool(name) and not name.translate(None, _NAME_BYTES)


def read_head(data: bytes) -> tuple[ReplyHead, int] | None:
    """The first head in `data` and how many bytes it takes; None while it is not complete. Raises BadReply."""
    if not any(data.startswith(begins) or begins.startswith(data) for begins in _BEGINNINGS):
        raise BadReply("what answers does not speak HTTP/1.1")
    end = _end_of_head(data)
    if end < 0:
        if len(data) > MAX_HEAD_BYTES:
            raise BadReply(f"the head of the reply is larger than {MAX_HEAD_BYTES:,} bytes")
        return None
    first, *lines = data[:end].splitlines()
    return _head(_status(first), _headers(lines), is_1_0=first.startswith(_BEGINNINGS[0])), end


def _end_of_head(data: bytes) -> int:
    """Behind the empty line; -1 if there is none yet. Bare line feeds are understood, as everywhere."""
    ends = [at + len(mark) for mark in (b"\n\r\n", b"\n\n") if (at := data.find(mark)) >= 0]
    return min(ends, default=-1)


def _status(line: bytes) -> int:
    digits, space, _ = line[len(_BEGINNINGS[0]) :].partition(b" ")
    if not (
        digits.isdigit() and len(digits) == 3 and digits >= b"100" and (space or not line.endswith(b" "))
    ):
        raise BadReply("the first line of the reply cannot be read")
    return int(digits)


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in {b" ", b"\t"} and name:  # goes on with the line before it
            headers[name] += f" {line.strip().decode('latin-1')}"
        elif line:
            wire_name, colon, wire_value = line.partition(b":")
            if not colon or not _is_name(wire_name) or b"\0" in wire_value:
                raise BadReply("a header of the reply cannot be read")
            name, value = wire_name.decode("ascii").lower(), wire_value.strip(b" \t").decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _head(status: int, headers: dict[str, str], *, is_1_0: bool) -> ReplyHead:
    connection = {option.strip().lower() for option in headers.get("connection", "").split(",")}
    keeps_alive = not is_1_0 and "close" not in connection
    encoding = headers.get("transfer-encoding", "").lower()
    lengths = {length.strip() for length in headers.get("content-length", "").split(",")} - {""}
    if status < FIRST_FINAL_STATUS or status in NO_BODY_STATUSES:
        return ReplyHead(status, headers, "sized", 0, keeps_alive)
    if encoding:
        if encoding != "chunked":
            raise BadReply(f"the reply is transferred as `{encoding}`, which was not asked for")
        # Both at once is a way to smuggle: nothing else is read from such a connection.
        return ReplyHead(status, headers, "chunked", 0, keeps_alive and not lengths)
    if not lengths:
        return ReplyHead(status, headers, "until_close")
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdecimal()):
        raise BadReply("the reply tells no clear length")
    return ReplyHead(status, headers, "sized", int(length), keeps_alive)
