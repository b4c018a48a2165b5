"""What is about to be sent counts before it is sent: the prompt, what goes with it, tools that are new; behind what was counted."""

import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.history import History
from ostinato.loop.request import RequestBuilder
from ostinato.messages import (
    AttachedImage,
    Document,
    Image,
    Message,
    Reminder,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
    assistant_fragment,
    attachment_message,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.token_estimate import tools_tokens
from ostinato.ports import ToolSchema
from ostinato.records import Boundary, Record, ResponseEnded, Snip
from ostinato.state import State, initial_state
from ostinato.testing import ScriptedModel, answers, fake_tool

COUNTED = Usage(2_000, 500, 30_000, 1_500)
PIXEL = Image("image/png", "AAAA")
LOOK, FIND = fake_tool("Look", answers("seen")), fake_tool("Find", answers("found"))


def answered(usage: Usage = COUNTED) -> list[Record]:
    return [
        user_prompt("p", "go"),
        assistant_fragment("a", "r", "m", Text("Well.")),
        ResponseEnded("r", "m", usage, "end_turn"),
    ]


def state_of(*said: Record) -> tuple[RequestBuilder, State]:
    params = Scene(ScriptedModel(), [LOOK]).params()
    return RequestBuilder(params), initial_state(History.empty().extend(said), params.tool_use_context)


def tokens(*said: Record) -> int:
    requests, state = state_of(*said)
    return requests.tokens(state)


@pytest.mark.parametrize(
    ("pending", "least", "most"),
    [
        (user_prompt("q", "Please go on."), 4, 20),
        (user_prompt("q", "word " * 20_000), 20_000, 60_000),
        (user_prompt("q", "请继续检查所有文件。" * 1_000), 6_000, 15_000),
        (UserMessage("q", (Text("Look:"), PIXEL, PIXEL)), 4_000, 4_100),
        (UserMessage("q", (Document("application/pdf", "A" * 750_000),)), 30_000, 30_100),
        (attachment_message("q", Reminder("file", "x = 1\n" * 1_000)), 1_500, 6_000),
        (attachment_message("q", AttachedImage("a.png", PIXEL)), 2_000, 2_100),
    ],
    ids=["short", "long", "chinese", "images", "document", "a file that is named", "an image that is named"],
)
def test_a_prompt_and_what_goes_with_it_count_beside_what_the_provider_counted(
    pending: Message, least: int, most: int
):
    grown = tokens(*answered(), pending) - COUNTED.context_tokens
    assert least <= grown <= most


def test_parallel_results_count_though_the_reply_that_asked_for_them_was_counted():
    calls: list[Record] = [
        assistant_fragment(f"a{n}", "r", "m", ToolUse(f"c{n}", "Look", {})) for n in range(3)
    ]
    results = [tool_result_message(f"t{n}", ToolResult(f"c{n}", "line of text\n" * 500)) for n in range(3)]
    said = [user_prompt("p", "go"), calls[0], results[0], *calls[1:]]
    counted = tokens(*said, ResponseEnded("r", "m", COUNTED, "tool_use"), *results[1:])
    assert counted - COUNTED.context_tokens >= 2 * 500 * 3


def test_where_nothing_was_counted_all_of_it_is_estimated_tools_and_system_prompt_too():
    requests, state = state_of(*answered(Usage()), user_prompt("q", "x" * 1_000))
    request = requests.build(state)
    assert requests.tokens(state) > tools_tokens(request.tools) + 250


@pytest.mark.parametrize(
    "edit",
    [
        Boundary("e", UserMessage("s", (Text("They worked."),), is_meta=True, origin="summary")),
        Snip("e", "p", "a", UserMessage("s", (Text("Hidden."),), is_meta=True, origin="snip")),
    ],
)
def test_after_an_edit_what_was_counted_before_it_is_not_believed(edit: Record):
    said = [user_prompt("p", "go"), *answered()[1:]]
    assert tokens(*said, edit, user_prompt("q", "And on.")) < COUNTED.context_tokens


def test_a_tool_that_is_new_since_the_last_reply_counts_once_until_a_reply_was_counted_with_it():
    requests, state = state_of(*answered())
    before = requests.tokens(state)
    more = replace(state, tool_use_context=replace(state.tool_use_context, tools=(LOOK, FIND)))
    grown = requests.tokens(more) - before
    schema = ToolSchema(FIND.name, FIND.description, FIND.input_schema)
    assert grown == tools_tokens((schema,)) > 0
    assert requests.tokens(more) - before == grown
    counted = more.messages.extend([
        user_prompt("q", "on"),
        assistant_fragment("b", "s", "m", Text("Done.")),
        ResponseEnded("s", "m", COUNTED, "end_turn"),
    ])
    assert requests.tokens(replace(more, messages=counted)) == COUNTED.context_tokens
