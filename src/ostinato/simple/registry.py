"""The tools by name, and their schemas as a model takes them."""

from collections.abc import Mapping
from typing import Any

from ostinato.permissions.read_only import is_read_only_shell
from ostinato.ports import ToolSchema
from ostinato.tool import Tool
from ostinato.tools.builtin import builtin_tools

Registry = dict[str, Tool]

TOOL_REGISTRY: Registry = {tool.name: tool for tool in builtin_tools(is_read_only_command=is_read_only_shell)}
"""Name to tool. Put your own in, or pass another registry to the functions that take one."""


def get_tool_schemas(registry: Mapping[str, Tool] = TOOL_REGISTRY) -> tuple[ToolSchema, ...]:
    """Name, description and input schema of every tool, in the registry's order."""
    return tuple(ToolSchema(tool.name, tool.description, tool.input_schema) for tool in registry.values())


def to_anthropic_tools(registry: Mapping[str, Tool] = TOOL_REGISTRY) -> list[dict[str, Any]]:
    """The schemas in the form of Anthropic's `tools` parameter."""
    return [
        {"name": schema.name, "description": schema.description, "input_schema": dict(schema.input_schema)}
        for schema in get_tool_schemas(registry)
    ]
