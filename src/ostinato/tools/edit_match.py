"""Where in a file an edit applies: literal and unique; and if nowhere, the most useful reason why.

White space is forgiven only when asked for, and only for whole lines that match in one place. The text with `\\n` line
ends, whose lines are compared for that and for the reason, is made for these alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from ostinato.tools.line_ends import Span, TextWithEnds, line_spans
from ostinato.tools.text_search import plain_spans, spans_of

if TYPE_CHECKING:
    import difflib

MAX_NAMED_LINES: Final = 10
"""So many line numbers are named; further ones are counted."""

MAX_PLACES: Final = 100
"""So many are counted: a file of one letter has its text in millions of places, and nobody needs to know in how many."""

MAX_COMPARED_LINES: Final = 5000
"""Similar lines are looked for among the first so many different lines."""

MIN_SIMILAR: Final = 0.6
"""Python's own measure, from 0 to 1."""

MAX_COMPARED_PAIRS: Final = 2_000_000
"""Pairs of characters, in lines that have much the same letters (digits, bases of a genome): well under a second."""

MAX_SHOWN_LINE: Final = 200

NUMBER_PREFIX: Final = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
"""What a model copies along from Read's answer."""

PLAIN_QUOTES: Final = str.maketrans({
    0x2018: "'",
    0x2019: "'",
    0x201A: "'",
    0x201C: '"',
    0x201D: '"',
    0x201E: '"',
})
"""Models write plain quotes for typographic ones, and the other way round."""

MAX_QUOTES_COMPARED: Final = 2_000_000
"""Characters; a tenth of a second."""

INDENT: Final = re.compile(r"[ \t]*")


class Matched(msgspec.Struct, frozen=True):
    """The spans of the original to replace, apart and in order, and what to put there (indentation shifted if white space was forgiven)."""

    spans: tuple[Span, ...]
    new: str
    is_forgiven: bool = False


class NotMatched(msgspec.Struct, frozen=True):
    """Why the edit applies nowhere, or in too many places."""

    reason: str


def match_edit(
    text: TextWithEnds, old: str, new: str, *, replace_all: bool, forgiving: bool
) -> Matched | NotMatched:
    """Find `old`, which has `\\n` line ends. `replace_all` allows several places, from left to right without overlap."""
    spans = spans_of(text, old, are_apart=replace_all, most=None if replace_all else MAX_PLACES + 1)
    if len(spans) == 1 or (spans and replace_all):
        return Matched(tuple(spans), new)
    if spans:
        return NotMatched(_too_many(text.aligned, spans))
    similar = _same_but_for_white_space(text.normal, old)
    if forgiving and len(similar) == 1:
        span, shifted = _forgiven(text.normal, old, new, similar[0])
        return Matched(tuple(text.original_spans([span])), shifted, is_forgiven=True)
    return NotMatched(_not_found(text.normal, old, similar))


def _lines_of(old: str) -> list[str]:
    """The lines of `old`; a final line end does not begin another."""
    return old.removesuffix("\n").split("\n")


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _same_but_for_white_space(normal: str, old: str) -> list[int]:
    """Indexes of the lines where whole lines begin that equal those of `old` but for white space; no more than counted."""
    wanted = [_squeezed(line) for line in _lines_of(old)]
    if not any(wanted):
        return []
    # One text with a line end before and behind each line: searching that takes the same time however much the lines repeat.
    squeezed = "\n".join(("", *map(_squeezed, normal.split("\n")), ""))
    sought = "\n".join(("", *wanted, ""))
    starts = (start for start, _ in plain_spans(squeezed, sought, are_apart=False))
    return list(_counted(squeezed, islice(starts, MAX_PLACES + 1)))


def _counted(text: str, places: Iterable[int]) -> Iterator[int]:
    """How many lines end before each of the places, which are in order."""
    done = count = 0
    for place in places:
        count += text.count("\n", done, place)
        done = place
        yield count


def _forgiven(normal: str, old: str, new: str, first: int) -> tuple[Span, str]:
    """The span of `normal` to replace, and `new` with the indentation that it has there."""
    old_lines, spans = _lines_of(old), line_spans(normal)
    covered = spans[first : first + len(old_lines)]
    indents = _indents(old_lines, [normal[start:end] for start, end in covered])
    end = covered[-1][1]
    if old.endswith("\n") and end < len(normal):
        end += 1
    shifted = "\n".join(_shifted(line, indents) for line in new.split("\n"))
    return (covered[0][0], end), shifted


