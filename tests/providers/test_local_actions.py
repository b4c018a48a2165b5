"""Small models get a short chat and a closed menu; what they write back is a whole action or none."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.messages import Image, Text, ToolResult, ToolUse
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.providers.local_actions import (
    Called,
    Finished,
    action_schema,
    chat_messages,
    growing_answer,
    input_json,
    opened_tool,
    read_action,
    shorten,
)


def schema(*required: str, **types: Any) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind, "description": "long prose"} for name, kind in types.items()},
        "required": list(required),
    }


BASH = ToolSchema(
    "Bash",
    "Runs a command. " + "And much more prose. " * 200,
    schema("command", command="string", timeout="integer", description="string", run_in_background="boolean"),
)
EDIT = ToolSchema(
    "Edit", "Edits.", schema("file_path", "old", "new", file_path="string", old="string", new="string")
)
LOOK = ToolSchema(
    "Look", "Looks around: closely.", schema("where", where="string", deep="boolean", filters="array")
)
TOOLS = (BASH, EDIT, LOOK)


def request(
    *messages: RequestMessage, tools: tuple[ToolSchema, ...] = TOOLS, system: tuple[str, ...] = ()
) -> ModelRequest:
    return ModelRequest("local", system, messages, tools, 500, QuerySource("main"), QueryTracking("c"))


def user(*blocks: Text | ToolResult | Image) -> RequestMessage:
    return RequestMessage("user", blocks)


def assistant(*blocks: Text | ToolUse) -> RequestMessage:
    return RequestMessage("assistant", blocks)


def chat(made: ModelRequest, limit: int = 1500) -> list[dict[str, str]]:
    return chat_messages(made, max_result_characters=limit)


def test_the_menu_holds_every_tool_and_done_flat_and_closed() -> None:
    menu = action_schema(TOOLS)["anyOf"]
    assert [action["properties"]["tool"]["const"] for action in menu] == ["Bash", "Edit", "Look", "done"]
    for action in menu:
        assert next(iter(action["properties"])) == "tool"
        assert action["additionalProperties"] is False
        assert all(set(value) <= {"type", "enum", "const"} for value in action["properties"].values())
    assert menu[0]["properties"] == {"tool": {"const": "Bash"}, "command": {"type": "string"}}
    assert menu[2]["properties"].keys() == {"tool", "where", "deep"}
    assert menu[2]["required"] == ["tool", "where"]


def test_the_prompt_stays_under_400_tokens_whatever_the_tools_say_and_the_engine_sends() -> None:
    tools = tuple(ToolSchema(f"Tool{n}", "word " * 3000, BASH.input_schema) for n in range(5))
    system = chat(request(user(Text("hi")), tools=tools, system=("long " * 2000,)))[0]["content"]
    # Three characters a token is far below what English prose takes.
    assert len(system) / 3 < 400
    assert all(tool.name in system for tool in tools)


def test_a_short_system_text_of_the_engine_is_kept_whole() -> None:
    assert chat(request(user(Text("hi")), system=("You are in /w.",)))[0]["content"].endswith(
        "You are in /w."
    )


def test_calls_are_written_as_the_model_writes_them_and_the_task_stands_behind_every_result() -> None:
    turns = chat(
        request(
            user(Text("<system-reminder>today</system-reminder>"), Text("fix it")),
            assistant(Text("I will look"), ToolUse("1", "Bash", {"command": "ls ü"})),
            user(ToolResult("1", "a.py")),
            assistant(ToolUse("2", "Look", {"where": "a"})),
            user(ToolResult("2", (Text("boom"),), is_error=True)),
        )
    )
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert turns[2]["content"] == '{"tool": "Bash", "command": "ls ü"}'
    assert "Bash gave:\na.py" in turns[3]["content"]
    assert "Look failed:\nboom" in turns[5]["content"]
    assert all("fix it" in turn["content"] for turn in (turns[3], turns[5]))
    assert "today" not in turns[5]["content"]


def test_an_earlier_answer_is_shown_as_the_action_it_was_and_the_newest_prompt_is_the_task() -> None:
    turns = chat(
        request(
            user(Text("first")),
            assistant(Text("one")),
            user(Text("second")),
            assistant(ToolUse("1", "Bash", {"command": "ls"})),
            user(ToolResult("1", "")),
        )
    )
    assert read_action(turns[2]["content"]) == Finished("one")
    assert "second" in turns[5]["content"]
    assert "first" not in turns[5]["content"]


def test_without_tools_it_is_an_ordinary_chat_with_the_system_prompt_given() -> None:
    turns = chat(request(user(Text("sum up")), assistant(Text("so")), tools=(), system=("a" * 5000,)))
    assert [turn["content"] for turn in turns] == ["a" * 5000, "sum up", "so"]


def test_a_request_made_earlier_is_a_prefix_of_the_next_one() -> None:
    first = (
        user(Text("task")),
        assistant(ToolUse("1", "Bash", {"command": "ls"})),
        user(ToolResult("1", "x")),
    )
    more = (assistant(ToolUse("2", "Bash", {"command": "id"})), user(ToolResult("2", "y")))
    earlier, later = chat(request(*first)), chat(request(*first, *more))
    assert later[: len(earlier)] == earlier


def test_a_long_result_keeps_head_and_tail_within_the_cap() -> None:
    turns = chat(
        request(
            user(Text("t")),
            assistant(ToolUse("1", "Bash", {"command": "ls"})),
            user(ToolResult("1", "HEAD" + "x" * 90_000 + "TAIL")),
        ),
        limit=300,
    )
    assert len(turns[-1]["content"]) < 600
    assert "HEAD" in turns[-1]["content"]
    assert "TAIL" in turns[-1]["content"]
    assert shorten("x" * 300, 300) == "x" * 300


def test_an_image_is_named_not_dropped_in_silence() -> None:
    assert "left out" in chat(request(user(Text("see"), Image("image/png", "aaaa"))))[1]["content"]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('{"tool": "Bash", "command": "ls"}', Called("Bash", {"command": "ls"})),
        ('{\n "tool" : "Look"}', Called("Look", {})),
        ('{"tool": "done", "answer": "yes"}', Finished("yes")),
        ('{"tool": "Bash", "command": "l', None),
        ('{"tool": "Bash", "command": "ls"', None),
        ('{"command": "ls"}', None),
        ("[]", None),
        ("", None),
        ('{"tool": "Bash"} and more', None),
    ],
)
def test_an_action_is_whole_or_none(text: str, action: Called | Finished | None) -> None:
    assert read_action(text) == action


@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda name: name != "tool"), st.text() | st.integers() | st.booleans()
    ),
    st.booleans(),
)
def test_a_call_that_streams_is_told_as_growing_json_that_ends_as_its_input(
    arguments: dict[str, Any], compact: bool
) -> None:
    text = json.dumps({"tool": "Bash"} | arguments, separators=(",", ":") if compact else (" , ", " : "))
    told = ""
    for end in range(len(text) + 1):
        if opened := opened_tool(text[:end]):
            assert opened[0] == "Bash"
            so_far = input_json(text[:end], opened[1])
            assert so_far.startswith(told)
            told = so_far
    assert json.loads(told) == arguments


@given(st.text(), st.booleans())
def test_an_answer_that_streams_only_grows_and_ends_complete(answer: str, as_ascii: bool) -> None:
    text = json.dumps({"tool": "done", "answer": answer}, ensure_ascii=as_ascii)
    told = ""
    for end in range(len(text) + 1):
        if opened := opened_tool(text[:end]):
            so_far = growing_answer(text[:end], opened[1])
            assert so_far.startswith(told)
            told = so_far
    assert told == answer
