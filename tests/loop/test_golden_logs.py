"""One scenario for each reason to go on and each reason to end, with its whole event log as it is stored beside this file.

A log that changed on purpose is written anew by `OSTINATO_WRITE_GOLDEN=1 pytest tests/loop/test_golden_logs.py`.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import anyio.lowlevel
import pytest
from tests.loop.scene import Scene
from tests.loop.transitions.test_collapse_drain import Staged
from tests.loop.transitions.test_overflowed import REFUSED as MEDIA_REFUSED
from tests.loop.transitions.test_overflowed import TOO_LONG, compacting, long_talk
from tests.loop.transitions.test_repaired import BEFORE as ODD_TALK
from tests.loop.transitions.test_repaired import picky

import ostinato.loop
from ostinato.engine.budget import TreeBudget
from ostinato.errors import ModelError
from ostinato.events import TerminalReason
from ostinato.loop.budget import BudgetLimits
from ostinato.messages import Image, Text, Usage, UserMessage, assistant_fragment, user_prompt
from ostinato.ports import ModelRequest
from ostinato.records import ResponseEnded
from ostinato.state import ContinueReason, QueryConfig
from ostinato.stop_hooks import BlockStop, PreventStop, StopDecision, Stopping
from ostinato.testing import (
    SCRIPTED_FACTS,
    Cut,
    Fails,
    FakeClock,
    Gate,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    broken_call,
    call,
    fake_tool,
    log_lines,
    say,
    transitions,
)
from ostinato.tool import ToolContext
from ostinato.tool_hooks import StopContinuation, ToolRan

GOLDEN = Path(__file__).with_name("golden")
CONFIG = QueryConfig(normalise_strictly=True, max_retries=1)
NO = ModelError("no", kind="invalid_request", status=400)
GONE = ModelError("gone", kind="not_found", status=404, recover="fallback_model")
BUSY = ModelError("busy", kind="overloaded", status=529, retry=True, recover="fallback_model")
IMAGE = UserMessage("image", (Text("look"), Image("image/png", "aGVsbG8=")))

NO_MECHANISM = frozenset({"rapid_refill_breaker", "structured_output_retry_exhausted", "tool_deferred"})
"""Declared for clients of the field; nothing ends a query so yet. What does must bring its scenario."""


def scene(*turns: Turn, **more: object) -> Scene:
    made = Scene(ScriptedModel(*turns), [fake_tool("Look", answers("42"))], config=CONFIG)
    return replace(made, **{"clock": FakeClock(auto_advance=True), **more})


def hooked(*decisions: StopDecision | None) -> Scene:
    left = list(decisions)

    async def hook(_stopping: Stopping) -> StopDecision | None:
        await anyio.lowlevel.checkpoint()
        return left.pop(0)

    turns = Reply(say("a")), Reply(say("b"))
    return scene(*turns, stop_hooks=[hook], clock=FakeClock())  # its deadline is a sleep


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

    return scene(Reply(say("I look"), call("Look", "t1")), tools=[fake_tool("Look", aborts)])


def out_of_budget() -> Scene:
    clock = FakeClock(auto_advance=True)
    return scene(clock=clock, budget=TreeBudget(BudgetLimits(max_total_tokens=10), clock))


def over_the_limit(times: int) -> list[Turn]:
    return [*[Reply(say("cut"), stop_reason="max_tokens")] * times, Reply(say("all"))]


def kept_part() -> Scene:
    begun = Gate()

    async def opens(_input: object, _context: object) -> None:
        begun.open()

    cut = Cut(Reply(say("I write"), call("Write", "t1"), begun, say("x")), after_blocks=2, error=GONE)
    other = ScriptedModel(Reply(say("done")), facts=replace(SCRIPTED_FACTS, id="second"))
    return scene(cut, tools=[fake_tool("Write", opens)], others=[other])


def illegal() -> Scene:
    return replace(scene(), model=picky(lambda text: "odd:id" not in text), before=ODD_TALK)


def collapsing() -> Scene:
    made = compacting(scene(Fails(TOO_LONG), Reply(say("done")), before=long_talk()))
    return replace(made, drain_collapsed=Staged(("a0", "a29"), ("a30", "a57")))


def stopped_by_tool_hook() -> Scene:
    async def hook(_ran: ToolRan, /) -> StopContinuation:
        await anyio.lowlevel.checkpoint()
        return StopContinuation("a release is for people")

    return scene(Reply(say("I look"), call("Look", "t1")), after_tool=[hook], clock=FakeClock())


def too_long_to_ask() -> Scene:
    """A conversation that fills the window, and nothing that shortens it."""
    full = Usage(input_tokens=SCRIPTED_FACTS.context_window)
    before = [
        user_prompt("p", "hello"),
        assistant_fragment("a", "r", SCRIPTED_FACTS.id, Text("hi")),
        ResponseEnded("r", SCRIPTED_FACTS.id, full, "end_turn"),
    ]
    return scene(before=before, config=replace(CONFIG, auto_compact=False))


def malformed() -> Scene:
    return scene(*[Reply(broken_call("Look", f"t{number}", "{no")) for number in range(9)])


SCENES: dict[str, Callable[[], Scene]] = {
    "next_turn": lambda: scene(Reply(say("I look"), call("Look", "t1")), Reply(say("done"))),
    "max_output_tokens_escalate": lambda: scene(*over_the_limit(1)),
    "max_output_tokens_recovery": lambda: scene(*over_the_limit(2)),
    "reactive_compact_retry": lambda: compacting(
        scene(Fails(TOO_LONG), Reply(say("done")), before=long_talk())
    ),
    "collapse_drain_retry": collapsing,
    "stop_hook_blocking": lambda: hooked(BlockStop("more"), None),
    "token_budget_continuation": lambda: scene(Reply(say("a")), *[Reply(say("b"))] * 30, target_tokens=100),
    "pause_turn_resume": lambda: scene(Reply(say("a"), stop_reason="pause_turn"), Reply(say("b"))),
    "empty_response_retry": lambda: scene(Reply(), Reply(say("a"))),
    "history_repair_retry": illegal,
    "completed": lambda: scene(Reply(say("hello"))),
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
    # beside the reasons: what happens within a pass
    "a retry": lambda: scene(Fails(BUSY), Reply(say("here"))),
    "a reply taken back": lambda: scene(
        Cut(Reply(say("half"), call("Look", "t1"), say("x")), after_blocks=1), Reply(say("whole"))
    ),
    "another model goes on with a part": kept_part,
}


def test_every_reason_has_its_scenario():
    reasons = {*get_args(ContinueReason), *get_args(TerminalReason)}
    assert reasons - set(SCENES) == NO_MECHANISM


def test_a_reason_without_a_scenario_is_one_that_nothing_gives():
    loop = Path(next(iter(ostinato.loop.__path__)))
    sources = [file.read_text() for file in loop.rglob("*.py")]
    assert [reason for reason in NO_MECHANISM if any(f'"{reason}"' in source for source in sources)] == []


def test_no_log_is_stored_that_no_scenario_makes():
    assert {file.stem for file in GOLDEN.iterdir()} == {name.replace(" ", "_") for name in SCENES}


def stored(name: str, lines: Sequence[str]) -> str:
    """The log in its file, written anew if that is wished."""
    file = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("OSTINATO_WRITE_GOLDEN"):
        file.write_text("\n".join((*lines, "")))
    return file.read_text()


@pytest.mark.parametrize("name", SCENES)
async def test_a_run_takes_the_course_that_is_stored(name: str):
    played = SCENES[name]()
    events = await played.play()
    reasons = {*transitions(played.terminal), played.terminal.reason}
    assert name in reasons or " " in name
    assert stored(name, log_lines(events)).splitlines() == list(log_lines(events))
