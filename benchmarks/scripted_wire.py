"""A server that plays replies on the Messages wire as fast as a socket takes them, and remembers when what happened.

It renders each reply before it is asked for it and checks nothing, so that it costs its client nothing. The path names the
scene (`/deltas-20000-20/v1/messages`); `GET /log` tells the times. As a program of its own (`python -m
benchmarks.scripted_wire`) it prints its port, and its CPU time is nobody else's.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from http.client import HTTPConnection
from itertools import pairwise

from benchmarks.measure import ROOT

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"

Step = bytes | float
"""Bytes to send, or seconds to wait."""

# ------------------------------------------------------------------------------------------------ replies


def event(kind: str, **fields: object) -> bytes:
    data = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def start(number: int) -> bytes:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, object] = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m"}
    return event("message_start", message={**message, "content": [], "usage": usage})


def stop(reason: str) -> bytes:
    delta = event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 20})
    return delta + event("message_stop")


def delta(index: int, text: str) -> bytes:
    return event("content_block_delta", index=index, delta={"type": "text_delta", "text": text})


def said(index: int, text: str) -> bytes:
    opened = event("content_block_start", index=index, content_block={"type": "text", "text": ""})
    return opened + delta(index, text) + event("content_block_stop", index=index)


def called(index: int, call_id: str, name: str, arguments: dict[str, object]) -> bytes:
    block: dict[str, object] = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    partial = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return (
        event("content_block_start", index=index, content_block=block)
        + event("content_block_delta", index=index, delta=partial)
        + event("content_block_stop", index=index)
    )


def answer() -> list[Step]:
    return [chunk(start(99) + said(0, "done") + stop("end_turn"))]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


# ------------------------------------------------------------------------------------------------ scenes


def deltas(count: int, events_a_chunk: int) -> list[Step]:
    """One text of `count` deltas."""
    events = [delta(0, f"word{number % 1000} ") for number in range(count)]
    steps: list[Step] = [
        chunk(start(1) + event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
    ]
    steps += [chunk(b"".join(events[i : i + events_a_chunk])) for i in range(0, count, events_a_chunk)]
    return [*steps, chunk(event("content_block_stop", index=0) + stop("end_turn"))]


def shell_turn(turn: int, command: str, calls: int) -> list[Step]:
    blocks = [
        called(index, f"call_{turn}_{index}", "Bash", {"command": command.replace("#", str(index))})
        for index in range(calls)
    ]
    return [chunk(start(turn) + b"".join(blocks) + stop("tool_use"))]


def overlapping(tool_s: float, stream_s: float) -> list[Step]:
    """A call at the start of a reply that goes on for `stream_s` after it."""
    call = called(0, "call_0", "Bash", {"command": f"sleep {tool_s}"})
    opened = event("content_block_start", index=1, content_block={"type": "text", "text": ""})
    pieces = 15
    talk: list[Step] = []
    for number in range(pieces):
        talk += [stream_s / pieces, chunk(delta(1, f"piece {number} "))]
    return [
        chunk(start(1) + call + opened),
        *talk,
        chunk(event("content_block_stop", index=1) + stop("tool_use")),
    ]


@cache
def reply(scene: str, turn: int) -> tuple[Step, ...]:
    """What the scene says at its turn, from 0. `shell-N`: N turns with one call of `true`; `named-NAME-N`: of that tool."""
    name, *numbers = scene.split("-")
    match name:
        case "hello":
            return tuple(answer())
        case "deltas":
            return tuple(deltas(int(numbers[0]), int(numbers[1])))
        case "shell" if turn < int(numbers[0]):
            return tuple(shell_turn(turn, f"true {turn}", 1))
        case "named" if turn < int(numbers[1]):
            call = called(0, f"call_{turn}", numbers[0], {"text": f"x{turn}"})
            return (chunk(start(turn) + call + stop("tool_use")),)
        case "parallel" if turn == 0:
            return tuple(shell_turn(turn, "sleep 0.5; echo #", 8))
        case "overlap" if turn == 0:
            return tuple(overlapping(float(numbers[0]), float(numbers[1])))
        case _:
            return tuple(answer())


# ------------------------------------------------------------------------------------------------ the server


class ScriptedWire:
    """Serves in threads until the process ends. `on_request` is called when a request is complete."""

    def __init__(self, on_request: Callable[[], None] | None = None) -> None:
        self._on_request = on_request
        self._log: list[dict[str, object]] = []
        self._turns: dict[str, int] = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while (path := _received(connection)) is not None:
                self._answer(connection, path)

    def _answer(self, connection: socket.socket, path: str) -> None:
        """Each `/RUN/SCENE` counts its own turns, so that no body has to be read."""
        received_s = time.monotonic()
        if path == "/log":
            body = json.dumps(self._log).encode()
            self._log.clear()
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
            return
        if self._on_request is not None:
            self._on_request()
        _, run, scene, _ = path.split("/", 3)
        turn = self._turns.get(run, 0)
        self._turns[run] = turn + 1
        connection.sendall(HEAD)
        for step in reply(scene, turn):
            if isinstance(step, bytes):
                connection.sendall(step)
            else:
                time.sleep(step)
        # Noted before the end is sent: the client may be quicker than the next line.
        self._log.append({"path": path, "received_s": received_s, "ended_s": time.monotonic()})
        connection.sendall(END)


def _received(connection: socket.socket) -> str | None:
    """The path of the next request once its body is here; None when the client left."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        if not (more := connection.recv(65_536)):
            return None
        data += more
    head = data[:end].decode()
    missing = _content_length(head) - (len(data) - end - 4)
    while missing > 0:
        missing -= len(connection.recv(1 << 20))
    return head.split(" ", 2)[1]


def _content_length(head: str) -> int:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0


class WireProcess:
    """The server as a process of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._runs = 0

    def url(self, scene: str) -> str:
        """The base URL of a new run of the scene."""
        self._runs += 1
        return f"http://127.0.0.1:{self.port}/{self._runs}/{scene}"

    def times(self) -> list[tuple[float, float]]:
        """When each request since the last look was received and when its reply ended, on the monotonic clock."""
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/log")
        entries = json.loads(connection.getresponse().read())
        connection.close()
        return [(entry["received_s"], entry["ended_s"]) for entry in entries]

    def gaps_s(self) -> Sequence[float]:
        """From the end of each reply to the next request, in order, since the last look."""
        times = self.times()
        return [after[0] - before[1] for before, after in pairwise(times)]


@contextmanager
def wire_process() -> Generator[WireProcess]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scripted_wire"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
    )
    if process.stdout is None:
        raise RuntimeError("the server has no output")
    try:
        yield WireProcess(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    print(ScriptedWire().port, flush=True)
    sys.stdin.read()
