"""The few things about Markdown that instruction files need: which lines are code, which are comments. Linear in time."""

import re
from collections.abc import Iterator
from typing import Final

FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)")
RUN: Final = re.compile(r"`+")
BLANK_LINES: Final = re.compile(r"\n[ \t]*\n")
COMMENT_START: Final = re.compile(r" {0,3}<!--")


def without_block_comments(text: str) -> str:
    """The text without HTML comments that begin a line; those in code stay, and so does one that is never closed."""
    if "<!--" not in text:
        return text
    kept: list[str] = []
    comment: list[str] = []
    for line, is_code in _lines(text):
        if comment or (not is_code and COMMENT_START.match(line)):
            comment.append(line)
            opening = line.find("<!--") + 4 if len(comment) == 1 else 0
            end = line.find("-->", opening)
            if end >= 0:
                rest = line[end + 3 :]
                kept.extend([rest] if rest.strip() else [])
                comment.clear()
        else:
            kept.append(line)
    return "\n".join(kept + comment)


def without_code(text: str) -> str:
    """The text with code blocks and code spans blanked, for finding what is meant as more than an example."""
    prose = "\n".join("" if is_code else line for line, is_code in _lines(text))
    return "\n\n".join(_without_spans(paragraph) for paragraph in BLANK_LINES.split(prose))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a fenced block (its fences included)."""
    fence = ""
    for line in text.split("\n"):
        found = FENCE.fullmatch(line)
        if not fence:
            is_opening = found is not None and not (found["fence"][0] == "`" and "`" in found["info"])
            fence = found["fence"] if found is not None and is_opening else ""
            yield line, bool(fence)
            continue
        yield line, True
        if found is not None and found["fence"].startswith(fence) and not found["info"].strip():
            fence = ""


def _without_spans(paragraph: str) -> str:
    runs = list(RUN.finditer(paragraph))
    following: list[int | None] = [None] * len(runs)
    last: dict[int, int] = {}
    for place in range(len(runs) - 1, -1, -1):
        length = len(runs[place][0])
        following[place] = last.get(length)
        last[length] = place
    kept, position, place = list[str](), 0, 0
    while place < len(runs):
        end = following[place]
        if end is None:
            place += 1
            continue
        kept.append(paragraph[position : runs[place].start()])
        position, place = runs[end].end(), end + 1
    return "`".join([*kept, paragraph[position:]])
