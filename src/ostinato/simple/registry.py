"""The tools by name, and their schemas as every provider takes them; a tool that none would take is named, not sent."""

from collections.abc import Mapping
from typing import Any

from ostinato.permissions.read_only import is_read_only_shell
from ostinato.ports import ToolSchema
from ostinato.tool import Tool
from ostinato.tool_admission import admitted
from ostinato.tools.builtin import builtin_tools

Registry = dict[str, Tool]

TOOL_REGISTRY: Registry = {tool.name: tool for tool in builtin_tools(is_read_only_command=is_read_only_shell)}
"""Name to tool. Put your own in, or pass another registry to the functions that take one."""


def admitted_registry(registry: Mapping[str, Tool]) -> Registry:
    """The same with each schema as it can be sent. Raises UsageError that names every tool that no provider would take."""
    return dict(zip(registry, admitted(tuple(registry.values())), strict=True))


def get_tool_schemas(registry: Mapping[str, Tool] = TOOL_REGISTRY) -> tuple[ToolSchema, ...]:
    """Name, description and input schema of every tool, in the registry's order. Raises as `admitted_registry`."""
    return tuple(
        ToolSchema(tool.name, tool.description, tool.input_schema)
        for tool in admitted_registry(registry).values()
    )


def to_anthropic_tools(registry: Mapping[str, Tool] = TOOL_REGISTRY) -> list[dict[str, Any]]:
    """The schemas in the form of Anthropic's `tools` parameter. Raises as `admitted_registry`."""
    return [
        {"name": schema.name, "description": schema.description, "input_schema": dict(schema.input_schema)}
        for schema in get_tool_schemas(registry)
    ]
