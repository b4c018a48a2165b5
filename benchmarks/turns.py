"""What a pass costs as the conversation grows, in process and on the wire, and the gap between two turns.

`python -m benchmarks.turns [--full]`. A pass is one model call with one call of a tool that does nothing. The cost of the
first pass of a query, which folds what is there, stands beside: it is paid once a prompt.
"""

import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import msgspec

from benchmarks.floor import SameLibraries, Standard, run_shell
from benchmarks.measure import Figure, alternate, show
from benchmarks.scene import Scene, echo_tool, scene
from benchmarks.scripted_wire import WireProcess, wire_process
from ostinato.engine.assemble import open_engine
from ostinato.events import RequestStart
from ostinato.history import History
from ostinato.messages import ToolResult, ToolUse, assistant_fragment, tool_result_message, user_prompt
from ostinato.ports import ModelRequest
from ostinato.records import Record
from ostinato.testing import Reply, ScriptedModel, call, say

SHORT, LONG = 10, 2_000
PASSES = 40
SHELL_TURNS = 20
RESULT = "a result of some length " * 8
"""So that two thousand messages have their place in the window: a summary would make the long conversation a short one."""
HISTORY_ID = "toolu_{}"


def conversation_of(messages: int) -> list[Record]:
    """A prompt, then calls and results, `messages` in all."""
    records: list[Record] = [user_prompt("p", "go")]
    for number in range((messages - 1) // 2):
        block = ToolUse(HISTORY_ID.format(number), "Echo", {"text": "x"})
        records.append(assistant_fragment(f"a{number}", f"r{number}", "m", block))
        records.append(tool_result_message(f"t{number}", ToolResult(block.id, RESULT)))
    return records


def play(_request: ModelRequest, number: int) -> Reply:
    """The in-process model: `PASSES` calls, then an answer."""
    if number <= PASSES:
        return Reply(call("Echo", f"call_{number}", text=f"x{number % 100:02}"))
    return Reply(say("done"))


# ------------------------------------------------------------------------------------------------ passes


async def passes_of_ostinato(place: Scene, messages: int, url: str) -> tuple[float, float]:
    """CPU seconds of a later pass (median) and of the first; over the wire if there is a URL, else in process."""
    model = None if url else ScriptedModel(script=play, is_strict=False)
    options = place.options(url=url, model=model, tools=[echo_tool()])
    async with open_engine(options) as engine:
        engine.history = History.fold(conversation_of(messages))
        async with aclosing(engine.submit_message("and on")) as events:
            return await _passes(events, lambda event: isinstance(event, RequestStart))


async def passes_of_floor(messages: int, url: str) -> tuple[float, float]:
    """The same messages, as bytes that were encoded before; the floor joins and sends them."""

    async def echo(given: Mapping[str, Any]) -> str:
        return given["text"]

    agent = SameLibraries(url, {"Echo": echo}, encoded_history(messages))
    try:
        return await _passes(agent.run("and on"), lambda event: event.type == "message_start")
    finally:
        await agent.aclose()


def encoded_history(messages: int) -> list[bytes]:
    history: list[bytes] = [msgspec.json.encode({"role": "user", "content": "go"})]
    for number in range((messages - 1) // 2):
        call_id = HISTORY_ID.format(number)
        use = {"type": "tool_use", "id": call_id, "name": "Echo", "input": {"text": "x"}}
        result = {"type": "tool_result", "tool_use_id": call_id, "content": RESULT}
        history.append(msgspec.json.encode({"role": "assistant", "content": [use]}))
        history.append(msgspec.json.encode({"role": "user", "content": [result]}))
    return history


async def _passes(events: AsyncIterator[Any], is_start: Callable[[Any], bool]) -> tuple[float, float]:
    """From one start to the next; the way from the prompt to the second start is the first pass."""
    began = time.process_time()
    starts: list[float] = []
    async for event in events:
        if is_start(event):
            starts.append(time.process_time())
    later = [after - before for before, after in pairwise(starts[1:])]
    return statistics.median(later), starts[1] - began


def growth(rounds: int) -> list[Figure]:
    firsts: list[float] = []
    with scene() as place:

        def later_s(messages: int) -> float:
            later, first = anyio.run(partial(passes_of_ostinato, place, messages, ""))
            if messages == LONG:
                firsts.append(first)
            return later

        small, large = alternate(rounds, lambda: later_s(SHORT), lambda: later_s(LONG))
    detail = f"{large * 1e6:.0f} / {small * 1e6:.0f} µs a pass; first pass at {LONG:,}: {statistics.median(firsts) * 1e3:.1f} ms"
    return [
        Figure(f"a pass at {LONG:,} messages / at {SHORT}, in process, CPU", large / small, "×", 1.5, detail)
    ]


def on_the_wire(rounds: int) -> list[Figure]:
    with scene() as place, wire_process() as wire:
        return [_on_the_wire(place, wire, messages, rounds) for messages in (SHORT, LONG)]


def _on_the_wire(place: Scene, wire: WireProcess, messages: int, rounds: int) -> Figure:
    name = f"named-Echo-{PASSES}"
    ours, floor = alternate(
        rounds,
        lambda: anyio.run(partial(passes_of_ostinato, place, messages, wire.url(name)))[0],
        lambda: anyio.run(partial(passes_of_floor, messages, wire.url(name)))[0],
    )
    detail = f"{ours * 1e6:.0f} / {floor * 1e6:.0f} µs"
    return Figure(f"a pass at {messages:,} messages / floor (b), wire, CPU", ours / floor, "×", None, detail)


# ------------------------------------------------------------------------------------------------ the gap


async def gap_of_ostinato(place: Scene, wire: WireProcess, *, is_apart: bool) -> float:
    options = place.options(url=wire.url(f"shell-{SHELL_TURNS}"), pid_namespace=is_apart)
    async with open_engine(options) as engine, aclosing(engine.submit_message("go")) as events:
        async for _ in events:
            pass
    return statistics.median(wire.gaps_s())


def gap_of_standard(wire: WireProcess) -> float:
    for _ in Standard(wire.url(f"shell-{SHELL_TURNS}")).run("go"):
        pass
    return statistics.median(wire.gaps_s())


async def gap_of_same_libraries(wire: WireProcess) -> float:
    async def shell(given: Mapping[str, Any]) -> str:
        return await anyio.to_thread.run_sync(run_shell, given["command"])

    tools: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[str]]] = {"Bash": shell}
    agent = SameLibraries(wire.url(f"shell-{SHELL_TURNS}"), tools)
    async for _ in agent.run("go"):
        pass
    await agent.aclose()
    return statistics.median(wire.gaps_s())


def gap(rounds: int) -> list[Figure]:
    with scene() as place, wire_process() as wire:
        ours, apart, standard, same = alternate(
            rounds,
            lambda: anyio.run(partial(gap_of_ostinato, place, wire, is_apart=False)),
            lambda: anyio.run(partial(gap_of_ostinato, place, wire, is_apart=True)),
            lambda: gap_of_standard(wire),
            lambda: anyio.run(partial(gap_of_same_libraries, wire)),
        )
    detail = (
        f"{ours * 1e3:.1f} / {standard * 1e3:.1f} ms; floor (b) {same * 1e3:.1f} ms ({ours / same:.2f} ×)"
    )
    return [
        Figure("gap between two turns with `true` / floor (a), wall", ours / standard, "×", 2.0, detail),
        Figure(
            "the same in a pid namespace, where allowed",
            apart / standard,
            "×",
            None,
            f"{apart * 1e3:.1f} ms",
        ),
    ]


def measured(rounds: int) -> list[Figure]:
    return [*growth(rounds), *on_the_wire(rounds), *gap(rounds)]


def main(arguments: Sequence[str]) -> None:
    show(measured(11 if "--full" in arguments else 3))


if __name__ == "__main__":
    main(sys.argv[1:])
