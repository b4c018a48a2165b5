"""The list of what is to be done: kept beside the messages, so that no shortening of the conversation loses it.

The tool that writes it leaves a copy in its result's display; a session that goes on finds the newest there.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec

from ostinato.records import Record
from ostinato.stored_displays import displays_of

TOOL_NAME: Final = "TodoWrite"

Status = Literal["pending", "in_progress", "completed"]


class Todo(msgspec.Struct, frozen=True, rename={"active_form": "activeForm"}, omit_defaults=True):
    """`active_form` says the same as something that is being done (`Running the tests`); empty if nobody said it."""

    content: str
    status: Status = "pending"
    active_form: str = ""


class TodoList:
    """The list of one conversation; replaced as a whole."""

    def __init__(self, items: Iterable[Todo] = ()) -> None:
        self.items = tuple(items)

    @property
    def open_items(self) -> tuple[Todo, ...]:
        return tuple(item for item in self.items if item.status != "completed")


def todos_in(records: Iterable[Record]) -> tuple[Todo, ...]:
    """The list as the last call left it; empty if there was none."""
    items: tuple[Todo, ...] = ()
    for display in displays_of(records, TOOL_NAME):
        try:
            items = msgspec.convert(display.get("todos"), tuple[Todo, ...])
        except msgspec.ValidationError:
            continue  # of a version that wrote it otherwise
    return items


def as_display(items: Iterable[Todo]) -> dict[str, Any]:
    """What front ends show, and what `todos_in` finds again."""
    return {"todos": msgspec.to_builtins(list(items))}
