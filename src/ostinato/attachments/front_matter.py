"""The `paths:` of a rule: a small, tolerant reading of the front matter between two `---` lines.

Rules need this one key, so no YAML parser is asked; what cannot be read is said, and never hides the text below it.
"""

import re
from typing import Final

import msgspec

MAX_FRONT_MATTER_LINES: Final = 200
FENCE: Final = re.compile(r"---[ \t]*")
KEY: Final = re.compile(r"paths[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)")
ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(?P<value>.*)|[ \t]*)")
COMMENT: Final = re.compile(r"(?:^|[ \t])#.*$")
EVERYTHING: Final = frozenset({"**", "**/*"})


class FrontMatter(msgspec.Struct, frozen=True):
    """`paths` empty: no restriction. `problem` says what could not be read, or is empty."""

    paths: tuple[str, ...]
    body: str
    problem: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """The patterns and the text below; a text that does not begin with a closed block is all body."""
    lines = text.split("\n")
    if not FENCE.fullmatch(lines[0]):
        return FrontMatter((), text)
    last = min(len(lines), MAX_FRONT_MATTER_LINES)
    end = next((place for place in range(1, last) if FENCE.fullmatch(lines[place])), None)
    if end is None:
        return FrontMatter((), text)
    paths, problem = _paths(lines[1:end])
    body = "\n".join(lines[end + 1 :])
    if any(path in EVERYTHING for path in paths):
        paths = []
    return FrontMatter(tuple(dict.fromkeys(paths)), body, problem)


def _paths(lines: list[str]) -> tuple[list[str], str]:
    for place, line in enumerate(lines):
        found = KEY.fullmatch(line)
        if found is not None:
            value = _without_comment(found["value"] or "")
            return _inline(value) if value else _items(lines[place + 1 :])
    return [], ""


def _inline(value: str) -> tuple[list[str], str]:
    """`a`, `a, b` or `[a, b]`."""
    is_list = value.startswith("[")
    if value.startswith(("|", ">")) or (is_list and not value.endswith("]")):
        return [], f"`paths: {value}` cannot be read; write one pattern, or a list"
    inner = value[1:-1] if is_list else value
    return [scalar for part in split_outside_braces(inner) if (scalar := _scalar(part))], ""


def _items(lines: list[str]) -> tuple[list[str], str]:
    """A list with one `- pattern` a line, up to the next key."""
    paths: list[str] = []
    for line in lines:
        if not _without_comment(line):
            continue
        found = ITEM.fullmatch(line)
        if found is None:
            is_key = not line[:1].isspace()
            return paths, "" if is_key else f"`{line.strip()}` under `paths:` is no list item"
        scalar = _scalar(_without_comment(found["value"] or ""))
        if scalar:
            paths.append(scalar)
    return paths, ""


def _without_comment(value: str) -> str:
    value = value.strip()
    return value if value[:1] in {'"', "'"} else COMMENT.sub("", value).strip()


def _scalar(value: str) -> str:
    value = value.strip()
    if value[:1] in {'"', "'"}:
        end = value.find(value[0], 1)
        return value[1:end] if end > 0 else value[1:]
    return value


def split_outside_braces(text: str, separator: str = ",") -> list[str]:
    """`text` cut at each separator that stands neither in braces nor in quotes."""
    parts, depth, quote, start = list[str](), 0, "", 0
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not text[start:place].strip():
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
        elif character == separator and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
