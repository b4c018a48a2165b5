"""Where nothing shortens the conversation by itself, a query ends before the call that would hardly fit, and says so."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.loop.scene import SDK, STRICT, Scene

from ostinato.context.reactive import message_tokens
from ostinato.errors import ModelError
from ostinato.events import AssistantEvent, RequestStart
from ostinato.history import History
from ostinato.messages import Text, Usage, assistant_fragment, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import QuerySource
from ostinato.records import AnyEdit, Record, ResponseEnded
from ostinato.stop_hooks import StopFailed
from ostinato.testing import (
    SCRIPTED_FACTS,
    Fails,
    Reply,
    ScriptedModel,
    answers,
    call,
    fake_tool,
    say,
    transitions,
)
from ostinato.window_limits import hard_limit_tokens

OFF = replace(STRICT, auto_compact=False)
LIMIT = hard_limit_tokens(SCRIPTED_FACTS)
TOO_LONG = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")


def counted(tokens: int) -> list[Record]:
    """A conversation whose last reply was counted as so long."""
    return [
        user_prompt("p", "hello"),
        assistant_fragment("a", "r", "m", Text("hi")),
        ResponseEnded("r", "m", Usage(input_tokens=tokens), "end_turn"),
    ]


def scene(short_of_limit: int, source: QuerySource = SDK) -> Scene:
    """A prompt that is so many tokens short of the limit."""
    before = counted(LIMIT - short_of_limit - message_tokens(user_prompt("prompt", "go")))
    return Scene(ScriptedModel(Reply(say("done"))), before=before, config=OFF, source=source)


def notes(played: Scene) -> list[str]:
    return [e.message.text for e in played.events if isinstance(e, AssistantEvent) and e.message.is_error]


async def test_at_the_limit_no_call_is_made_and_the_reason_and_a_way_on_are_told_once():
    played = scene(0)
    await played.play()
    ending = played.terminal
    assert (ending.reason, ending.error_kind, ending.turn_count) == ("blocking_limit", "prompt_too_long", 1)
    assert f"{LIMIT:,}" in ending.error
    assert ending.hint
    assert notes(played) == [ending.error]
    assert played.model.requests == []
    assert not any(isinstance(event, RequestStart) for event in played.events)


async def test_one_token_below_it_the_call_is_made():
    played = scene(1)
    await played.play()
    assert (played.terminal.reason, len(played.model.requests)) == ("completed", 1)


async def test_with_automatic_compaction_on_nothing_is_blocked():
    played = scene(-5_000)
    played.config = STRICT
    await played.play()
    assert played.terminal.reason == "completed"


async def test_a_compaction_is_not_blocked_by_what_it_is_to_shorten():
    played = scene(0, QuerySource("compact"))
    await played.play()
    assert played.terminal.reason == "completed"


async def test_where_a_collapse_owns_what_does_not_fit_nothing_is_blocked():
    async def nothing_staged(messages: History) -> Sequence[AnyEdit]:
        return ()

    played = scene(0)
    played.drain_collapsed = nothing_staged
    await played.play()
    assert played.terminal.reason == "completed"


async def test_an_abort_before_it_is_still_an_abort():
    played = scene(0)
    played.abort.abort("user")
    await played.play()
    assert played.terminal.reason == "aborted_streaming"


async def test_results_that_fill_the_window_end_the_query_with_every_call_answered():
    looks = [fake_tool("Look", answers("x" * 1_000))]
    model = ScriptedModel(Reply(call("Look", "t1"), usage=Usage(LIMIT - 100)), Reply(say("done")))
    played = Scene(model, looks, config=OFF)
    await played.play()
    assert transitions(played.terminal) == ("next_turn",)
    assert (played.terminal.reason, len(model.requests)) == ("blocking_limit", 1)
    further = History.empty().extend([*played.view, user_prompt("next", "and now?")])
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(further)  # raises for an illegal history


async def test_failure_hooks_are_told():
    told: list[StopFailed] = []

    async def hook(failed: StopFailed, /) -> None:
        told.append(failed)

    played = scene(0)
    played.stop_failure_hooks = [hook]
    await played.play()
    assert [(one.reason, one.kind) for one in told] == [("blocking_limit", "prompt_too_long")]


@pytest.mark.parametrize("auto_compact", [True, False])
async def test_what_the_provider_calls_too_long_is_shortened_only_where_that_is_wanted(auto_compact: bool):
    asked: list[object] = []

    async def shorten(messages: History, error: object, model: object) -> Sequence[AnyEdit]:
        asked.append(error)
        return ()

    played = Scene(ScriptedModel(Fails(TOO_LONG)), shorten=shorten)
    played.config = replace(STRICT, auto_compact=auto_compact)
    await played.play()
    assert played.terminal.reason == "prompt_too_long"
    assert len(notes(played)) == 1
    assert len(asked) == auto_compact
