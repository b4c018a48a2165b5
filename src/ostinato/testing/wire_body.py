"""A body on its way to a client, with the faults a test wants: split, cut, stalled, counted."""

import socket
import struct
from collections.abc import Callable, Iterable

from ostinato.testing.gate import Gate
from ostinato.testing.wire_turn import CutEnd, OnWire

Frame = bytes | Gate
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
GATE_POLL_S = 0.02


class Leaving(Exception):  # it is no failure: the body ends here, as the test or the server wanted
    """The connection is to be closed now, as `how` says."""

    def __init__(self, how: CutEnd) -> None:
        super().__init__(how)
        self.how: CutEnd = how


class BodyWriter:
    """Sends frames as chunks of one response; `wait` sleeps at most that long and says whether the server stops.

    `count` is told of every byte that the kernel took (the framing of chunks included), so a client that stops reading
    makes it stand still.
    """

    def __init__(
        self,
        connection: socket.socket,
        faults: OnWire,
        *,
        count: Callable[[int], None],
        wait: Callable[[float], bool],
    ) -> None:
        self._connection = connection
        self._faults = faults
        self._count = count
        self._wait = wait
        self._sent_bytes = 0
        self._sent_events = 0

    def play(self, frames: Iterable[Frame], *, ends_cut: bool = False) -> None:
        """Send all frames and the end of the body (of a cut reply: its cut). Raises `Leaving` where the connection goes."""
        for frame in frames:
            if isinstance(frame, Gate):
                stand_before(frame, self._wait)
                continue
            self._before_event()
            self._send(frame)
            self._sent_events += 1
        self._before_event(is_end=True)
        if ends_cut:
            self._cut()
        self._end_body()

    def _end_body(self) -> None:
        self._connection.sendall(b"0\r\n\r\n")

    def _cut(self) -> None:
        """End the body as the faults say."""
        if self._faults.cut_end == "clean":
            self._end_body()
        raise Leaving(self._faults.cut_end)

    def _before_event(self, *, is_end: bool = False) -> None:
        if self._faults.stall_after_events == self._sent_events:
            self._stall()
        if self._faults.cut_after_events == self._sent_events:
            self._cut()
        if not is_end and self._faults.event_delay_s and self._wait(self._faults.event_delay_s):
            raise Leaving("drop")

    def _send(self, data: bytes) -> None:
        size = self._faults.split_bytes or len(data)
        for start in range(0, len(data), size):
            self._send_piece(data[start : start + size])

    def _send_piece(self, piece: bytes) -> None:
        cut, stall = self._faults.cut_after_bytes, self._faults.stall_after_bytes
        limit = min((limit for limit in (cut, stall) if limit is not None), default=None)
        if limit is None or self._sent_bytes + len(piece) < limit:
            self._send_chunk(piece)
            return
        self._send_chunk(piece[: limit - self._sent_bytes])
        if limit == stall:
            self._stall()
        self._cut()

    def _send_chunk(self, data: bytes) -> None:
        if not data:
            return
        rest = memoryview(b"%x\r\n%b\r\n" % (len(data), data))
        while rest:
            taken = self._connection.send(rest)
            self._count(taken)
            rest = rest[taken:]
        self._sent_bytes += len(data)

    def _stall(self) -> None:
        beat = self._faults.heartbeat
        while not self._wait(self._faults.heartbeat_every_s if beat else GATE_POLL_S):
            if beat:
                self._send_chunk(beat)
        raise Leaving("drop")


def stand_before(gate: Gate, wait: Callable[[float], bool]) -> None:
    """Wait at the gate; leaves when the server stops."""
    while not gate.wait_in_thread(GATE_POLL_S):
        if wait(0):
            raise Leaving("drop")


def reset_on_close(connection: socket.socket) -> None:
    """The next close sends a reset in place of an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
