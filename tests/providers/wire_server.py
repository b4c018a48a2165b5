"""A real HTTP server on the loopback for the adapters' tests: it answers as scripted and counts what happens to it.

It runs in threads of its own, so that the client under test may run on any event loop.
"""

import contextlib
import select
import socket
import ssl
import struct
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

PATIENCE_S = 10.0
STALL_S = 0.3
EVENT_STREAM: Mapping[str, str] = {"Content-Type": "text/event-stream"}


@dataclass(frozen=True)
class Answer:
    """`chunks` go out one by one. `cut` closes the connection without the terminating chunk; `hold` never ends."""

    chunks: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: dict(EVENT_STREAM))
    cut: bool = False
    hold: bool = False


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return cast("dict[str, Any]", msgspec.json.decode(self.body))


class WireServer:
    def __init__(self, answers: Sequence[Answer], tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.received: list[Received] = []
        self.connections = 0
        self.sent_bytes = 0
        self.is_stalled = threading.Event()
        self.is_left = threading.Event()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                self._sockets.append(connection)
                self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
                self._threads[-1].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._sockets:
            connection.close()

    def reset_all(self) -> None:
        """As when a proxy in between was restarted: every connection ends with a reset."""
        for connection in self._sockets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RD)  # wakes the thread that reads it, which closes it
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _serve(self, connection: socket.socket) -> None:
        # Whatever breaks here was broken by the client, on purpose.
        with contextlib.suppress(OSError, ValueError), connection:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._sockets.append(connection)
            reader = connection.makefile("rb")
            while line := reader.readline():
                path = line.decode().split(" ")[1]
                headers: dict[str, str] = {}
                while (header := reader.readline().strip()) != b"":
                    name, _, value = header.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = reader.read(int(headers.get("content-length", "0")))
                self.received.append(Received(path, headers, body))
                if not self._answer(connection, self._answers.pop(0)):
                    return
        self.is_left.set()

    def _answer(self, connection: socket.socket, answer: Answer) -> bool:
        lines = [f"HTTP/1.1 {answer.status} scripted", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        self._send(connection, ("\r\n".join(lines) + "\r\n\r\n").encode())
        for chunk in answer.chunks:
            self._send(connection, b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if answer.cut:
            return False
        if answer.hold:
            connection.settimeout(PATIENCE_S)
            if connection.recv(1) == b"":
                self.is_left.set()
            return False
        self._send(connection, b"0\r\n\r\n")
        return True

    def _send(self, connection: socket.socket, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if not select.select([], [connection], [], STALL_S)[1]:
                self.is_stalled.set()
                select.select([], [connection], [], PATIENCE_S)
            count = connection.send(view)
            self.sent_bytes += count
            view = view[count:]


@contextmanager
def wire_server(*answers: Answer, tls: ssl.SSLContext | None = None) -> Generator[WireServer]:
    server = WireServer(answers, tls)
    thread = threading.Thread(target=server.accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(PATIENCE_S)
