"""TaskOutput: what a command in the background printed since the last look, or from any place on; without an id, all of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import success

PROMPT: Final = "Read a background command's new output and its state. Without task_id: list them all."

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "task_id": {"type": "string"},
        "offset": {
            "type": "integer",
            "description": "Byte; default: where the last reading ended",
        },
        "block": {"type": "boolean", "description": "Wait for its end"},
        "timeout": {"type": "integer", "description": "ms (default 30000)"},
    },
    "required": [],
    "additionalProperties": False,
}

DEFAULT_WAIT_MS: Final = 30_000
MAX_WAIT_MS: Final = 600_000
MAX_OUTPUT_BYTES: Final = 30_000
MAX_RESULT_CHARACTERS: Final = 32_000


class TaskOutputInput(msgspec.Struct, frozen=True):
    task_id: str = ""
    offset: int | None = None
    block: bool = False
    timeout: int = DEFAULT_WAIT_MS


def task_output_tool() -> Tool:
    """Older names of it and of its input stay good for old transcripts."""
    return Tool(
        name="TaskOutput",
        aliases=("BashOutput", "AgentOutputTool", "BashOutputTool"),
        description=PROMPT,
        input_schema=SCHEMA,
        call=read_output,
        cannot_succeed=why_not_read,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
        interrupt_behaviour="cancel",
        waits=lambda _input: True,
        timeout_s=MAX_WAIT_MS / 1000 + 60,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("task_id",),
        unshown_inputs=MappingProxyType({"bash_id": "task_id", "shell_id": "task_id"}),
    )


async def why_not_read(tool_input: Mapping[str, Any], context: ToolContext) -> None:
    """Raises UsageError for an id that is not there."""
    from ostinato.tools.background_text import background_of, require_task  # ruff: ignore[import-outside-top-level] - loads with a first call

    task_id = msgspec.convert(dict(tool_input), TaskOutputInput).task_id
    if task_id:
        await require_task(task_id, context)
    else:
        background_of(context)


async def read_output(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Raises UsageError for an id that is not there."""
    from ostinato.tools.background_text import background_of, listed, told  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), TaskOutputInput)
    background = background_of(context)
    if not request.task_id:
        lines = [listed(facts) for facts in background.all()]
        return success(
            "\n".join(lines) or "[nothing runs in the background]", max_characters=MAX_RESULT_CHARACTERS
        )
    if request.block:
        await background.wait(request.task_id, min(max(request.timeout, 0), MAX_WAIT_MS) / 1000)
    found = background.read(request.task_id, offset=request.offset, max_bytes=MAX_OUTPUT_BYTES)
    is_incomplete = found.lost_bytes > 0 or found.end < found.facts.total_bytes
    return success(
        told(found, MAX_OUTPUT_BYTES), max_characters=MAX_RESULT_CHARACTERS, is_incomplete=is_incomplete
    )
