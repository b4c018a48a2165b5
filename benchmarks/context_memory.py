"""What memory a long conversation holds: while it runs, and after a resume. `python -m benchmarks.context` shows it."""

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

import anyio
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from benchmarks.measure import Figure
from benchmarks.scene import echo_tool, scene
from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import SystemEvent
from ostinato.messages import Text, ToolUse, Usage
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.testing import Reply, ScriptedModel

SUMMARY = "<summary>" + "What was wanted, and what was done so far. " * 115 + "</summary>"


def said(number: int) -> str:
    return f"{number}: a line of what a tool said, of usual length and no interest\n" * 14


def looking(
    passes: int, forget: Callable[[], None], at_end: Callable[[], None]
) -> Callable[[ModelRequest, int], Reply]:
    """A model that says something and calls a tool, so often, and writes summaries; `forget` lets the requests before go, `at_end`
    is called when it is asked for the last time.
    """
    asked = 0

    def turn(request: ModelRequest, _number: int) -> Reply:
        nonlocal asked
        forget()
        if request.source.name == "compact":
            return Reply(Text(SUMMARY), usage=Usage())
        asked += 1
        if asked > passes:
            at_end()
            return Reply(Text("done"))
        call = ToolUse(f"call_{asked}", "Echo", {"text": said(asked)})
        return Reply(Text(f"Now part {asked}."), call, usage=Usage())

    return turn


@dataclass(frozen=True)
class Held:
    """Traced memory of the process in megabytes: right after the first summary, while the last pass runs, and once another engine went
    on with the session.
    """

    first: float
    last: float
    resumed: float


async def held_mb(passes: int) -> Held:
    facts = ModelFacts("scripted", "scripted-1", 40_000, 4_000)
    models: list[ScriptedModel] = []

    def forget() -> None:
        models[0].requests.clear()

    last: list[float] = []
    script = looking(passes, forget, lambda: last.append(_traced_mb()))
    model = ScriptedModel(script=script, facts=facts, is_strict=False)
    models.append(model)
    await _warm_up()
    with scene() as place:
        given = place.options(model=model, tools=[echo_tool()])
        first, session = await _long_session(given)
        async with open_engine(replace(given, resume=session)):
            await checkpoint()  # until then the event loop itself holds what was read
            return Held(first, last[0], _traced_mb())


async def _warm_up() -> None:
    """What is loaded once in a process, the decoders of records above all, belongs to no conversation."""
    with scene() as place:
        given = place.options(model=ScriptedModel(Reply(Text("hello"))), tools=[echo_tool()])
        _, session = await _long_session(given)
        async with open_engine(replace(given, resume=session)):
            pass


async def _long_session(given: Options) -> tuple[float, str]:
    """Memory after its first summary, and its id."""
    first = 0.0
    async with open_engine(given) as engine:
        async for event in engine.submit_message("go"):
            is_summary = isinstance(event, SystemEvent) and event.message.subtype == "compact_boundary"
            if is_summary and not first:
                first = _traced_mb()
        return first, engine.session_id


def _traced_mb() -> float:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] / 1e6


def memory(passes: int) -> list[Figure]:
    tracemalloc.start(1)
    held = anyio.run(held_mb, passes)
    tracemalloc.stop()
    return [
        Figure(
            f"memory {when} / after the first summary",
            mb / held.first,
            "×",
            1.3,
            f"{mb:.1f} / {held.first:.1f} MB",
        )
        for when, mb in ((f"after {passes:,} passes", held.last), ("after a resume of that", held.resumed))
    ]
