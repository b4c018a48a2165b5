"""The front matter of Markdown files (commands, notes, rules), read line by line: a colon, a tab or a stray mark in one value harms no other.

A YAML parser would refuse the whole of `description: Fix: now`; authors write that. Only texts and lists of texts count.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

MAX_LINES: Final = 200
_FENCE: Final = re.compile(r"---[ \t]*")
_END: Final = re.compile(r"(?:---|\.\.\.)[ \t]*")
_KEY: Final = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)")
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(?P<value>.*)|[ \t]*)")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#(?:[ \t].*)?$")
_QUOTED: Final = re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')(?:[ \t]+#.*)?""")
_ESCAPED: Final = re.compile(r"\\([\"\\])")

NO_END: Final = "its front matter has no `---` at the end"

Value: TypeAlias = str | tuple[str, ...]


class FrontMatter(msgspec.Struct, frozen=True):
    """`values` by lower-case key; of a repeated key the last counts. `problem`: why the text cannot be used, or empty."""

    values: Mapping[str, Value]
    body: str
    problem: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """The values between two `---` lines and the text below; a text that does not begin so is all body, also one that begins with a
    rule: `---`, an empty line, words.
    """
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter({}, text)
    end = next((at for at in range(1, min(len(lines), MAX_LINES)) if _END.fullmatch(lines[at])), None)
    if end is None:
        return FrontMatter({}, text, "" if _is_ruled(lines) else NO_END)
    return FrontMatter(_values(lines[1:end]), "\n".join(lines[end + 1 :]))


def _is_ruled(lines: Sequence[str]) -> bool:
    """Whether the first line is a rule drawn above a text: an empty line follows, and then words that are no key."""
    first = next((line for line in lines[1:] if line.strip()), "")
    return bool(first) and not lines[1].strip() and _KEY.fullmatch(first) is None


def text_of(value: Value) -> str:
    """A value as one text, whatever its author made of it."""
    return value if isinstance(value, str) else ", ".join(value)


def texts_of(value: Value) -> tuple[str, ...]:
    """A value as texts: a list as it is; a text cut at its commas and lines, each part without its quotes."""
    if not isinstance(value, str):
        return value
    return tuple(text for part in split_list(value, separators=",\n") if (text := _scalar(part)))


def _values(lines: Sequence[str]) -> Mapping[str, Value]:
    """A key stands at the beginning of a line; what follows up to the next key belongs to it."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        key = _KEY.fullmatch(line)
        if key is not None:
            found.append((key["key"].lower(), [key["value"] or ""]))
        elif found:
            found[-1][1].append(line)
    return {key: _value(first, rest) for key, (first, *rest) in found}


def _value(first: str, rest: Sequence[str]) -> Value:
    first = _without_comment(first)
    if first[:1] in {"|", ">"} and len(first) <= 3:
        return _block(rest, separator="\n" if first[0] == "|" else " ")
    if not first and any(_ITEM.fullmatch(line) for line in rest):
        items = [_ITEM.fullmatch(line) for line in rest]
        texts = [_scalar(_without_comment(item["value"] or "")) for item in items if item is not None]
        return tuple(text for text in texts if text)
    whole = " ".join(filter(None, (first, *(_without_comment(line) for line in rest))))
    if whole.startswith("[") and whole.endswith("]"):
        return tuple(text for part in split_list(whole[1:-1]) if (text := _scalar(part)))
    return _scalar(whole)


def _block(lines: Sequence[str], *, separator: str) -> str:
    texts = [line.strip() for line in lines]
    return separator.join(texts).strip()


def _without_comment(value: str) -> str:
    value = value.strip()
    return value if value[:1] in {'"', "'"} else _COMMENT.sub("", value).strip()


def _scalar(value: str) -> str:
    """The text without its quotes, and without a comment behind them."""
    value = value.strip()
    found = _QUOTED.fullmatch(value)
    if found is None:
        return value
    return found[2].replace("''", "'") if found[1] is None else _ESCAPED.sub(r"\1", found[1])


def split_list(text: str, *, separators: str = ",") -> list[str]:
    """`text` cut at separators that stand neither in parentheses or braces nor in quotes."""
    parts, depth, quote, start = list[str](), 0, "", 0
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and not text[start:place].strip():
            quote = character
        elif character in "(){}":
            depth = max(0, depth + (1 if character in "({" else -1))
        elif character in separators and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]
