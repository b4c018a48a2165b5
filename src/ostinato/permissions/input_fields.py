"""Deny and ask rules about one input of a tool, as `Bash(run_in_background:true)`: which inputs there are, and what they match.

Promise: what no call can match is refused where the rule is read; a deny rule that does nothing looks like one that works.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from ostinato.permissions.wildcard import text_matches

Kind = Literal["text", "whole number", "true or false"]

_NONE: Final[Mapping[str, Kind]] = MappingProxyType({})
_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("description",),
    "Read": ("pages",),
    "Edit": ("old_string", "new_string"),
    "Write": ("content",),
    "NotebookEdit": ("cell_id", "new_source", "cell_type", "edit_mode"),
    "Glob": ("pattern",),
    "Grep": ("pattern", "glob", "output_mode", "type"),
    "WebFetch": ("prompt",),
    "TaskOutput": ("task_id",),
    "TaskStop": ("task_id",),
}
_NUMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("timeout",),
    "Read": ("offset", "limit"),
    "Grep": ("-A", "-B", "-C", "context", "head_limit", "offset"),
    "TaskOutput": ("offset", "timeout"),
}
_SWITCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "Bash": ("run_in_background",),
    "Edit": ("replace_all",),
    "Grep": ("-n", "-i", "-o", "multiline"),
    "TaskOutput": ("block",),
}
INPUT_FIELDS: Final[Mapping[str, Mapping[str, Kind]]] = {
    tool: {
        **dict.fromkeys(_TEXTS[tool], "text"),
        **dict.fromkeys(_NUMBERS.get(tool, ()), "whole number"),
        **dict.fromkeys(_SWITCHES.get(tool, ()), "true or false"),
    }
    for tool in _TEXTS
}
"""The inputs of built-in tools that have one value and that no other kind of rule is about."""

CONTENT_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "Bash": ("command", "Bash"),
    "Read": ("file_path", "Read"),
    "Edit": ("file_path", "Edit"),
    "Write": ("file_path", "Edit"),
    "MultiEdit": ("file_path", "Edit"),
    "NotebookEdit": ("notebook_path", "Edit"),
    "Glob": ("path", "Read"),
    "Grep": ("path", "Read"),
    "Agent": ("subagent_type", "Agent"),
    "Task": ("subagent_type", "Task"),
    "Skill": ("skill", "Skill"),
}
"""The input that the tool's other rules are about, and the tool whose rules those are."""


def field_of(tool: str, spec: str) -> str:
    """The input that the spec names, or "". `Bash(timeout:*)` is about the program `timeout`, like every `:*` of a command."""
    name, colon, wanted = spec.partition(":")
    is_command = tool == "Bash" and wanted.startswith("*")
    return name if colon and not is_command and name in INPUT_FIELDS.get(tool, _NONE) else ""


def field_problem(tool: str, spec: str) -> tuple[str, str] | None:
    """What keeps the spec from ever matching, and what to write; None where it can match, or names no input."""
    name, colon, wanted = spec.partition(":")
    content = CONTENT_FIELDS.get(tool)
    if content is not None and colon and name == content[0] and wanted != "*":
        hint = f"write `{content[1]}({wanted.strip() or '…'})`"
        return f"names the input `{name}`, which such rules are about already", hint
    kind = INPUT_FIELDS.get(tool, _NONE).get(field_of(tool, spec))
    wanted = wanted.strip()
    if kind == "true or false" and not any(text_matches(wanted, value) for value in ("true", "false")):
        return f"can never match: `{name}` is true or false", f"write `{tool}({name}:true)`"
    if kind == "whole number" and not re.fullmatch(r"[-0-9*]+", wanted):
        return f"can never match: `{name}` is a whole number", f"write `{tool}({name}:1000)`"
    return None


def field_matches(tool: str, spec: str, tool_input: Mapping[str, Any]) -> bool:
    """Whether the input that the spec names was given with that value, in which `*` stands for any text."""
    name = field_of(tool, spec)
    value: object = tool_input.get(name) if name else None
    if not isinstance(value, str | int | float | bool):
        return False
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return text_matches(spec.partition(":")[2].strip(), shown.strip())
