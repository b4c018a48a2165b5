"""A paste is read once, in whatever parts it comes."""

import time

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input.vt100_parser import Vt100Parser

from ostinato.cli.paste_reader import PasteParser

BEGIN, END = "\x1b[200~", "\x1b[201~"
TYPED = st.lists(
    st.sampled_from([BEGIN, END, "a", "\x1b", "[201", "~", "中\n", "\x1b[A", "\r"]), max_size=30
).map("".join)


def keys(parser_type: type[Vt100Parser], parts: list[str]) -> list[tuple[str, str]]:
    pressed: list[tuple[str, str]] = []
    parser = parser_type(lambda key: pressed.append((str(key.key), key.data)))
    for part in parts:
        parser.feed(part)
    return pressed


@given(TYPED, st.lists(st.integers(1, 9), max_size=40))
def test_the_same_keys_come_as_from_the_library_s_own_reader_however_it_is_cut(typed: str, sizes: list[int]):
    parts: list[str] = []
    rest = typed
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    parts.append(rest)
    assert keys(PasteParser, parts) == keys(Vt100Parser, parts)


def test_five_megabytes_in_small_parts_take_no_time():
    part = "中é\n" * 256
    started_s = time.monotonic()
    pressed = keys(PasteParser, [BEGIN, *[part] * 5_000, END])
    assert pressed[0][1] == part * 5_000
    assert time.monotonic() - started_s < 1, "it was quadratic: half a minute"
