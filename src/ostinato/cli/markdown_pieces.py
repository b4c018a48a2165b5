"""Markdown as it streams, cut into pieces that can be shown for good: what is cut off can no longer change by what follows.

Blocks are cut where the next one begins, lists between their outer items, code after every few lines. Putting the pieces
together gives the text again, but for empty lines between blocks.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

MIN_CODE_LINES: Final = 8
"""So many lines of an open code block are shown together."""

MAX_CONTEXT_LINES: Final = 60
"""Of a code block's earlier lines, so many tell a highlighter where it is."""

_CHEAP_CHARACTERS: Final = 2_000
"""An open block up to this size is looked at after every line; a larger one only when it grew by a quarter."""

MAX_NESTING: Final = 60
"""Levels of lists and quotations that are laid out; a list takes two. What is deeper is shown as it was written."""

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)")


class Piece(msgspec.Struct, frozen=True):
    """Some whole lines of Markdown, or, with `language` set, lines of code out of one block.

    `has_gap`: an empty line belongs before it. `number` is an outer list item's, if it has one. `before` are the last
    lines of the same code block that came earlier.
    """

    source: str
    has_gap: bool = True
    language: str | None = None
    before: str = ""
    number: int | None = None


class MarkdownPieces:
    """One text of a reply. What was fed and is not yet given out is the `tail`."""

    def __init__(self) -> None:
        self._markdown = markdown_parser()
        self._line = ""
        self._open = ""
        self._look_at_characters = 0
        self._fence: _Fence | None = None
        self._list = _ListPlace()

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are complete with this text."""
        pieces: list[Piece] = []
        self._line += text
        if "\n" in text:
            *lines, self._line = self._line.split("\n")
            for line in lines:
                pieces += self._take(f"{line}\n")
        return pieces

    def end(self) -> list[Piece]:
        """What is left, when the text is over."""
        pieces = self._take(self._line) if self._line else []
        self._line = ""
        if self._fence is not None:
            pieces += self._fence.rest()
            self._fence = None
            return pieces
        return pieces + self._cut(self._open, at_end=True)

    @property
    def tail(self) -> Piece | None:
        """What is not given out yet, to be shown for the moment."""
        if self._fence is not None:
            return self._fence.piece(self._fence.lines + self._line)
        source = self._open + self._line
        return (
            Piece(source, has_gap=not self._list.goes_on, number=self._list.next_number)
            if source.strip()
            else None
        )

    def _take(self, line: str) -> list[Piece]:
        if self._fence is not None:
            if not self._fence.is_closed_by(line):
                return self._fence.take(line)
            pieces = self._fence.rest()
            self._fence = None
            return pieces
        self._open += line
        fence = _FENCE.match(line)
        if fence is None and len(self._open) < self._look_at_characters:
            return []
        pieces = self._cut(self._open)
        if fence is not None and self._opens_fence():
            pieces += self._cut(self._open.removesuffix(line), at_end=True)
            self._open, self._fence = "", _Fence(fence[1], fence[2].strip())
        size = len(self._open)
        self._look_at_characters = 0 if size < _CHEAP_CHARACTERS else size + size // 4
        return pieces

    def _opens_fence(self) -> bool:
        """Whether the last line begins a code block of its own, and not one inside a list or a quotation."""
        tokens = self._markdown.parse(self._open)
        if is_too_deep(tokens):
            return False
        blocks = _top_blocks(tokens)
        lines = self._open.count("\n")
        return bool(blocks) and blocks[-1].type == "fence" and blocks[-1].map == [lines - 1, lines]

    def _cut(self, source: str, *, at_end: bool = False) -> list[Piece]:
        """Cut off what is complete; `_open` keeps the rest."""
        cuts = self._cuts(source)
        if not cuts:
            return []
        lines = _lines(source)
        ends = [cut.line for cut in cuts[1:]] + [len(lines)]
        last = len(cuts) if at_end else len(cuts) - 1
        pieces: list[Piece] = []
        for cut, end in list(zip(cuts, ends, strict=True))[:last]:
            text = "".join(lines[cut.line : end])
            pieces.append(self._list.piece(text.strip("\n") if cut.is_item else _unframed(text), cut))
        self._open = "" if at_end else "".join(lines[cuts[-1].line :])
        self._list.goes_on = cuts[-1].is_later and not at_end
        self._list.is_apart = cuts[-1].is_apart
        return pieces

    def _cuts(self, source: str) -> "list[_Cut]":
        lines = _lines(source)
        tokens = self._markdown.parse(source)
        if is_too_deep(tokens):  # where its blocks end is not known: the rest of the text is one
            return [_Cut(0)]
        cuts: list[_Cut] = []
        for token in _top_blocks(tokens):
            start = token.map[0] if token.map else 0
            items = _items(tokens, token) if token.type.endswith("_list_open") else []
            if not items:
                cuts.append(_Cut(start))
            for place, item in enumerate(items):
                line = item.map[0] if item.map else start
                is_apart = line > 0 and not lines[line - 1].strip()
                goes_on = place > 0 or (not cuts and self._list.goes_on)
                if place == 0 and goes_on:
                    is_apart = self._list.is_apart
                cuts.append(
                    _Cut(line, True, goes_on, is_apart, int(item.info) if item.info.isdecimal() else None)
                )
        if cuts:
            cuts[0] = msgspec.structs.replace(cuts[0], line=0)
        return cuts


class _Cut(msgspec.Struct, frozen=True):
    """Where a block or an outer list item begins. `is_later`: not the first of its list; `is_apart`: an empty line before."""

    line: int
    is_item: bool = False
    is_later: bool = False
    is_apart: bool = True
    number: int | None = None


class _ListPlace:
    """Where in an outer list the text stands. Numbers grow even where the writer left them all at 1."""

    def __init__(self) -> None:
        self.goes_on = False
        self.is_apart = True
        self._number: int | None = None

    @property
    def next_number(self) -> int | None:
        return self._number + 1 if self.goes_on and self._number is not None else None

    def piece(self, source: str, cut: _Cut) -> Piece:
        number = cut.number
        if cut.is_later and number is not None and self._number is not None and number <= self._number:
            number = self._number + 1
        self._number = number
        return Piece(source, has_gap=cut.is_apart or not cut.is_later, number=number)


class _Fence:
    """An open code block."""

    def __init__(self, mark: str, information: str) -> None:
        self._mark = mark
        self._language = information.split()[0] if information else ""
        self._shown = ""
        self._has_begun = False
        self.lines = ""

    def is_closed_by(self, line: str) -> bool:
        text = line.strip()
        return len(text) >= len(self._mark) and not text.strip(self._mark[0]) and not line.startswith("    ")

    def take(self, line: str) -> list[Piece]:
        self.lines += line
        return self.rest() if self.lines.count("\n") >= MIN_CODE_LINES else []

    def rest(self) -> list[Piece]:
        if not self.lines and self._has_begun:
            return []
        piece = self.piece(self.lines)
        context = self._shown + self.lines
        self._shown, self.lines, self._has_begun = "".join(_lines(context)[-MAX_CONTEXT_LINES:]), "", True
        return [piece]

    def piece(self, source: str) -> Piece:
        return Piece(source, has_gap=not self._has_begun, language=self._language, before=self._shown)


def markdown_parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough. HTML and reference definitions are text, so that nothing said is left out."""
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    return markdown.enable(["table", "strikethrough"]).disable("reference")


def is_too_deep(tokens: Sequence[Token]) -> bool:
    """Whether the parser gave up: below its deepest level it leaves out what it would have to read."""
    return any(token.nesting > 0 and token.level >= MAX_NESTING - 1 for token in tokens)


def _top_blocks(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]


def _items(tokens: list[Token], outer: Token) -> list[Token]:
    """The items of one outer list."""
    start = tokens.index(outer) + 1
    items: list[Token] = []
    for token in tokens[start:]:
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1:
            items.append(token)
    return items


def _lines(text: str) -> list[str]:
    """With their ends. Only a line feed ends a line here, as for the parser."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _unframed(text: str) -> str:
    """Without the empty lines around it; the first line's indent stays, for it may mean code."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)
