"""Text that others wrote, made fit to be read and decided on: every character that would not show as itself is written out.

The one place that says which characters hide and how they are written: `\\u{200b}`. Whoever shows a name, a command, a reason or an
error takes it from here.
"""

import unicodedata
from typing import Final

_LAID_OUT: Final = frozenset("\t\n")
_SHOWS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Marks, letters and symbols by their category, but nothing is seen of them."""

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def is_hidden(character: str) -> bool:
    """Whether a person would not see this character for what it is: controls, odd blanks, bidi marks, zero widths, selectors."""
    if " " <= character <= "~" or character in _LAID_OUT:
        return False
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return is_selector or character in _SHOWS_NOTHING or unicodedata.category(character) in _HIDDEN_CATEGORIES


def written_out(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def visible(text: str) -> str:
    """Line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(written_out(one) if is_hidden(one) else one for one in text)


def visible_line(text: str) -> str:
    """On one line: line ends and tabs are written out too."""
    return visible(text.replace("\n", "\\n").replace("\t", "\\t"))


def visible_ascii(text: str) -> str:
    """On one line, and nothing but printable ASCII: for output that may be read anywhere."""
    return "".join(one if " " <= one <= "~" else written_out(one) for one in text)


def one_line(text: str, max_characters: int) -> str:
    """The text on one line, with every hidden character written out, cut at `max_characters`."""
    line = visible(text.replace("\r\n", "\n").replace("\n", "⏎").replace("\t", " "))
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"
