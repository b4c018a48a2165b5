"""However a file comes in pieces, the same lines are shown."""

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.tools.file_lines import FileLines
from ostinato.tools.line_ends import text_with_ends
from ostinato.tools.text_encoding import encoding_of

TEXTS = st.text(st.sampled_from("ab\n\n\r\té\u2028漢😀\x0c"), max_size=60)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])


def in_pieces(data: bytes, sizes: list[int], lines: FileLines) -> FileLines:
    at = 0
    # The first piece is never tiny in practice; a mark must be whole in it.
    for size in [max(4, sizes[0] if sizes else 4), *sizes[1:]]:
        if data[at : at + size]:
            lines.feed(data[at : at + size])
        at += size
    if data[at:]:
        lines.feed(data[at:])
    lines.finish()
    return lines


@settings(deadline=None)
@given(TEXTS.map("\n".__add__), ENCODINGS, st.lists(st.integers(1, 9), max_size=30))
def test_pieces_do_not_matter(text: str, encoding: str, sizes: list[int]):
    data = text.encode(encoding)
    lines = in_pieces(data, sizes, FileLines(1, 1000, 10_000))
    expected = text_with_ends(encoding_of(data).decode(data)).normal
    assert "\n".join(lines.shown_lines) == expected.removesuffix("\n")
    assert lines.total_lines == len(expected.removesuffix("\n").split("\n"))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["", "a", "bcd"]), min_size=1),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(1, 7),
)
def test_any_range_is_the_slice_of_the_lines(all_lines: list[str], first: int, limit: int, size: int):
    data = "".join(f"{line}\n" for line in all_lines).encode()
    lines = FileLines(first, limit, 10_000)
    for at in range(0, len(data), size):
        lines.feed(data[at : at + size])
    lines.finish()
    assert lines.shown_lines == all_lines[first - 1 : first - 1 + limit]
    assert lines.total_lines == len(all_lines)


def test_lines_that_end_with_a_carriage_return_alone_are_lines():
    lines = FileLines(2, 1, 100)
    lines.feed(b"a\rb\rc")
    lines.finish()
    assert (lines.shown_lines, lines.total_lines) == (["b"], 3)


def test_a_line_end_that_falls_between_two_pieces_is_one():
    lines = FileLines(1, 10, 100)
    for piece in (b"a\nb\r", b"\nc\r", b"d"):
        lines.feed(piece)
    lines.finish()
    assert lines.shown_lines == ["a", "b", "c\rd"]


def test_a_line_of_any_length_takes_bounded_memory():
    lines = FileLines(1, 10, 100_000)
    piece = b"x" * 1_000_000
    tracemalloc.start()
    try:
        for _ in range(50):
            lines.feed(piece)
        lines.finish()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10_000_000
    (line,) = lines.shown_lines
    assert line == "x" * 2000 + "[... line of 50000000 bytes cut]"
