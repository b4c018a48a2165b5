"""Each fault of a connection does to the bytes what its name says."""

import time
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.testing.raw_client import CHAT, MESSAGES, PROMPT, STREAMED, RawClient, ask, chunks, data_of

from ostinato.testing import Cut, Gate, OnWire, Reply, StrictServer, WireTurn, heartbeats, say

REPLY = Reply(say("hello world"))
SILENCE_S = 0.15


def served(turn: WireTurn, path: str = MESSAGES) -> tuple[bytes, str]:
    with StrictServer(turn) as server:
        _, body, end = ask(server.url, path, STREAMED)
    return body, end


WHOLE = served(REPLY)[0]


@pytest.mark.parametrize("size", [1, 7])
def test_the_body_is_sent_in_pieces_of_the_wanted_size(size: int) -> None:
    with StrictServer(OnWire(REPLY, split_bytes=size)) as server, RawClient(server.url) as client:
        client.send(MESSAGES, STREAMED)
        data, end = client.read_all()
    pieces = chunks(data.partition(b"\r\n\r\n")[2])
    assert end == "complete"
    assert b"".join(pieces) == WHOLE
    assert max(len(piece) for piece in pieces) == size


@pytest.mark.parametrize("count", [0, 1, 10, 200])
def test_a_body_cut_by_bytes_ends_at_that_byte(count: int) -> None:
    assert served(OnWire(REPLY, cut_after_bytes=count)) == (WHOLE[:count], "closed")


def test_a_body_cut_by_events_ends_after_them() -> None:
    body, end = served(OnWire(REPLY, cut_after_events=2))
    assert [one["type"] for one in data_of(body)] == ["message_start", "content_block_start"]
    assert end == "closed"


def test_a_bare_end_looks_clean_but_lacks_the_end_of_the_reply() -> None:
    body, end = served(OnWire(REPLY, cut_after_events=2, cut_end="clean"))
    assert end == "complete"
    assert b"message_stop" not in body


def test_a_reset_is_seen_as_one() -> None:
    assert served(OnWire(REPLY, cut_after_events=2, cut_end="reset"))[1] == "reset"


@pytest.mark.parametrize(("cut_end", "seen"), [("drop", "closed"), ("clean", "complete"), ("reset", "reset")])
def test_a_cut_turn_ends_as_told_after_its_blocks(cut_end: Any, seen: str) -> None:
    body, end = served(OnWire(Cut(Reply(say("one"), say("two")), after_blocks=1), cut_end=cut_end))
    assert end == seen
    if cut_end != "reset":  # a reset may overtake the last bytes
        assert [one["type"] for one in data_of(body)].count("content_block_stop") == 1
        assert b"message_delta" not in body


@pytest.mark.parametrize(("path", "mark"), [(MESSAGES, b"message_stop"), (CHAT, b"[DONE]")])
def test_the_end_mark_alone_can_be_left_out(path: str, mark: bytes) -> None:
    body, end = served(OnWire(REPLY, without_end_mark=True), path)
    assert end == "complete"
    assert mark not in body
    assert b"end_turn" in body or b'"finish_reason":"stop"' in body


@pytest.mark.parametrize("turn", [OnWire(REPLY, stall_after_events=2), OnWire(REPLY, stall_after_bytes=50)])
def test_a_stalled_stream_stays_open_and_silent(turn: OnWire) -> None:
    with StrictServer(turn) as server, RawClient(server.url, timeout_s=SILENCE_S) as client:
        client.send(MESSAGES, STREAMED)
        data, end = client.read_all()
        body = b"".join(chunks(data.partition(b"\r\n\r\n")[2]))
        assert end == "silence"
        assert WHOLE.startswith(body)
        assert len(body) == 50 or len(data_of(body)) == 2
        assert server.open_connections == 1


def test_heartbeats_keep_a_stalled_stream_warm() -> None:
    with (
        StrictServer(heartbeats(REPLY, after_events=1, every_s=0.005)) as server,
        RawClient(server.url) as client,
    ):
        client.send(MESSAGES, STREAMED)
        data = b""
        while data.count(b": keepalive\n\n") < 3:
            more = client.read_some()
            assert isinstance(more, bytes)
            data += more
        assert len(data_of(b"".join(chunks(data.partition(b"\r\n\r\n")[2])))) == 1
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 1


