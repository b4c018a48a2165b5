"""Host-made messages have one shape each, made in one place; calls can be counted."""

import ast
from pathlib import Path

from ostinato.messages import (
    AssistantMessage,
    Reminder,
    Text,
    ToolResult,
    ToolUse,
    api_error_message,
    assistant_fragment,
    attachment_message,
    count_tool_calls,
    meta_prompt,
    tool_result_message,
    user_prompt,
)

SOURCE = Path(__file__).parents[1] / "src" / "ostinato"


def test_each_kind_of_host_made_message_has_its_shape():
    prompt = user_prompt("u", "go")
    assert (prompt.is_meta, prompt.origin, prompt.content) == (False, "prompt", (Text("go"),))
    meta = meta_prompt("m", "go on", origin="recovery")
    assert (meta.is_meta, meta.origin, meta.content) == (True, "recovery", (Text("go on"),))
    result = tool_result_message("r", ToolResult("t1", "42"))
    assert (result.is_meta, result.origin, result.content) == (
        False,
        "tool_result",
        (ToolResult("t1", "42"),),
    )
    reminder = Reminder("date", "It is Monday.")
    assert attachment_message("a", reminder).attachment == reminder
    assert api_error_message("e", "m", "down").is_error
    assert assistant_fragment("f", "r", "m", Text("x")).block_ids == ("f",)


def test_the_loop_makes_messages_only_by_their_constructors():
    made = [
        f"{path.name}:{node.lineno}"
        for path in sorted((SOURCE / "loop").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in {"UserMessage", "AttachmentMessage", "SystemMessage"}
    ]
    assert made == []


def test_tool_calls_are_counted_not_the_messages_that_hold_them():
    both = AssistantMessage(
        "a", "r", "m", (ToolUse("t1", "Look", {}), Text("and"), ToolUse("t2", "Look", {}))
    )
    fragment = assistant_fragment("b", "q", "m", ToolUse("t3", "Look", {}))
    assert count_tool_calls([user_prompt("u", "go"), both, fragment]) == 3
