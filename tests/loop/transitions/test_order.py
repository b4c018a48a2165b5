"""After a reply without calls the checks come in one order: too long, cut off, stop hooks, token target, done."""

from tests.loop.scene import Scene
from tests.loop.transitions.test_overflowed import TOO_LONG, errors

from ostinato.history import History
from ostinato.loop.transitions.truncated import MAX_RECOVERIES
from ostinato.messages import Usage, meta_prompt
from ostinato.records import Snip
from ostinato.stop_hooks import AllowStop, BlockStop, StopDecision, Stopping
from ostinato.testing import Fails, Reply, ScriptedModel, say, transitions

NOTE = meta_prompt("m", "left out", origin="snip")


async def shorten(messages: History, error: object, model: object) -> list[Snip]:
    return [Snip("e", "nowhere", "nowhere", NOTE)] if messages.view() else []


async def drain(messages: History) -> list[Snip]:
    return await shorten(messages, None, None)


def cut() -> Reply:
    return Reply(say("half"), stop_reason="max_tokens")


def whole() -> Reply:
    return Reply(say("done"), usage=Usage(100, 600))


async def test_everything_that_can_want_more_is_asked_in_its_order():
    asked: list[str] = []

    async def hook(stopping: Stopping, /) -> StopDecision:
        asked.append(stopping.answer)
        return AllowStop() if stopping.stop_hook_active else BlockStop("more")

    cuts = [cut() for _ in range(MAX_RECOVERIES + 1)]
    model = ScriptedModel(Fails(TOO_LONG), Fails(TOO_LONG), *cuts, *(whole() for _ in range(3)))
    scene = Scene(model, shorten=shorten, drain_collapsed=drain, stop_hooks=[hook], target_tokens=1_500)
    await scene.play()
    assert transitions(scene.terminal) == (
        "collapse_drain_retry",
        "reactive_compact_retry",
        "max_output_tokens_escalate",
        *["max_output_tokens_recovery"] * MAX_RECOVERIES,
        "stop_hook_blocking",
        "token_budget_continuation",
    )
    assert scene.terminal.reason == "completed"
    assert asked == ["done"] * 3


async def test_a_request_that_stays_too_long_reaches_no_hook_and_no_target():
    asked: list[str] = []

    async def hook(stopping: Stopping, /) -> StopDecision:
        asked.append(stopping.answer)
        return BlockStop("more")

    model = ScriptedModel(script=lambda _request, _number: Fails(TOO_LONG))
    scene = Scene(model, shorten=shorten, drain_collapsed=drain, stop_hooks=[hook], target_tokens=2_000)
    await scene.play()
    assert transitions(scene.terminal)[:2] == ("collapse_drain_retry", "reactive_compact_retry")
    assert scene.terminal.reason == "prompt_too_long"
    assert (asked, len(errors(scene))) == ([], 1)
