"""The last step of every built-in tool: what reaches the model is valid Unicode and no longer than the tool promised."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ostinato.tool import ToolOutcome, failure

LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
"""Half a code point: legal in a Python string, in no encoding that a provider takes."""

MAX_FAILURE_CHARACTERS: Final = 10_000
"""Semantics reference, one call: an error text keeps its first and last 5,000 characters."""

MAX_CHANGE_CHARACTERS: Final = 10_000
"""Room for the account of a change to a file, which is a line or two."""

MAX_READ_CHARACTERS: Final = 400_000
"""Room for the text that Read shows, and for its line numbers when lines are very short."""


def valid_unicode(text: str) -> str:
    """`text` with U+FFFD in place of lone surrogates."""
    return LONE_SURROGATE.sub("\ufffd", text)


def bounded(text: str, max_characters: int) -> str:
    """Head and tail of `text` with a mark between them, if it is longer than `max_characters`."""
    if len(text) <= max_characters:
        return text
    mark = f"\n[... {len(text) - max_characters} or more characters left out ...]\n"
    room = max(0, max_characters - len(mark))
    head = room - room // 2
    return text[:head] + mark + text[len(text) - room // 2 :]


def success(
    text: str, *, max_characters: int, display: Mapping[str, Any] | None = None, is_incomplete: bool = False
) -> ToolOutcome:
    """What was asked for. `display` is for front ends only. `is_incomplete`: there is more than the text shows, and it says so."""
    clean = valid_unicode(text)
    is_cut = is_incomplete or len(clean) > max_characters
    return ToolOutcome(bounded(clean, max_characters), display=marked(display, is_incomplete=is_cut))


def marked(display: Mapping[str, Any] | None, *, is_incomplete: bool) -> Mapping[str, Any] | None:
    """The display of a result, with the word for programs where there is more than was shown."""
    return {**(display or {}), "is_incomplete": True} if is_incomplete else display


def refusal(text: str) -> ToolOutcome:
    """What was asked for was not done, and nothing changed."""
    return failure(bounded(valid_unicode(text), MAX_FAILURE_CHARACTERS))


def shown_path(path: Path, cwd: Path) -> str:
    """`path` as the model should see it: relative inside the working folder, else absolute."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
