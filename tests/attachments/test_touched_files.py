"""What counts as touched, and how far back the latest round reaches."""

from tests.attachments.views import touch

from ostinato.attachments.touched_files import SHOWING_TOOLS, last_round, touched_paths
from ostinato.messages import (
    AssistantMessage,
    Message,
    Reminder,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    attachment_message,
    user_prompt,
)


def said(uuid: str, *blocks: Text | ToolUse) -> AssistantMessage:
    return AssistantMessage(uuid, uuid, "model", blocks)


def test_answered_calls_of_file_tools_and_mentions_touch():
    mention = attachment_message("m", Reminder("mention", "…", "/named"))
    note = attachment_message("n", Reminder("mention", "may not be read"))
    view = [
        mention,
        note,
        *touch("a"),
        *touch("b", tool="Edit", call="t2"),
        *touch("c", tool="Bash", call="t3"),
    ]
    assert touched_paths(view) == ["/named", "a", "b"]
    assert touched_paths(view, SHOWING_TOOLS) == ["/named", "a"]


def test_calls_without_a_result_or_a_proper_path_touch_nothing():
    calls = [
        ToolUse("t1", "Read", {"file_path": 5}),
        ToolUse("t2", "Read", {}),
        ToolUse("t3", "Read", {"file_path": "x"}),
    ]
    results = UserMessage("u", (ToolResult("t1", "."), ToolResult("t2", ".")))
    assert touched_paths([said("a", *calls), results]) == []


def test_the_latest_round_holds_replies_in_a_row_and_what_was_said_before_them():
    earlier: list[Message] = touch("old")
    prompt = user_prompt("p", "go")
    half, rest = said("h", ToolUse("t5", "Read", {"file_path": "a"})), said("r", Text("on"))
    results = UserMessage("u", (ToolResult("t5", "."),))
    assert last_round([*earlier, prompt, half, rest, results]) == [earlier[-1], prompt, half, rest, results]
    assert last_round([prompt]) == [prompt]
    assert last_round([]) == []
