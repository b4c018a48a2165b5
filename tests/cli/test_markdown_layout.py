"""Markdown on a terminal: what it looks like, and that no text of others acts on it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.cli.markdown_layout import MarkdownLayout
from ostinato.cli.markdown_pieces import MarkdownPieces, Piece
from ostinato.cli.terminal_text import TerminalText

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = st.sampled_from([
    "\x1b",
    "\x1b[2J",
    "\x1b]0;t\x07",
    "\x9b31m",
    "\r",
    "\x08",
    "&#27;",
    "&#13;",
    "&#x202e;",
    "\u202e",
    "\x00",
])
MARKS = st.sampled_from([
    "*",
    "**",
    "`",
    "```",
    "\n",
    "\n\n",
    "- ",
    "# ",
    "| ",
    "|-",
    "[a](",
    ")",
    "<",
    "> ",
    "1. ",
    "&lt;",
])
PLAIN = st.sampled_from([
    "a",
    " ",
    "word",
    "中",
    "e\u0301",
    "👨\u200d👩\u200d👧",
    "\u200b",
    "[/bold]",
    ":smile:",
    "\ud7ff",
])
TEXTS = st.lists(st.one_of(HOSTILE, MARKS, PLAIN), max_size=60).map("".join)


def shown(source: str, columns: int = 80, *, has_colour: bool = False, language: str | None = None) -> str:
    return MarkdownLayout(has_colour=has_colour).text(Piece(source, language=language), columns)


def streamed(text: str, columns: int, *, has_colour: bool) -> str:
    """As it reaches the screen when every character comes alone, with every tail on the way."""
    safe, cutter, layout = TerminalText(), MarkdownPieces(), MarkdownLayout(has_colour=has_colour)
    parts: list[str] = []
    for character in text:
        parts += [layout.text(piece, columns) for piece in cutter.feed(safe.feed(character))]
        if cutter.tail:
            parts.append(layout.text(cutter.tail, columns))
    return "".join((*parts, *(layout.text(piece, columns) for piece in cutter.end())))


@given(text=TEXTS, columns=st.integers(min_value=1, max_value=90))
def test_only_our_colours_reach_the_terminal(text: str, columns: int):
    rest = COLOUR.sub("", streamed(text, columns, has_colour=True))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", rest)


@given(text=TEXTS)
def test_without_colour_there_is_no_escape_sequence_at_all(text: str):
    assert "\x1b" not in streamed(text, 40, has_colour=False)


@pytest.mark.parametrize(
    ("source", "laid_out"),
    [
        ("a **b** *c* `d` ~~e~~", "a **b** *c* `d` ~~e~~\n"),
        ("## title", "## title\n"),
        ("- a\n- b\n  - c", "• a\n• b\n  ◦ c\n"),
        ("3. a\n4. b", "3. a\n4. b\n"),
        ("- a\n\n  b", "• a\n\n  b\n"),
        ("> a\n> b", "│ a\n│ b\n"),
        ("[word](http://x.y)", "word (http://x.y)\n"),
        ("<http://x.y>", "http://x.y\n"),
        ("![a](b.png)", "[image: a] (b.png)\n"),
        ("<b>x</b>", "<b>x</b>\n"),
        ("one\ntwo", "one\ntwo\n"),
        ("-", "•\n"),
        ("[bold] [/] :smile: a[0]", "[bold] [/] :smile: a[0]\n"),
    ],
)
def test_without_colour_marks_stay_readable(source: str, laid_out: str):
    assert shown(source) == laid_out


def test_colour_takes_the_place_of_marks():
    assert shown("**b** `c`", has_colour=True) == "\x1b[1mb\x1b[0m \x1b[36mc\x1b[0m\n"


def test_text_is_wrapped_between_words_and_by_the_columns_that_characters_take():
    assert shown("one two three", 12) == "one two\nthree\n"
    assert shown("中文" * 4, 12) == "中文中文中文\n中文\n"


def test_a_table_has_columns_where_they_fit_and_is_a_list_of_rows_where_not():
    table = "| name | what |\n|---|---|\n| a | b |\n| 中 | d |"
    assert shown(table, 60) == "name   what\n───────────\na      b\n中     d\n"
    assert shown(table, 20) == "name: a\nwhat: b\n" + "─" * 20 + "\nname: 中\nwhat: d\n"


def test_code_is_coloured_by_what_was_before_it():
    layout = MarkdownLayout(has_colour=True)
    inside = layout.text(Piece("return 1\n", language="python", before='"""\n'), 80)
    outside = layout.text(Piece("return 1\n", language="python", before="\n"), 80)
    assert COLOUR.sub("", inside) == COLOUR.sub("", outside) == "  return 1\n"
    assert inside != outside


@pytest.mark.parametrize("language", ["", "nobody-knows-this", "python", "../../x", "{.python}"])
def test_code_is_shown_as_written_whatever_its_language_is_called(language: str):
    source = "a  b\n\n\tc[0]\n" + "x" * 3_000
    lines = COLOUR.sub("", shown(source, 20, has_colour=True, language=language)).split("\n")
    assert [line.expandtabs(8).strip() for line in lines] == ["a  b", "", "c[0]", "x" * 3_000, ""]


DEEP = ["- ", "1. ", "> ", "> - "]


@pytest.mark.parametrize("mark", DEEP)
@pytest.mark.parametrize("depth", [1, 5, 9, 10, 11, 20, 29, 30, 31, 60, 61, 100])
def test_nothing_of_a_text_is_lost_however_deep_it_nests(mark: str, depth: int):
    is_quote = ">" in mark
    lines = [
        (mark * level if is_quote else " " * (len(mark) * level)) + f"{mark}level{level}."
        for level in range(depth)
    ]
    text = "\n".join([*lines, "", "END and the rest", "", "```", "code", "```", "", "LAST"])
    pieces = MarkdownPieces()
    out = "".join(
        shown(piece.source, language=piece.language) for piece in (*pieces.feed(text), *pieces.end())
    )
    flat = "".join(out.split())
    assert all(f"level{level}." in flat for level in range(depth))
    assert [word in flat for word in ("ENDandtherest", "code", "LAST")] == [True, True, True]
