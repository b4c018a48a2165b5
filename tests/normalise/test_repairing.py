"""Each level of repair gives a legal request, loses only what it names, and keeps the request a prefix of the next."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.history import History
from ostinato.invariants import problems
from ostinato.messages import (
    AssistantBlock,
    Image,
    Message,
    ProviderState,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.repairing import MAX_REPAIR_LEVEL, repaired_messages
from ostinato.ports import RequestMessage
from ostinato.testing import SCRIPTED_FACTS, think, think_hidden

LEVELS = range(MAX_REPAIR_LEVEL + 1)


def thought(text: str) -> AssistantBlock:
    return think(text, signature="s")


def sent(history: History, level: int, *, strict: bool = True) -> list[RequestMessage]:
    return Normaliser(SCRIPTED_FACTS, strict=strict).request_messages(history, repair_level=level)


def round_of(name: str, call_id: str, number: int) -> list[Message]:
    return [
        assistant_fragment(f"a{number}", f"r{number}", "m", thought(f"thought {number}")),
        assistant_fragment(f"b{number}", f"r{number}", "m", ToolUse(call_id, name, {"path": f"f{number}"})),
        tool_result_message(f"c{number}", ToolResult(call_id, f"found {number}")),
    ]


def talk(*rounds: list[Message]) -> History:
    return History.empty().extend([user_prompt("p", "go"), *(m for one in rounds for m in one)])


ODD = talk(
    round_of("Read", "functions.Read:0", 0), round_of("mcp.look up", "t1", 1), round_of("Read", "x" * 50, 2)
)


def test_level_one_keeps_everything_and_makes_ids_and_names_legal():
    messages = sent(ODD, 1)
    calls = [block for m in messages for block in m.content if isinstance(block, ToolUse)]
    results = [block for m in messages for block in m.content if isinstance(block, ToolResult)]
    assert [(one.id, one.name) for one in calls] == [
        ("call_0", "Read"),
        ("t1", "mcp_look_up"),
        ("call_2", "Read"),
    ]
    assert [one.tool_use_id for one in results] == ["call_0", "t1", "call_2"]
    assert "thought 1" in str(messages)


def test_a_made_id_is_not_one_that_is_there():
    history = talk(round_of("Read", "a:b", 0), round_of("Read", "call_0", 1))
    calls = [b.id for m in sent(history, 1) for b in m.content if isinstance(b, ToolUse)]
    assert len(set(calls)) == 2


def test_level_two_takes_the_thinking_out_and_keeps_the_calls():
    messages = sent(ODD, 2)
    blocks = [block for message in messages for block in message.content]
    assert not any(isinstance(block, Thinking | RedactedThinking) for block in blocks)
    assert sum(isinstance(block, ToolUse) for block in blocks) == 3


def test_level_three_tells_calls_and_results_as_text_and_keeps_what_they_say():
    messages = sent(ODD, 3)
    blocks = [block for message in messages for block in message.content]
    assert all(isinstance(block, Text) for block in blocks)
    text = str(messages)
    assert all(f"found {n}" in text and f"f{n}" in text for n in range(3))


def test_level_three_keeps_images_of_results():
    history = talk([
        assistant_fragment("a", "r", "m", ToolUse("t1", "Read", {})),
        tool_result_message("b", ToolResult("t1", (Text("seen"), Image("image/png", "AAAA")))),
    ])
    last = sent(history, 3)[-1]
    assert [type(block) for block in last.content] == [Text, Image]


def test_level_three_says_which_result_was_an_error():
    history = talk([
        assistant_fragment("a", "r", "m", ToolUse("t1", "Read", {})),
        tool_result_message("b", ToolResult("t1", "no such file", is_error=True)),
    ])
    assert "error of Read" in str(sent(history, 3)[-1])


POISONED: list[list[Message]] = [
    [assistant_fragment("a", "r", "m", ToolUse("t1", "Read", {}))],
    [tool_result_message("b", ToolResult("t1", "x"))],
    [assistant_fragment("a", "r", "m", ToolUse("", "Read", {}))],
    [assistant_fragment(f"a{n}", f"r{n}", "m", ToolUse("t1", "Read", {})) for n in range(2)],
    [assistant_fragment("a", "r", "m", thought("only"))],
    [assistant_fragment("a", "r", "m", Text("  "))],
]


@pytest.mark.parametrize("level", range(1, MAX_REPAIR_LEVEL + 1))
@pytest.mark.parametrize("messages", POISONED)
def test_every_level_makes_a_poisoned_history_legal_also_where_repairs_are_errors(
    messages: list[Message], level: int
):
    history = History.empty().extend([*messages, user_prompt("p", "go")])
    assert problems(sent(history, level)) == ()


ids = st.sampled_from(["t1", "t2", "a:b", "", "x" * 70])
numbers = st.integers(0, 999)


def called(call_id: str, name: str) -> AssistantBlock:
    return ToolUse(call_id, name, {"a": 1})


def fragment(number: int, response: int, block: AssistantBlock) -> Message:
    return assistant_fragment(f"a{number}", f"r{response}", "m", block)


def prompted(number: int) -> Message:
    return user_prompt(f"u{number}", "and?")


def answered(number: int, call_id: str) -> Message:
    return tool_result_message(f"c{number}", ToolResult(call_id, "ok"))


elsewhere = Thinking("other", ProviderState("elsewhere", "m", "s"))
plain = st.sampled_from([Text("hi"), Text(" "), thought("hm"), think_hidden("zz"), elsewhere])
blocks = st.one_of(plain, st.builds(called, ids, st.sampled_from(["Read", "odd name!"])))
said = st.builds(fragment, numbers, st.integers(0, 3), blocks)
heard = st.one_of(st.builds(prompted, numbers), st.builds(answered, numbers, ids))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(said, heard), max_size=12), st.sampled_from(LEVELS))
def test_any_history_is_legal_at_every_level(messages: list[Message], level: int):
    history = History.empty().extend([user_prompt("p", "go"), *messages])
    assert problems(sent(history, level, strict=False)) == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(said, heard), max_size=8), st.sampled_from(LEVELS))
def test_repair_is_idempotent_and_changes_nothing_that_it_is_given(messages: list[Message], level: int):
    once = sent(History.empty().extend([user_prompt("p", "go"), *messages]), level, strict=False)
    before = list(once)
    assert repaired_messages(once, level) == once
    assert once == before


@pytest.mark.parametrize("level", LEVELS)
def test_the_repaired_request_of_a_longer_history_begins_with_that_of_the_shorter(level: int):
    shorter = talk(round_of("Read", "a:b", 0), round_of("Read", "c:d", 1))
    longer = shorter.extend(round_of("Read", "e:f", 2))
    before, after = sent(shorter, level), sent(longer, level)
    assert after[: len(before)] == before