def test_the_head_can_be_held_back_by_a_gate() -> None:
    gate = Gate()
    with (
        StrictServer(OnWire(REPLY, before_head=gate)) as server,
        RawClient(server.url, timeout_s=SILENCE_S) as client,
    ):
        client.send(MESSAGES, STREAMED)
        assert gate.reached_in_thread(5)
        assert client.read_some() == "silence"
        gate.open()
        client.set_timeout(5)
        assert client.read_all()[1] == "complete"


@pytest.mark.parametrize("body", [PROMPT, STREAMED], ids=["whole", "streamed"])
def test_a_gate_between_blocks_holds_the_rest_back(body: dict[str, Any]) -> None:
    gate = Gate()
    held = Reply(say("one"), gate, say("two"))
    with StrictServer(held) as server, RawClient(server.url, timeout_s=SILENCE_S) as client:
        client.send(MESSAGES, body)
        assert gate.reached_in_thread(5)
        before, end = client.read_all()
        assert (end, b"two" in before) == ("silence", False)
        gate.open()
        client.set_timeout(5)
        assert b"two" in client.read_all()[0]


async def test_a_gate_on_the_wire_is_opened_by_a_coroutine() -> None:
    gate = Gate()
    with StrictServer(Reply(say("one"), gate, say("two"))) as server:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, ask, server.url, MESSAGES, STREAMED)
            with anyio.fail_after(5):
                await gate.reached()
            gate.open()
        server.assert_clean()


def test_delays_come_before_the_head_and_before_each_event() -> None:
    started = time.monotonic()
    served(OnWire(REPLY, delay_s=0.05))
    assert time.monotonic() - started >= 0.05
    started = time.monotonic()
    body, _ = served(OnWire(REPLY, event_delay_s=0.01))
    assert time.monotonic() - started >= 0.01 * len(data_of(body))


def test_the_content_type_can_be_wrong() -> None:
    with StrictServer(OnWire(REPLY, content_type="text/html")) as server, RawClient(server.url) as client:
        client.send(MESSAGES, STREAMED)
        assert b"content-type: text/html\r\n" in client.read_all()[0]


def test_a_broken_reply_without_streaming_ends_inside_its_body() -> None:
    with StrictServer(Cut(REPLY)) as server:
        _, body, end = ask(server.url, MESSAGES, PROMPT)
    assert end == "closed"
    assert body.startswith(b"{")
    assert not body.endswith(b"}")


def test_bytes_sent_stop_growing_when_the_client_stops_reading() -> None:
    long = Reply(say("x" * 4_000_000), piece_characters=1000)
    with (
        StrictServer(long, send_buffer_bytes=4096) as server,
        RawClient(server.url, receive_buffer_bytes=4096) as client,
    ):
        client.send(MESSAGES, STREAMED)
        assert client.read_some(1)
        held = when_still(server)
        assert 0 < held < 400_000
        assert reads_until(client, server, held)
        assert when_still(server) < 400_000


def when_still(server: StrictServer) -> int:
    """The count of bytes once it has stood still for a while."""
    before, looks = -1, 0
    while looks < 3:
        looks = looks + 1 if server.bytes_sent[0] == before else 0
        before = server.bytes_sent[0]
        server.wait(0.03)
    return before


def reads_until(client: RawClient, server: StrictServer, count: int) -> bool:
    """Read on until more than that was sent."""
    deadline = time.monotonic() + 10
    while server.bytes_sent[0] <= count and time.monotonic() < deadline:
        assert client.read_some()
    return server.bytes_sent[0] > count


def test_the_server_stops_at_once_while_a_client_does_not_read() -> None:
    long = Reply(say("x" * 4_000_000), piece_characters=1000)
    server = StrictServer(long, send_buffer_bytes=4096)
    with server, RawClient(server.url, receive_buffer_bytes=4096) as client:
        client.send(MESSAGES, STREAMED)
        settled_at = time.monotonic()
        server.stop()
        assert time.monotonic() - settled_at < 1
        assert server.open_connections == 0


@pytest.mark.parametrize("where", ["head", "block"])
def test_the_server_stops_at_once_before_a_closed_gate(where: str) -> None:
    gate = Gate()
    turn: WireTurn = OnWire(REPLY, before_head=gate) if where == "head" else Reply(say("one"), gate)
    server = StrictServer(turn)
    with server, RawClient(server.url) as client:
        client.send(MESSAGES, STREAMED)
        assert gate.reached_in_thread(5)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 1
