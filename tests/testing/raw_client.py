"""A bare HTTP client for tests of the strict server: sends one request, shows every byte and how the connection ended."""

import json
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

MESSAGES = "/v1/messages"
CHAT = "/v1/chat/completions"
PROMPT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "hello"}],
}
STREAMED: dict[str, Any] = {**PROMPT, "stream": True}


class RawClient:
    """One connection. `read_some` is None after a clean end, and "reset" if the other side reset it."""

    def __init__(self, url: str, *, receive_buffer_bytes: int | None = None, timeout_s: float = 5) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._socket = socket.socket()
        if receive_buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.settimeout(timeout_s)
        self._socket.connect((host, int(port)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, path: str, body: Mapping[str, object], **headers: str) -> None:
        """One request. An underscore in a header's name is a dash; an empty value leaves the header out."""
        data = json.dumps(body).encode()
        sent = {"host": "x", "anthropic_version": "2023-06-01", "content_length": str(len(data)), **headers}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items() if value)
        self._socket.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data)

    def set_timeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def read_some(self, size: int = 65536) -> bytes | str | None:
        """The next bytes; None at the end, "reset" or "silence" (until the timeout) otherwise."""
        try:
            return self._socket.recv(size) or None
        except ConnectionResetError:
            return "reset"
        except TimeoutError:
            return "silence"

    def read_all(self) -> tuple[bytes, str]:
        """Everything up to the end and how it ended: `complete` (the body's own end), `closed`, `reset`, `silence`."""
        data = b""
        while True:
            more = self.read_some()
            if more is None:
                return data, "closed"
            if isinstance(more, str):
                return data, more
            data += more
            if data.endswith(b"\r\n0\r\n\r\n"):
                return data, "complete"


def ask(url: str, path: str, body: Mapping[str, object], **headers: str) -> tuple[int, bytes, str]:
    """One request on a new connection: its status, its body without framing, and how the connection ended."""
    with RawClient(url) as client:
        client.send(path, body, **headers)
        data, end = client.read_all()
    head, _, framed = data.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, unframed(framed), end


def head_of(url: str, path: str, body: Mapping[str, object]) -> dict[str, str]:
    """The response headers of one request, names in lower case."""
    with RawClient(url) as client:
        client.send(path, body)
        data, _ = client.read_all()
    lines = data.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def chunks(framed: bytes) -> list[bytes]:
    """The chunks of a body, complete ones only."""
    found: list[bytes] = []
    while b"\r\n" in framed:
        size_text, _, framed = framed.partition(b"\r\n")
        size = int(size_text, 16)
        if size == 0 or len(framed) < size:
            break
        found.append(framed[:size])
        framed = framed[size + 2 :]
    return found


def unframed(framed: bytes) -> bytes:
    return b"".join(chunks(framed))


def data_of(stream: bytes) -> list[dict[str, Any]]:
    """The JSON data of server-sent events; comments and end marks are left out."""
    lines = (line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: "))
    return [json.loads(line) for line in lines if line != b"[DONE]"]
