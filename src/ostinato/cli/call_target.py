"""What a tool call is about, in one value: the file it names, the command it runs. Two calls of one tool with the same
target try the same thing."""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

_MAIN_ARGUMENTS: Final = (
    "file_path",
    "notebook_path",
    "command",
    "pattern",
    "url",
    "query",
    "path",
    "task_id",
    "description",
)
"""The first of these that a call has says what it is about."""


class _Question(msgspec.Struct, frozen=True):
    question: str


def call_target(tool_input: Mapping[str, Any]) -> str:
    """The main argument, or the whole input as JSON when it has none."""
    for name in _MAIN_ARGUMENTS:
        value = tool_input.get(name)
        if isinstance(value, str):
            return value
    return msgspec.json.encode(dict(tool_input), order="sorted").decode()


def shown_target(tool_input: Mapping[str, Any]) -> str:
    """The same for a person to read: the questions that are put, how many steps a list has; nothing for a call without input."""
    if not tool_input:
        return ""
    todos = tool_input.get("todos")
    if isinstance(todos, list):
        count = len(cast("list[object]", todos))
        return "1 step" if count == 1 else f"{count} steps"
    return " ".join(_questions(tool_input.get("questions"))) or call_target(tool_input)


def _questions(asked: object) -> list[str]:
    """Of a model that asks; nothing where it is written in another way."""
    try:
        return [one.question for one in msgspec.convert(asked, list[_Question])]
    except msgspec.ValidationError:
        return []
