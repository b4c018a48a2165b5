"""What a caller may say about calls that ran, and what an engine keeps of its models from one prompt to the next."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.engine.test_stopping import options, play

from ostinato import NoteForModel, StopContinuation, ToolRan
from ostinato.engine.assemble import open_engine
from ostinato.errors import ModelError, UsageError
from ostinato.state import DEFAULT_CONFIG
from ostinato.testing import (
    SCRIPTED_FACTS,
    Fails,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    result,
    say,
    terminal,
    transitions,
)

LOOK = fake_tool("Look", is_read_only=True)


async def test_a_tool_hook_of_the_options_is_asked_and_heard(tmp_path: Path):
    async def notes(ran: ToolRan, /) -> NoteForModel:
        return NoteForModel(f"seen from {ran.workspace.cwd}")

    model = ScriptedModel(Reply(call("Look", "t1")), Reply(say("done")))
    events = await play(
        options(tmp_path, model, tools=[LOOK], permission_mode="bypassPermissions", after_tool_hooks=[notes])
    )
    assert transitions(terminal(events)) == ("next_turn",)
    assert f"seen from {tmp_path}" in str(model.requests[1].messages[-1])


async def test_a_tool_hook_that_ends_a_query_ends_it_as_a_success_and_the_next_prompt_goes_on(tmp_path: Path):
    async def stops(ran: ToolRan, /) -> StopContinuation:
        return StopContinuation("enough")

    model = ScriptedModel(Reply(say("so:"), call("Look", "t1")), Reply(say("done")))
    async with open_engine(
        options(tmp_path, model, tools=[LOOK], permission_mode="bypassPermissions", after_tool_hooks=[stops])
    ) as engine:
        first = [event async for event in engine.submit_message("go")]
        second = [event async for event in engine.submit_message("on")]
    assert (result(first).subtype, result(first).terminal_reason) == ("success", "hook_stopped")
    assert terminal(second).reason == "completed"


@pytest.mark.parametrize("wrong", [len, ["a"], "x"])
async def test_what_cannot_be_a_hook_is_refused_before_anything_is_opened(
    tmp_path: Path, wrong: Sequence[str]
):
    with pytest.raises(UsageError, match="after_tool_hooks"):
        await play(options(tmp_path, ScriptedModel(), after_tool_hooks=wrong))


async def test_a_window_that_one_prompt_found_out_holds_for_the_next(tmp_path: Path):
    """Without compaction the first prompt ends with the provider's error, the second before it is sent."""
    error = ModelError("prompt is too long", kind="prompt_too_long", status=400, recover="compact")
    error.sized(input_tokens=None, limit_tokens=1_000, output_limit_tokens=None)
    model = ScriptedModel(Fails(error), Reply(say("done")))
    config = replace(DEFAULT_CONFIG, auto_compact=False)
    async with open_engine(options(tmp_path, model, config=config)) as engine:
        first = [event async for event in engine.submit_message("go")]
        second = [event async for event in engine.submit_message("on " * 2_000)]
    assert terminal(first).reason == "prompt_too_long"
    assert terminal(second).reason == "blocking_limit"
    assert len(model.requests) == 1
    assert result(second).is_error
    assert model.facts is SCRIPTED_FACTS
