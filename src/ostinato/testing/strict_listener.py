"""The HTTP side of the strict server: accepts connections, reads requests, writes answers byte by byte where told."""

import contextlib
import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol, assert_never

import msgspec

from ostinato.testing.wire_answer import Answer
from ostinato.testing.wire_body import BodyWriter, Leaving, reset_on_close, stand_before
from ostinato.testing.wire_json import as_dict

STOP_POLL_S = 0.02


class AnswersRequests(Protocol):
    """Who decides what to say."""

    def accepted(self) -> None: ...

    def wait(self, seconds: float) -> bool: ...

    def new_response(self) -> Callable[[int], None]: ...

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Answer: ...

    def broke(self, error: BaseException) -> None:
        """The double itself or the test's script raised this."""
        ...


class Listener(socketserver.ThreadingTCPServer):
    """A thread that accepts, and one for each connection. None of them outlives `stop`."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, answering: AnswersRequests, *, send_buffer_bytes: int | None) -> None:
        self.answering = answering
        self._send_buffer_bytes = send_buffer_bytes
        self._open: set[socket.socket] = set()
        self._resets: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(STOP_POLL_S,), daemon=True)
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def open_connections(self) -> int:
        with self._changed:
            return len(self._open)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> None:
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join(timeout_s)
        self.server_close()
        with self._changed:
            still_open = list(self._open)
        for connection in still_open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with self._changed:
            self._changed.wait_for(lambda: not self._open, timeout_s)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._send_buffer_bytes is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        with self._changed:
            self._open.add(connection)
        self.answering.accepted()
        return connection, address

    def reset(self, connection: socket.socket) -> None:
        """Close this connection with a reset."""
        reset_on_close(connection)
        with self._changed:
            self._resets.add(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            is_reset = request in self._resets
            self._resets.discard(request)
        if is_reset:
            self.close_request(request)  # an orderly shutdown before would send the end in place of the reset
        else:
            super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error; anything else is kept for the test."""
        del request, client_address
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.answering.broke(error)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _listener(self) -> Listener:
        assert isinstance(self.server, Listener)
        return self.server

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:  # ruff: ignore[builtin-argument-shadowing] - as in the base class
        """Say nothing: the requests are kept."""

    def _serve(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answering = self._listener.answering
        try:
            body = as_dict(msgspec.json.decode(self._read_body() or b"{}"))
        except msgspec.DecodeError:
            body = dict[str, Any]()
        answer = answering.answer(self.path.partition("?")[0], headers, body)
        try:
            self._write(answer)
        except Leaving as leaving:
            self._leave(leaving)
        except OSError:
            self.close_connection = True  # the client left

    def _leave(self, leaving: Leaving) -> None:
        match leaving.how:
            case "clean":
                return
            case "drop":
                self.close_connection = True
            case "reset":
                self.close_connection = True
                self._listener.reset(self.connection)
            case _:
                assert_never(leaving.how)

    def _write(self, answer: Answer) -> None:
        answering = self._listener.answering
        count = answering.new_response()
        if answer.faults.before_head is not None:
            stand_before(answer.faults.before_head, answering.wait)
        if answer.faults.delay_s and answering.wait(answer.faults.delay_s):
            raise Leaving("drop")
        if answer.drops:
            raise Leaving("drop")
        self.send_response(answer.status)
        for name, value in {**answer.headers, "transfer-encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        writer = BodyWriter(self.connection, answer.faults, count=count, wait=answering.wait)
        writer.play(answer.frames, ends_cut=answer.cuts)

    def _read_body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            return self._read_chunks()
        size = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the client left in the middle of its request")
        return data

    def _read_chunks(self) -> bytes:
        data = bytearray()
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(data)
