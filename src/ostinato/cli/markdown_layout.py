"""Markdown laid out for a terminal of some width: headings, lists, quotations, tables, code; text of others never acts.

Styles come from the terminal's own sixteen colours. Without colour the marks that carry meaning stay as they were written.
"""

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Final

from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from ostinato.cli.markdown_inline import inline_text
from ostinato.cli.markdown_pieces import Piece, is_too_deep, markdown_parser
from ostinato.cli.terminal_text import terminal_text

MIN_COLUMNS: Final = 12
"""Narrower than this nothing is laid out: deep lists on a small terminal run over instead."""

MAX_HIGHLIGHTED_LINE: Final = 2_000
"""A longer line of code is shown as it is."""

_MIN_CELL_COLUMNS: Final = 8
"""A table whose cells would be narrower is shown as a list of its rows."""

_RULE_COLUMNS: Final = 40
_CODE_INDENT: Final = "  "
_QUOTE: Final = "│ "
_BULLETS: Final = "•◦▪"


class MarkdownLayout:
    """For one terminal. Everything it returns ends with a line end and holds no escape sequence but our colours."""

    def __init__(self, *, has_colour: bool) -> None:
        self._has_colour = has_colour
        self._markdown = markdown_parser()
        self._console = Console(
            file=StringIO(),
            force_terminal=has_colour,
            color_system="standard" if has_colour else None,
            no_color=not has_colour,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            width=80,
            height=25,
            _environ={},
        )

    def text(self, piece: Piece, columns: int) -> str:
        """The piece as lines; the empty line that may belong before it is the caller's to write."""
        return "".join(f"{self._written(line)}\n" for line in self._lines(piece, columns))

    def last_lines(self, piece: Piece, columns: int, max_lines: int) -> list[str]:
        """The end of the same, without line ends, none wider than `columns`: for what is drawn over again."""
        lines = self._lines(piece, columns)[-max_lines:]
        for line in lines:
            line.expand_tabs(8)
            line.truncate(columns)
        return [self._written(line) for line in lines]

    def _lines(self, piece: Piece, columns: int) -> list[Text]:
        if piece.language is not None:
            return self._code(piece.source, piece.language, piece.before)
        tokens = self._markdown.parse(piece.source)
        if is_too_deep(tokens):
            return [Text(line) for line in terminal_text(piece.source.removesuffix("\n")).split("\n")]
        return list(self._blocks(tokens, max(columns, MIN_COLUMNS), number=piece.number))

    def _written(self, line: Text) -> str:
        line.rstrip()
        with self._console.capture() as capture:
            self._console.print(line, soft_wrap=True, end="")
        return capture.get()

    def _blocks(
        self, tokens: Sequence[Token], columns: int, *, depth: int = 0, number: int | None = None
    ) -> Iterator[Text]:
        """The blocks of one level, with an empty line between them."""
        is_after_loose = False
        for block in _split(tokens):
            if is_after_loose:
                yield Text()
            is_after_loose = not block[0].hidden
            yield from self._block(block, columns, depth, number)

    def _block(self, block: Sequence[Token], columns: int, depth: int, number: int | None) -> Iterator[Text]:
        opening, inside = block[0], block[1:-1]
        match opening.type:
            case "heading_open":
                yield from self._heading(opening, inside, columns)
            case "paragraph_open":
                yield from self._inline(inside, columns)
            case "bullet_list_open" | "ordered_list_open":
                yield from self._list(inside, columns, depth, number)
            case "blockquote_open":
                for line in self._blocks(inside, max(columns - 2, MIN_COLUMNS), depth=depth):
                    yield Text.assemble((_QUOTE, self._style("dim")), line)
            case "table_open":
                yield from self._table(inside, columns)
            case "fence" | "code_block":
                language = opening.info.split()[0] if opening.info.strip() else ""
                yield from self._code(opening.content, language)
            case "hr":
                yield Text("─" * min(columns, _RULE_COLUMNS), self._style("dim"))
            case _:
                yield Text(terminal_text(opening.content))

    def _heading(self, opening: Token, inside: Sequence[Token], columns: int) -> Iterator[Text]:
        text = self._joined(inside)
        if not self._has_colour:
            text = Text(f"{opening.markup if opening.markup.startswith('#') else '#'} ").append_text(text)
        text.stylize(self._style("bold underline" if opening.tag == "h1" else "bold"))
        yield from self._wrapped(text, columns)

    def _inline(self, inside: Sequence[Token], columns: int) -> Iterator[Text]:
        yield from self._wrapped(self._joined(inside), columns)

    def _joined(self, inside: Sequence[Token]) -> Text:
        text = Text()
        for token in inside:
            if token.type == "inline":
                text.append_text(inline_text(token, has_colour=self._has_colour))
        return text

    def _wrapped(self, text: Text, columns: int) -> Iterator[Text]:
        for line in text.split("\n", allow_blank=True):
            yield from line.wrap(self._console, columns, no_wrap=False) if line else [Text()]

    def _list(self, inside: Sequence[Token], columns: int, depth: int, number: int | None) -> Iterator[Text]:
        for place, item in enumerate(_split(inside)):
            if place and _is_loose(item):
                yield Text()
            marker = self._marker(item[0], depth, place, number)
            indent = " " * cell_len(marker)
            lines = self._blocks(item[1:-1], max(columns - len(indent), MIN_COLUMNS), depth=depth + 1)
            start = (marker, self._style("cyan"))
            for line in lines:
                yield Text.assemble(start, line)
                start = (indent, self._style(""))
            if start[0] is marker:
                yield Text(marker)

    def _marker(self, item: Token, depth: int, place: int, number: int | None) -> str:
        if not item.info.isdecimal():
            return f"{_BULLETS[depth % len(_BULLETS)]} "
        first = number if number is not None and depth == 0 else int(item.info)
        return f"{first + place if number is not None and depth == 0 else first}{item.markup} "

    def _table(self, inside: Sequence[Token], columns: int) -> Iterator[Text]:
        rows = list(self._rows(inside))
        width = max(len(row) for row in rows)
        if columns < width * (_MIN_CELL_COLUMNS + 3):
            yield from self._rows_as_list(rows, columns)
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style=self._style("bold"), show_edge=False)
        for cell in rows[0]:
            table.add_column(cell, overflow="fold")
        for row in rows[1:]:
            table.add_row(*row)
        self._console.width = columns
        for line in self._console.render_lines(table, pad=False):
            yield Text.assemble(*((segment.text, segment.style or "") for segment in line))

    def _rows_as_list(self, rows: Sequence[Sequence[Text]], columns: int) -> Iterator[Text]:
        for place, row in enumerate(rows[1:] or rows[:1]):
            if place:
                yield Text("─" * min(columns, _RULE_COLUMNS), self._style("dim"))
            for name, cell in zip(rows[0], row, strict=False):
                label = Text.assemble(name, ": ") if len(rows) > 1 else Text()
                label.stylize(self._style("bold"))
                yield from self._wrapped(label.append_text(cell), columns)

    def _rows(self, inside: Sequence[Token]) -> Iterator[list[Text]]:
        row: list[Text] = []
        for token in inside:
            if token.type == "tr_open":
                row = []
            elif token.type == "inline":
                row.append(inline_text(token, has_colour=self._has_colour))
            elif token.type == "tr_close":
                yield row

    def _code(self, source: str, language: str, before: str = "") -> list[Text]:
        source = terminal_text(source.removesuffix("\n"))
        if not self._has_colour or not language or _has_long_line(source):
            lines = [Text(line) for line in source.split("\n")]
        else:
            skipped = before.count("\n")
            lines = _highlighted(terminal_text(before) + source, language)[skipped:]
        return [Text(_CODE_INDENT).append_text(line) for line in lines]

    def _style(self, name: str) -> Style:
        return Style.parse(name) if self._has_colour else Style.null()


def _highlighted(source: str, language: str) -> list[Text]:
    """Line by line; a language that nobody knows is shown as it is."""
    text = Syntax("", language, theme="ansi_dark", background_color="default").highlight(source)
    lines = list(text.split("\n", allow_blank=True))
    wanted = source.count("\n") + 1
    return lines[:wanted] + [Text()] * (wanted - len(lines))


def _has_long_line(source: str) -> bool:
    return any(len(line) > MAX_HIGHLIGHTED_LINE for line in source.split("\n"))


def _split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """One slice for each block of this level, from its opening token to its closing one."""
    start, depth = 0, 0
    for place, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : place + 1]
            start = place + 1


def _is_loose(item: Sequence[Token]) -> bool:
    """A list item with an empty line before or in it: the parser hides the paragraphs of the others."""
    return any(
        token.type == "paragraph_open" and not token.hidden and token.level == item[0].level + 1
        for token in item
    )
