"""One scenario for each reason to go on, for each reason to end, and for what happens within a pass.

Their event logs are stored (`golden/`), and each is struck at every touch, step and byte (`faults/`).
"""

from collections.abc import Callable

import anyio.lowlevel
from msgspec.structs import replace
from tests.context.compactions import SUMMARY, accounting_scene, compacting_scene
from tests.loop.failing import GONE, OVERLOADED, WRONG_KEY
from tests.loop.scene import Scene
from tests.loop.transitions.test_collapse_drain import Staged
from tests.loop.transitions.test_overflowed import REFUSED as MEDIA_REFUSED
from tests.loop.transitions.test_overflowed import TOO_LONG, compacting, long_talk
from tests.loop.transitions.test_repaired import BEFORE as ODD_TALK
from tests.loop.transitions.test_repaired import picky

from ostinato.engine.budget import TreeBudget
from ostinato.errors import ModelError
from ostinato.loop.budget import BudgetLimits
from ostinato.messages import Image, Text, Usage, UserMessage, assistant_fragment, user_prompt
from ostinato.ports import ModelRequest
from ostinato.records import ResponseEnded
from ostinato.state import QueryConfig
from ostinato.stop_hooks import BlockStop, PreventStop, StopDecision, Stopping
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    broken_call,
    call,
    fake_tool,
    say,
    think,
)
from ostinato.tool import ToolContext
from ostinato.tool_hooks import StopContinuation, ToolRan

CONFIG = QueryConfig(normalise_strictly=True, max_retries=2)
NO = ModelError("no", kind="invalid_request", status=400)
CHANGED = ModelError(
    "no `stream_options`", kind="invalid_request", status=400, retry=True, recover="send_changed"
)
TOO_MUCH = ModelError("too much", kind="output_overflow", status=400, recover="shrink_output").sized(
    input_tokens=1_000, limit_tokens=9_000, output_limit_tokens=None
)
IMAGE = UserMessage("image", (Text("look"), Image("image/png", "aGVsbG8=")))
SECOND = replace(SCRIPTED_FACTS, id="second")
LONGEST_WAIT_S = 60.0

MORE = tuple(Reply(say(f"more {number}")) for number in range(12))
"""What a model says that is asked more often than its scenario would ask it, since something was struck."""


class ShortWaits(FakeClock):
    """Waits before another try pass by themselves; a deadline of a hook, which is longer than any of them, never comes."""

    async def sleep(self, seconds: float) -> None:
        if seconds <= LONGEST_WAIT_S:
            self.advance(seconds)
            await anyio.lowlevel.checkpoint()
        else:
            await super().sleep(seconds)


async def takes_steps(_input: object, _context: object) -> None:
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


def scene(*turns: Turn, **more: object) -> Scene:
    made = Scene(ScriptedModel(*turns, *MORE), config=CONFIG, clock=ShortWaits())
    made.tools = [
        fake_tool("Look", takes_steps, answers("42"), log=made.log, is_read_only=True),
        fake_tool("Write", takes_steps, log=made.log),
    ]
    return replace(made, **more)


def second(*turns: Turn) -> list[ScriptedModel]:
    return [ScriptedModel(*turns, *MORE, facts=SECOND)]


def hooked(*decisions: StopDecision | None) -> Scene:
    left = list(decisions)

    async def hook(_stopping: Stopping) -> StopDecision | None:
        await anyio.lowlevel.checkpoint()
        return left.pop(0) if left else None

    return scene(Reply(say("a")), Reply(say("b")), stop_hooks=[hook])


def stopped_by_tool_hook() -> Scene:
    async def hook(_ran: ToolRan, /) -> StopContinuation:
        await anyio.lowlevel.checkpoint()
        return StopContinuation("a release is for people")

    return scene(Reply(say("I look"), call("Look", "t1")), after_tool=[hook])


def aborted_in_reply() -> Scene:
    made = scene()

    def script(_request: ModelRequest, _number: int) -> Turn:
        made.abort.abort("user")
        return Reply(say("never"))

    return replace(made, model=ScriptedModel(script=script))


def aborted_in_tools() -> Scene:
    async def aborts(_input: object, context: ToolContext) -> None:
        context.abort.abort("user")
        await anyio.lowlevel.checkpoint()

    made = scene(Reply(say("I look"), call("Look", "t1")))
    return replace(made, tools=[fake_tool("Look", aborts, log=made.log)])


def out_of_budget() -> Scene:
    clock = ShortWaits()
    return scene(clock=clock, budget=TreeBudget(BudgetLimits(max_total_tokens=10), clock))


def over_the_limit(times: int) -> list[Turn]:
    return [*[Reply(say("cut"), stop_reason="max_tokens")] * times, Reply(say("all"))]


def writing_part(then: ModelError | None) -> Scene:
    """The reply breaks off once its call has begun to change something."""
    cut = Cut(Reply(say("I write"), call("Write", "t1"), say("x"), say("y")), after_blocks=3, error=then)
    made = scene(cut, Reply(say("done")), others=second(Reply(say("done"))))
    return replace(made, tools=[fake_tool("Write", log=made.log)])


def overloads_in_a_row() -> Scene:
    """Each reply breaks off once its call has begun to change something, until another model takes over."""
    row = [
        Cut(Reply(call("Write", f"t{n}", at=n), say("x"), say("y")), after_blocks=2, error=OVERLOADED)
        for n in range(3)
    ]
    made = scene(*row, others=second(Reply(say("done"))))
    return replace(made, tools=[fake_tool("Write", log=made.log)], config=replace(CONFIG, max_retries=9))


