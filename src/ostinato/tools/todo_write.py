"""TodoWrite: the model's list of what is to be done, replaced as a whole; people see it, and it is never lost to a summary."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ostinato.todo_list import TOOL_NAME, Todo, TodoList, as_display
from ostinato.tool import Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_FAILURE_CHARACTERS, refusal, success

PROMPT: Final = "Keep the steps of a task of three or more; the list replaces the last. One in_progress at a time, completed once done."

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                },
                "required": ["content", "status"],
            },
        }
    },
    "required": ["todos"],
    "additionalProperties": False,
}

MAX_TODOS: Final = 200
MAX_CONTENT_CHARACTERS: Final = 1_000


class TodoWriteInput(msgspec.Struct, frozen=True):
    todos: tuple[Todo, ...]


def todo_write_tool(todos: TodoList) -> Tool:
    """It counts as read-only: it touches nothing but this list, so nobody is asked. Calls keep their order."""

    async def write(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        del context
        items = msgspec.convert(dict(tool_input), TodoWriteInput).todos
        problem = _problem(items)
        if problem:
            return refusal(problem)
        todos.items = items
        return success(_told(todos), max_characters=MAX_FAILURE_CHARACTERS, display=as_display(items))

    return Tool(
        name=TOOL_NAME,
        description=PROMPT,
        input_schema=SCHEMA,
        call=write,
        cannot_succeed=why_not_write,
        is_read_only=lambda _input: True,
    )


async def why_not_write(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    del context
    return _problem(msgspec.convert(dict(tool_input), TodoWriteInput).todos) or None


def _problem(items: tuple[Todo, ...]) -> str:
    if len(items) > MAX_TODOS:
        return f"the list has {len(items)} steps; at most {MAX_TODOS} are kept: join some"
    for place, item in enumerate(items):
        if not item.content.strip():
            return f"`todos[{place}].content` is empty: say what is to be done"
        if len(item.content) > MAX_CONTENT_CHARACTERS:
            return f"`todos[{place}].content` has {len(item.content)} characters; at most {MAX_CONTENT_CHARACTERS}"
    return ""


def _told(todos: TodoList) -> str:
    done, all_items = len(todos.items) - len(todos.open_items), len(todos.items)
    if not all_items:
        return "The list is empty now."
    running = [item.content for item in todos.items if item.status == "in_progress"]
    now = f" In progress: {'; '.join(running)}." if running else ""
    return f"The list is kept: {done} of {all_items} done.{now}"
