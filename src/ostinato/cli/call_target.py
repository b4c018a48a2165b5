"""What a tool call is about, in one value: the file it names, the command it runs. Two calls of one tool with the same
target try the same thing."""

from collections.abc import Mapping
from typing import Any, Final

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


def call_target(tool_input: Mapping[str, Any]) -> str:
    """The main argument, or the whole input as JSON when it has none."""
    for name in _MAIN_ARGUMENTS:
        value = tool_input.get(name)
        if isinstance(value, str):
            return value
    return msgspec.json.encode(dict(tool_input), order="sorted").decode()
