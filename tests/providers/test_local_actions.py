"""Small models get a short chat and a closed menu; what they write back is a whole action or none."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.engine.prompt import SHORT_SYSTEM_PROMPT, user_context
from ostinato.messages import Image, Text, ToolResult, ToolUse
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.providers.local import TOOL_NAMES
from ostinato.providers.local_actions import (
    Called,
    Finished,
    chat_messages,
    growing_answer,
    input_json,
    opened_tool,
    read_action,
    shorten,
)
from ostinato.providers.local_examples import examples_for
from ostinato.tools.builtin import builtin_tools

TOKENS_AROUND_A_TURN = 5
"""What the chat template of these models puts around each: two marks, the role, two line ends."""


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
    """The chat without the worked examples behind the system prompt."""
    turns = chat_messages(made, max_result_characters=limit)
    examples = sum(2 * len(example.steps) for example in examples_for([tool.name for tool in made.tools]))
    return [turns[0], *turns[1 + examples :]]


def local_tools() -> tuple[ToolSchema, ...]:
    """What a local model is offered."""
    return tuple(
        ToolSchema(tool.name, tool.description, tool.input_schema, tool.flat_parameters)
        for tool in builtin_tools(is_read_only_command=lambda _command: False)
        if tool.name in TOOL_NAMES
    )


def called(name: str, result: str, *, is_error: bool = False, **arguments: str) -> tuple[RequestMessage, ...]:
    """A call and its result."""
    identity = f"{name} {arguments} {result}"
    return (
        assistant(ToolUse(identity, name, arguments)),
        user(ToolResult(identity, result, is_error=is_error)),
    )


def test_examples_show_only_tools_that_are_offered_and_end_each_in_done() -> None:
    assert examples_for(["Bash"])
    for offered in (["Bash"], ["Read"], ["Bash", "Read", "Edit"]):
        for example in examples_for(offered):
            assert {step.tool for step in example.steps} <= {*offered, "done"}
            assert [step.tool for step in example.steps].index("done") == len(example.steps) - 1
    assert not examples_for(["Look"])


def test_examples_are_calls_that_the_menu_allows_and_stand_between_system_and_task() -> None:
    tools = local_tools()
    turns = chat_messages(request(user(Text("mine")), tools=tools), max_result_characters=1500)
    assert [turn["role"] for turn in turns] == [
        "system",
        *["user", "assistant"] * (len(turns) // 2 - 1),
        "user",
    ]
    assert turns[-1]["content"] == "mine"
    for example in examples_for(TOOL_NAMES):
        for step in example.steps[:-1]:
            tool = next(tool for tool in tools if tool.name == step.tool)
            assert set(step.arguments) == set(tool.flat_parameters)


def test_everything_before_the_task_stays_under_400_tokens_by_a_high_estimate() -> None:
    turns = chat_messages(
        request(user(Text("")), tools=local_tools(), system=(SHORT_SYSTEM_PROMPT,)),
        max_result_characters=1500,
    )
    assert len(turns) > 2
    # As the tokenizer of SmolLM2, which needs more than others, counts these turns: the test with the real one says it exactly.
    assert sum(len(turn["content"]) / 3 + TOKENS_AROUND_A_TURN for turn in turns) < 400


def test_the_prompt_stays_short_whatever_the_tools_say_and_the_engine_sends() -> None:
    tools = tuple(ToolSchema(f"Tool{n}", "word " * 3000, BASH.input_schema) for n in range(5))
    system = chat(request(user(Text("hi")), tools=tools, system=("long " * 2000,)))[0]["content"]
    assert len(system) / 3 < 400
    assert all(tool.name in system for tool in tools)


def test_a_short_system_text_of_the_engine_is_kept_whole() -> None:
    assert "You are in /w." in chat(request(user(Text("hi")), system=("You are in /w.",)))[0]["content"]


def test_the_surroundings_are_left_out_but_later_reminders_are_told() -> None:
    context = Text("<system-reminder>the folder is /deep/down</system-reminder>")
    later = Text("<system-reminder>the file a.py has changed</system-reminder>")
    looked = assistant(ToolUse("1", "Look", {"where": "a"}))
    turns = chat(request(user(context, Text("hi")), looked, user(ToolResult("1", "x"), later)))
    assert turns[1]["content"] == "hi"
    assert "has changed" in turns[3]["content"]


def test_the_working_folder_is_left_out_of_results() -> None:
    folder = Path("/deep/down")
    surroundings = user_context(folder, (folder,), datetime(2026, 1, 1, tzinfo=UTC))
    context = Text(f"<system-reminder>\n{surroundings}\n</system-reminder>")
    trace = 'File "/deep/down/a.py", line 3, called from /deep/downer/b.py'
    turns = chat(request(user(context, Text("t")), *called("Bash", trace, command="make")))
    assert 'File "a.py", line 3, called from /deep/downer/b.py' in turns[-1]["content"]


def test_a_file_is_shown_without_line_numbers_which_a_small_model_copies() -> None:
    told = chat(request(user(Text("t")), *called("Read", "1\tif x:\n2\t    y\t3", file_path="a")))[-1][
        "content"
    ]
    assert "\nif x:\n    y\t3" in told


def test_each_result_is_followed_by_the_task_of_its_own_time() -> None:
    look = called("Look", "x", where="a")
    turns = chat(request(user(Text("first")), *look, assistant(Text("ok")), user(Text("second")), *look))
    assert "first" in turns[3]["content"]
    assert "second" in turns[7]["content"]
    assert "first" not in turns[7]["content"]


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


@settings(deadline=None)
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


@settings(deadline=None)
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
