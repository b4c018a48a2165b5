"""Queries with a queue of prompts: rounds of tools, and the places where a query waits for others."""

from collections.abc import Mapping
from functools import partial

import anyio.lowlevel
from tests.context.compactions import FILLING, SUMMARY, TINY, full_talk, is_summary, pipeline
from tests.loop.scene import Scene

from ostinato.engine.prompt_queue import PromptQueue
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.messages import Usage
from ostinato.ports import ModelRequest
from ostinato.stop_hooks import AllowStop, BlockStop, StopDecision, Stopping
from ostinato.testing import (
    CountingIds,
    MemoryJournal,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    call,
    fake_tool,
    say,
)

MODE_OF = partial(prompt_mode, runs_shell_lines=True)


def scene_with_queue(model: ScriptedModel) -> tuple[Scene, PromptQueue]:
    journal = MemoryJournal()
    queue = PromptQueue(journal.write, CountingIds("p").uuid, mode_of=MODE_OF)
    return Scene(model, journal=journal, queue=queue), queue


def rounds_of_tools() -> tuple[Scene, PromptQueue]:
    scene, queue = scene_with_queue(
        ScriptedModel(*(Reply(say("a"), call("Look", f"t{n}")) for n in range(3)), Reply(say("done")))
    )
    scene.tools = [fake_tool("Look")]
    return scene, queue


WITHIN = ("summary 1", "summary 2", "stop 1", "stop 2")
"""Where the query waits for others: while the model is asked for a summary, and while a stop hook is."""


def scene_of_waits(within: Mapping[str, str]) -> tuple[Scene, PromptQueue]:
    """Three long results in a window for two: three compactions. A stop hook sends the model back once, to one more round.
    `within` is typed at these places of `WITHIN`.
    """
    looks, asked = 0, 0

    def typed(place: str) -> None:
        if place in within:
            queue.put(within[place])

    def turn(request: ModelRequest, _number: int) -> Turn:
        nonlocal looks, asked
        if is_summary(request):
            asked += 1
            typed(f"summary {asked}")
            return SUMMARY
        looks += 1
        is_call = looks in {1, 2, 3, 5}
        return Reply(call("Look", f"t{looks}", number=looks) if is_call else say("done"), usage=Usage())

    async def hook(stopping: Stopping, /) -> StopDecision:
        await anyio.lowlevel.checkpoint()
        typed("stop 2" if stopping.stop_hook_active else "stop 1")
        return AllowStop() if stopping.stop_hook_active else BlockStop("more")

    scene, queue = scene_with_queue(ScriptedModel(script=turn, facts=TINY))
    scene.before, scene.prepare_context, scene.stop_hooks = full_talk(), pipeline(), [hook]
    scene.tools = [fake_tool("Look", answers(FILLING), is_read_only=True)]
    return scene, queue