def _indents(old_lines: Sequence[str], file_lines: Sequence[str]) -> dict[str, str]:
    """Which indentation of the file answers each one of the edit; the first pair of lines wins."""
    indents: dict[str, str] = {}
    for old, actual in zip(old_lines, file_lines, strict=True):
        if old.strip():
            indents.setdefault(_indent(old), _indent(actual))
    return indents


def _indent(line: str) -> str:
    found = INDENT.match(line)
    return found[0] if found else ""


def _shifted(line: str, indents: dict[str, str]) -> str:
    """The line with the file's indentation: the longest known indentation that it begins with is exchanged."""
    indent = _indent(line)
    if not line.strip():
        return line
    known = max((known for known in indents if indent.startswith(known)), key=len, default=None)
    return line if known is None else indents[known] + line[len(known) :]


def _too_many(aligned: str, spans: Sequence[Span]) -> str:
    lines = [before + 1 for before in _counted(aligned, (start for start, _ in spans))]
    count = f"{len(lines)}" if len(lines) <= MAX_PLACES else f"more than {MAX_PLACES}"
    return (
        f"`old_string` appears {count} times, at lines {_named(lines)}; "
        "add lines around it until it is unique, or set replace_all"
    )


def _named(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:MAX_NAMED_LINES])
    more = len(lines) - MAX_NAMED_LINES
    if more <= 0:
        return shown
    return f"{shown} and {more} more" if len(lines) <= MAX_PLACES else f"{shown} and many more"


def _not_found(normal: str, old: str, similar: Sequence[int]) -> str:
    lines = normal.split("\n")
    if similar:
        numbers = _named([i + 1 for i in similar])
        shown = _numbered(lines, range(similar[0], similar[0] + len(_lines_of(old))))
        return f"`old_string` was not found; it differs only in white space at line {numbers}. The file has:\n{shown}"
    bare = NUMBER_PREFIX.sub("", old)
    if bare != old and bare in normal:
        return "`old_string` was not found; leave out the line numbers that Read shows before each line"
    is_short = len(normal) <= MAX_QUOTES_COMPARED
    place = normal.translate(PLAIN_QUOTES).find(old.translate(PLAIN_QUOTES)) if is_short else -1
    if place >= 0:
        first = normal.count("\n", 0, place)
        shown = _numbered(lines, range(first, first + len(_lines_of(old))))
        return f"`old_string` was not found; it differs only in its quotes (curly or plain). The file has:\n{shown}"
    close = _similar_lines(lines, old)
    if not close:
        return "`old_string` was not found, nor anything like it; Read the file again"
    return f"`old_string` was not found. The most similar lines are:\n{_numbered(lines, close)}"


def _similar_lines(lines: Sequence[str], old: str) -> list[int]:
    """Indexes of up to three lines that resemble the most telling (longest) line of `old`."""
    import difflib  # ruff: ignore[import-outside-top-level] - only a text that is not there needs it

    wanted = max((line.strip() for line in old.split("\n")), key=len)[: 2 * MAX_SHOWN_LINE]
    index_of: dict[str, int] = {}
    for i, line in enumerate(lines):
        if line.strip() and len(index_of) < MAX_COMPARED_LINES:
            index_of.setdefault(line.strip()[: 2 * MAX_SHOWN_LINE], i)
    found = nlargest(3, _likenesses(difflib.SequenceMatcher(b=wanted), list(index_of), len(wanted)))
    return sorted(index_of[line] for _, line in found)


def _likenesses(
    matcher: "difflib.SequenceMatcher[str]", lines: Sequence[str], length: int
) -> Iterator[tuple[float, str]]:
    """How like each line is to the other text of the matcher, which has that length, where it is at all."""
    pairs = 0
    for line in lines:
        matcher.set_seq1(line)
        if matcher.real_quick_ratio() >= MIN_SIMILAR and matcher.quick_ratio() >= MIN_SIMILAR:
            pairs += len(line) * length
            if pairs > MAX_COMPARED_PAIRS:
                return
            if (likeness := matcher.ratio()) >= MIN_SIMILAR:
                yield likeness, line


def _numbered(lines: Sequence[str], indexes: Sequence[int]) -> str:
    shown = list(indexes)[:MAX_NAMED_LINES]
    return "\n".join(f"{i + 1}\t{lines[i][:MAX_SHOWN_LINE]}" for i in shown)