def no_money_to_ask_again() -> Scene:
    """The reply breaks off, and what it has used leaves nothing for another."""
    clock = ShortWaits()
    cut = Cut(Reply(say("half"), say("x"), usage=Usage(9_000, 100)), after_blocks=1)
    return scene(cut, clock=clock, budget=TreeBudget(BudgetLimits(max_total_tokens=10_000), clock))


def illegal() -> Scene:
    return replace(scene(), model=picky(lambda text: "odd:id" not in text), before=ODD_TALK)


def malformed() -> Scene:
    return scene(*[Reply(broken_call("Look", f"t{number}", "{no")) for number in range(3)])


def collapsing() -> Scene:
    made = compacting(scene(Fails(TOO_LONG), Reply(say("done")), before=long_talk()))
    return replace(made, drain_collapsed=Staged(("a0", "a29"), ("a30", "a57")))


def too_long_to_ask() -> Scene:
    """A conversation that fills the window, and nothing that shortens it."""
    full = Usage(input_tokens=SCRIPTED_FACTS.context_window)
    before = [
        user_prompt("p", "hello"),
        assistant_fragment("a", "r", SCRIPTED_FACTS.id, Text("hi")),
        ResponseEnded("r", SCRIPTED_FACTS.id, full, "end_turn"),
    ]
    return scene(before=before, config=replace(CONFIG, auto_compact=False))


def compacted(rounds: int, *summaries: Turn) -> Scene:
    return replace(compacting_scene(rounds, *summaries), config=CONFIG, clock=ShortWaits())


def accounted() -> Scene:
    return replace(accounting_scene(), config=CONFIG, clock=ShortWaits())


def new_key() -> Scene:
    async def refresh() -> bool:
        await anyio.lowlevel.checkpoint()
        return True

    return scene(Fails(WRONG_KEY), Reply(say("here")), refresh_auth=refresh)


REASONS: dict[str, Callable[[], Scene]] = {
    # to go on
    "next_turn": lambda: scene(Reply(say("I look"), call("Look", "t1")), Reply(say("done"))),
    "max_output_tokens_escalate": lambda: scene(*over_the_limit(1)),
    "max_output_tokens_recovery": lambda: scene(*over_the_limit(2)),
    "reactive_compact_retry": lambda: compacting(
        scene(Fails(TOO_LONG), Reply(say("done")), before=long_talk())
    ),
    "collapse_drain_retry": collapsing,
    "stop_hook_blocking": lambda: hooked(BlockStop("more"), None),
    "token_budget_continuation": lambda: scene(Reply(say("a")), Reply(say("b")), target_tokens=30),
    "pause_turn_resume": lambda: scene(Reply(say("a"), stop_reason="pause_turn"), Reply(say("b"))),
    "empty_response_retry": lambda: scene(Reply(), Reply(say("a"))),
    "history_repair_retry": illegal,
    # to end
    "completed": lambda: scene(Reply(think("hm"), say("hello"))),
    "aborted_streaming": aborted_in_reply,
    "aborted_tools": aborted_in_tools,
    "max_turns": lambda: scene(Reply(call("Look", "t1")), max_turns=1),
    "prompt_too_long": lambda: scene(Fails(TOO_LONG)),
    "model_error": lambda: scene(Fails(NO)),
    "hook_stopped": stopped_by_tool_hook,
    "stop_hook_prevented": lambda: hooked(PreventStop("enough")),
    "blocking_limit": too_long_to_ask,
    "refused": lambda: scene(Reply(say("I will not"), stop_reason="refusal")),
    "image_error": lambda: scene(Fails(MEDIA_REFUSED), before=[IMAGE]),
    "budget_exhausted": out_of_budget,
    "malformed_tool_use_exhausted": malformed,
    "no_progress": lambda: scene(*[Reply(call("Look", f"t{number}")) for number in range(6)]),
    "rapid_refill_breaker": lambda: compacted(5, SUMMARY),
}

WITHIN_A_PASS: dict[str, Callable[[], Scene]] = {
    "a look and a write": lambda: scene(
        Reply(call("Look", "a"), call("Write", "b"), call("Look", "c")), Reply(say("done"))
    ),
    "a retry": lambda: scene(
        Fails(OVERLOADED), Cut(Reply(say("x"), say("y")), after_blocks=1), Reply(say("here"))
    ),
    "a reply taken back": lambda: scene(
        Cut(Reply(say("half"), call("Look", "t1"), say("x")), after_blocks=2), Reply(say("whole"))
    ),
    "a part that stays": lambda: writing_part(None),
    "another model": lambda: scene(
        Reply(think("hm"), call("Look", "a")),
        Cut(Reply(say("x"), call("Look", "b")), after_blocks=2, error=GONE),
        others=second(Reply(call("Write", "c")), Reply(say("z"))),
    ),
    "another model goes on with a part": lambda: writing_part(GONE),
    "overloads after effects": overloads_in_a_row,
    "no money to ask again": no_money_to_ask_again,
    "pauses without a word": lambda: scene(*[Reply(think("hm"), stop_reason="pause_turn")] * 3),
    "a new key": new_key,
    "a parameter that is given up": lambda: scene(Fails(CHANGED), Fails(OVERLOADED), Reply(say("here"))),
    "a summary before the call": lambda: compacted(0, SUMMARY),
    "a summary that is asked for again": lambda: compacted(
        0, Reply(call("Look", "no")), Fails(TOO_LONG), SUMMARY
    ),
    "no summary": lambda: compacted(1, Reply(say("no"))),
    "an account beside the passes": accounted,
    "an output that fits": lambda: scene(Fails(TOO_MUCH), Reply(say("short"))),
}

SCENARIOS = {**REASONS, **WITHIN_A_PASS}
