"""The list of what is to be done as lines on a terminal: what is done, what is being done, what is left."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.todo_list import Todo
from ostinato.visible_text import one_line

MARKS: Final = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
MAX_SHOWN: Final = 30
MAX_LINE_CHARACTERS: Final = 200


def todo_lines(display: Mapping[str, Any] | None) -> list[str]:
    """Nothing for what is no list."""
    try:
        items = msgspec.convert((display or {}).get("todos"), tuple[Todo, ...])
    except msgspec.ValidationError:
        return []
    lines = [
        f"{MARKS[item.status]} {one_line(_words(item), MAX_LINE_CHARACTERS)}" for item in items[:MAX_SHOWN]
    ]
    more = len(items) - MAX_SHOWN
    return [*lines, f"… {more} more"] if more > 0 else lines


def _words(item: Todo) -> str:
    return item.active_form if item.status == "in_progress" and item.active_form else item.content
