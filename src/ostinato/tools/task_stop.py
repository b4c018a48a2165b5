"""TaskStop: end a command in the background with everything that it started."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_FAILURE_CHARACTERS, success

PROMPT: Final = "Stop a background command and everything it started."

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"task_id": {"type": "string"}},
    "required": ["task_id"],
    "additionalProperties": False,
}


class TaskStopInput(msgspec.Struct, frozen=True):
    task_id: str


def task_stop_tool() -> Tool:
    """It counts as read-only: it touches nothing but what this conversation itself has started, so nobody is asked."""
    return Tool(
        name="TaskStop",
        aliases=("KillShell", "KillBash"),
        description=PROMPT,
        input_schema=SCHEMA,
        call=stop_task,
        cannot_succeed=why_not_stop,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
        flat_parameters=("task_id",),
        unshown_inputs=MappingProxyType({"shell_id": "task_id", "bash_id": "task_id"}),
    )


async def why_not_stop(tool_input: Mapping[str, Any], context: ToolContext) -> None:
    """Raises UsageError for an id that is not there."""
    from ostinato.tools.background_text import require_task  # ruff: ignore[import-outside-top-level] - loads with a first call

    await require_task(msgspec.convert(dict(tool_input), TaskStopInput).task_id, context)


async def stop_task(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Raises UsageError for an id that is not there."""
    from ostinato.tools.background_text import background_of, listed  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), TaskStopInput)
    facts = await background_of(context).stop(request.task_id)
    return success(listed(facts), max_characters=MAX_FAILURE_CHARACTERS)
