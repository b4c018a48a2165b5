"""What a caller may say about the end of a query: stop hooks in the options, a token target in the prompt."""

from pathlib import Path
from typing import Any

import pytest

import ostinato
from ostinato import BlockStop, Options, PreventStop, StopFailed, Stopping
from ostinato.engine.assemble import open_engine
from ostinato.errors import ModelError, UsageError
from ostinato.events import Event
from ostinato.messages import AttachmentMessage, Reminder, Usage
from ostinato.testing import Fails, Reply, ScriptedModel, result, say, terminal, transitions


def options(tmp_path: Path, model: ScriptedModel, **more: Any) -> Options:
    return Options(cwd=tmp_path, model=model, keep_session=False, environment={"HOME": str(tmp_path)}, **more)


async def play(chosen: Options, prompt: str = "go") -> list[Event]:
    async with open_engine(chosen) as engine:
        return [event async for event in engine.submit_message(prompt)]


async def test_a_stop_hook_of_the_options_is_asked_and_heard(tmp_path: Path):
    async def once(stopping: Stopping, /) -> BlockStop | None:
        return None if stopping.blocks else BlockStop("run the tests")

    events = await play(
        options(tmp_path, ScriptedModel(Reply(say("done")), Reply(say("they pass"))), stop_hooks=[once])
    )
    assert transitions(terminal(events)) == ("stop_hook_blocking",)
    assert result(events).text == "they pass"


async def test_a_hook_that_ends_a_query_ends_it_as_a_success(tmp_path: Path):
    async def prevents(stopping: Stopping, /) -> PreventStop:
        return PreventStop("enough")

    events = await play(options(tmp_path, ScriptedModel(Reply(say("done"))), stop_hooks=[prevents]))
    assert result(events).terminal_reason == "stop_hook_prevented"
    assert (result(events).subtype, result(events).text) == ("success", "done")


async def test_a_failure_hook_of_the_options_is_told(tmp_path: Path):
    told: list[StopFailed] = []

    async def tell(failed: StopFailed) -> None:
        told.append(failed)

    model = ScriptedModel(Fails(ModelError("no credit", kind="billing")))
    await play(options(tmp_path, model, stop_failure_hooks=[tell]))
    assert [(one.reason, one.kind) for one in told] == [("model_error", "billing")]


@pytest.mark.parametrize("wrong", [{"stop_hooks": len}, {"stop_hooks": ["a"]}, {"stop_failure_hooks": "x"}])
async def test_what_cannot_be_a_hook_is_refused_before_anything_is_opened(
    tmp_path: Path, wrong: dict[str, Any]
):
    with pytest.raises(UsageError):
        await play(options(tmp_path, ScriptedModel(), **wrong))


async def test_a_target_in_the_prompt_sends_the_model_on_and_is_told_to_it(tmp_path: Path):
    model = ScriptedModel(
        Reply(say("a start"), usage=Usage(10, 100)), Reply(say("all of it"), usage=Usage(10, 1_900))
    )
    async with open_engine(options(tmp_path, model)) as engine:
        events = [event async for event in engine.submit_message("+2k fix everything")]
        reminders = [m.attachment for m in engine.get_messages() if isinstance(m, AttachmentMessage)]
    assert transitions(terminal(events)) == ("token_budget_continuation",)
    assert result(events).text == "all of it"
    (told,) = [one for one in reminders if isinstance(one, Reminder) and one.source == "token_target"]
    assert "2,000" in told.text
    assert told.text in str(model.requests[0].messages)


async def test_the_next_prompt_has_no_target_of_the_last(tmp_path: Path):
    model = ScriptedModel(Reply(say("all"), usage=Usage(10, 1_900)), Reply(say("yes"), usage=Usage(10, 1)))
    async with open_engine(options(tmp_path, model)) as engine:
        for prompt in ("+2k fix everything", "is it done?"):
            events = [event async for event in engine.submit_message(prompt)]
            assert transitions(terminal(events)) == ()


def test_hooks_can_be_given_to_the_front_door(tmp_path: Path):
    async def prevents(stopping: Stopping, /) -> PreventStop:
        return PreventStop()

    ended = ostinato.run(
        "go", cwd=tmp_path, model=ScriptedModel(Reply(say("x"))), keep_session=False, stop_hooks=[prevents]
    )
    assert ended.reason == "stop_hook_prevented"


async def test_a_reply_that_was_paused_is_one_answer_with_what_followed(tmp_path: Path):
    model = ScriptedModel(Reply(say("so far, "), stop_reason="pause_turn"), Reply(say("and to the end")))
    events = await play(options(tmp_path, model))
    assert result(events).text == "so far, and to the end"


async def test_a_model_that_says_nothing_is_a_failed_submission_with_a_hint(tmp_path: Path):
    ended = result(await play(options(tmp_path, ScriptedModel.repeating(Reply()))))
    assert (ended.subtype, ended.error_kind) == ("error_during_execution", "empty_response")
    assert ended.hint


async def test_a_refusal_leaves_a_conversation_that_goes_on_without_the_refused_words(tmp_path: Path):
    model = ScriptedModel(Reply(say("I would say"), stop_reason="refusal"), Reply(say("gladly")))
    async with open_engine(options(tmp_path, model)) as engine:
        refused = [event async for event in engine.submit_message("do this")]
        answered = [event async for event in engine.submit_message("then that")]
    assert result(refused).terminal_reason == "refused"
    assert result(answered).text == "gladly"
    assert "I would say" not in str(model.requests[1].messages)
