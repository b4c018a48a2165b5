"""Server-sent events: the same events for every legal framing and every cut, within a bound, in linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import ModelError
from ostinato.providers.sse import ServerSentEvent, SseReader


def read(stream: bytes, size: int = 1 << 30, *, max_event_bytes: int = 10_000) -> list[tuple[bytes, bytes]]:
    reader = SseReader(max_event_bytes=max_event_bytes)
    events: list[ServerSentEvent] = []
    for start in range(0, len(stream), size):
        events += reader.feed(stream[start : start + size])
    events += reader.flush()
    return [(event.name, event.data) for event in events]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [(b"", b"a")]),
        (b"data:a\n\n", [(b"", b"a")]),
        (b"data:  a\n\n", [(b"", b" a")]),
        (b"event: x\ndata: a\n\n", [(b"x", b"a")]),
        (b"data: a\nevent:x\n\n", [(b"x", b"a")]),
        (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
        (b"data\n\n", [(b"", b"")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"", b"a"), (b"", b"b")]),
        (b"event: x\r\ndata: a\r\ndata: b\r\n\r\n", [(b"x", b"a\nb")]),
        (b"event: x\rdata: a\rdata: b\r\r", [(b"x", b"a\nb")]),
        (b"data: a\r\rdata: b\r\r", [(b"", b"a"), (b"", b"b")]),
        (b"data: a\r\n\ndata: b\n\r\n", [(b"", b"a"), (b"", b"b")]),
        (b": beat\n\ndata: a\n: beat\n\n", [(b"", b"a")]),
        (b"event: x\n\ndata: a\n\n", [(b"", b"a")]),
        (b"id: 1\nretry: 5\ndata: a\nunknown: z\n\n", [(b"", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
        (b"data: a", [(b"", b"a")]),
        (b"data: a\n", [(b"", b"a")]),
        (b"data: a\x0bb\x1cc\xc2\x85d\n\n", [(b"", b"a\x0bb\x1cc\xc2\x85d")]),
        (b"data: q\n\ndata: a\ndata:b\n\n", [(b"", b"q"), (b"", b"a\nb")]),
        (b"event: x\ndata: q\n\nevent: y\ndata: a\n\n", [(b"x", b"q"), (b"y", b"a")]),
        (b"dataset: a\n\n", []),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_the_whole_grammar_is_read_at_every_cut(stream: bytes, events: list[tuple[bytes, bytes]]):
    for size in range(1, len(stream) + 2):
        assert read(stream, size) == events


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), min_size=1
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.integers(1, 50),
)
def test_what_was_framed_comes_out(texts: list[str], line_end: bytes, size: int):
    stream = b"".join(b"data: " + text.encode() + line_end * 2 for text in texts)
    assert read(stream, size) == [(b"", text.encode()) for text in texts]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 200, b"data: xxxxxxxxxxxxxxxxxxxx\n" * 10, b": " + b"x" * 200]
)
def test_an_event_over_the_cap_is_refused_before_it_is_whole(stream: bytes):
    for size in (1, 7, 1000):
        with pytest.raises(ModelError) as caught:
            read(stream, size, max_event_bytes=100)
        assert caught.value.kind == "malformed_response"


def test_many_small_events_never_reach_the_cap():
    reader = SseReader(max_event_bytes=100)
    assert len(reader.feed(b"data: xxxxxxxxxxxxxxxxxxxx\n\n" * 100)) == 100


def test_a_long_line_in_small_pieces_takes_linear_time():
    def seconds(pieces: int) -> float:
        reader = SseReader()
        start = time.process_time()
        for _ in range(pieces):
            reader.feed(b"x" * 16)
        return time.process_time() - start

    seconds(1000)
    small, large = min(seconds(5_000) for _ in range(3)), min(seconds(40_000) for _ in range(3))
    assert large < 8 * small * 4  # quadratic time would be 64 times as long
