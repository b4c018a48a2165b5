"""Runs the calls of one reply, all at the same time, and answers each; a tool that fails is an answer too."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec

from ostinato.engine.clock import SystemClock
from ostinato.engine.gate import Gate
from ostinato.engine.known_secrets import KnownSecrets
from ostinato.engine.options import CanUseTool
from ostinato.engine.seen_files import SeenFiles
from ostinato.home_folder import home_of
from ostinato.loop.abort import AbortSignal
from ostinato.loop.access import conflicts
from ostinato.loop.alarms import Alarms, SetAlarm
from ostinato.loop.call import CallEnd, Prepared, permitted, prepare_call, run_call
from ostinato.loop.described import Mask
from ostinato.loop.look import known_refusal
from ostinato.messages import ToolResult, ToolUse
from ostinato.permissions.verdict import Policy
from ostinato.ports import CannotSucceed, FileState, ModelFacts, QuerySource, QueryTracking, Workspace
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.simple.registry import TOOL_REGISTRY, admitted_registry
from ostinato.state import ToolUseContext
from ostinato.tool import Tool

OnToolStart = Callable[[str, Mapping[str, Any]], None]
OnToolEnd = Callable[[str, ToolResult], None]

ANY_MODEL = ModelFacts(provider="simple", id="simple", context_window=200_000, max_output_tokens=8_000)


def _here() -> Workspace:
    return LocalWorkspace(Path.cwd(), (Path.cwd(),))


class Surroundings(msgspec.Struct, frozen=True):
    """What calls share: the folder, the files seen so far, who is asked, and the abort signal.

    Without `can_use_tool` only calls that are proven to read inside the folder run; the others are denied.
    """

    workspace: Workspace = msgspec.field(default_factory=_here)
    files: FileState = msgspec.field(default_factory=SeenFiles)
    can_use_tool: CanUseTool | None = None
    signal: AbortSignal = msgspec.field(default_factory=AbortSignal)


async def execute_all_tools(
    blocks: Sequence[ToolUse],
    on_tool_start: OnToolStart | None = None,
    on_tool_end: OnToolEnd | None = None,
    *,
    registry: Mapping[str, Tool] = TOOL_REGISTRY,
    surroundings: Surroundings | None = None,
) -> list[ToolResult]:
    """One result per block, in the order of the blocks. Never raises for a tool's failure; raises UsageError for a
    registry with a tool that cannot be sent to any model.

    The callbacks get the tool's name with its input, and with its result. Unlike the engine's executor this overlaps
    everything, also calls that touch the same file.
    """
    around = surroundings or Surroundings()
    context = ToolUseContext(
        tools=tuple(admitted_registry(registry).values()),
        model=ANY_MODEL,
        workspace=around.workspace,
        files=around.files,
        abort=around.signal,
        source=QuerySource("sdk"),
        tracking=QueryTracking("simple"),
    )
    mask = KnownSecrets(os.environ, newest_key=str).mask
    gate = Gate(
        Policy(),
        around.can_use_tool,
        home=home_of(os.environ),
        builtin_names=frozenset(TOOL_REGISTRY),
        mask=mask,
    )
    calls = [prepare_call(block, context, mask) for block in blocks]
    results: dict[int, ToolResult] = {}

    async def execute(place: int, block: ToolUse) -> None:
        if on_tool_start:
            on_tool_start(block.name, block.input)
        look = partial(_known_refusal, calls, place, context, alarms.set)
        results[place] = (await _ended(calls[place], context, gate, mask, look)).result
        if on_tool_end:
            on_tool_end(block.name, results[place])

    async with anyio.create_task_group() as tasks:
        alarms = Alarms(tasks.start_soon, SystemClock())
        for place, block in enumerate(blocks):
            tasks.start_soon(execute, place, block)
    return [results[place] for place in range(len(blocks))]


async def _ended(
    call: Prepared | CallEnd, context: ToolUseContext, gate: Gate, mask: Mask, look: CannotSucceed
) -> CallEnd:
    if isinstance(call, CallEnd):
        return call
    answer = await permitted(call, gate, context, mask, look)
    if isinstance(answer, CallEnd):
        return answer
    return await run_call(answer[0], context, lambda _text: None, lambda _intended: None, mask)


async def _known_refusal(
    calls: Sequence[Prepared | CallEnd],
    place: int,
    context: ToolUseContext,
    set_alarm: SetAlarm,
    *,
    is_patient: bool,
) -> str | None:
    """Another call of the reply may be what lets this one succeed, and here none waits for another."""
    del is_patient
    call = calls[place]
    others = [one for at, one in enumerate(calls) if at != place and isinstance(one, Prepared)]
    if isinstance(call, CallEnd) or any(conflicts(call.access, one.access) for one in others):
        return None
    return await known_refusal(call, context, set_alarm)
