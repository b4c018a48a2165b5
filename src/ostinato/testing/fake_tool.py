"""Tools whose calls do what the test wrote: answer, wait, raise, report, ignore cancellation. All runs are logged."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import anyio
import anyio.lowlevel

from ostinato.testing.gate import Gate
from ostinato.testing.run_log import Finished, RunEnd, RunLog, Started
from ostinato.tool import EXCLUSIVE, Access, ReadAccess, Tool, ToolContext, ToolOutcome

if TYPE_CHECKING:
    from ostinato.ports import Workspace

Behaviour = Callable[[Mapping[str, Any], ToolContext], Awaitable[ToolOutcome | str | None]]
"""One thing a fake call does; what it returns, unless None, becomes the call's outcome."""

ANY_INPUT: Mapping[str, Any] = {"type": "object"}


def fake_tool(
    name: str,
    *behaviours: Behaviour,
    log: RunLog | None = None,
    access: ReadAccess | None = None,
    is_read_only: bool = False,
    input_schema: Mapping[str, Any] = ANY_INPUT,
) -> Tool:
    """A tool that does these things in turn and answers `ok` if none of them says otherwise.

    It takes any input. Without `access` it touches what its input says (see `access_in_input`).
    """
    kept = log or RunLog()

    async def run(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome | str:
        kept.entries.append(Started(context.tool_use_id, name, arguments))
        how: RunEnd = "cancelled"
        try:
            outcome = await _in_turn(behaviours, arguments, context)
            how = "returned"
        except Exception:
            how = "raised"
            raise
        finally:
            kept.entries.append(Finished(context.tool_use_id, name, how))
        return outcome

    return Tool(
        name=name,
        description=f"The fake tool {name}",
        input_schema=input_schema,
        call=run,
        access=access or access_in_input,
        is_read_only=lambda _arguments: is_read_only,
    )


async def _in_turn(
    behaviours: Sequence[Behaviour], arguments: Mapping[str, Any], context: ToolContext
) -> ToolOutcome | str:
    outcome: ToolOutcome | str = "ok"
    await anyio.lowlevel.checkpoint()
    for behave in behaviours:
        said = await behave(arguments, context)
        outcome = outcome if said is None else said
    return outcome


def access_in_input(arguments: Mapping[str, Any], workspace: "Workspace") -> Access:
    """`reads` and `writes` list paths in the call's own input; a call that names neither runs alone."""
    if arguments.get("touches_nothing"):
        return Access()
    reads, writes = _paths(arguments.get("reads")), _paths(arguments.get("writes"))
    if not reads and not writes:
        return EXCLUSIVE
    return Access(
        tuple(workspace.resolve(path) for path in reads), tuple(workspace.resolve(path) for path in writes)
    )


def _paths(value: object) -> tuple[str, ...]:
    return tuple(str(path) for path in value) if _is_list(value) else ()


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def answers(outcome: ToolOutcome | str) -> Behaviour:
    """The call ends with this."""

    async def behave(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome | str:
        return outcome

    return behave


def waits_at(gate: Gate | Mapping[str, Gate]) -> Behaviour:
    """The call stands before the gate; a mapping has one gate for each tool use id (others do not wait)."""

    async def behave(_arguments: Mapping[str, Any], context: ToolContext) -> None:
        own = gate if isinstance(gate, Gate) else gate.get(context.tool_use_id)
        if own is not None:
            await own.wait()

    return behave


def raises(error: Exception) -> Behaviour:
    """The call ends with this exception."""

    async def behave(_arguments: Mapping[str, Any], _context: ToolContext) -> None:
        raise error

    return behave


def reports(*texts: str) -> Behaviour:
    """The call shows these as progress."""

    async def behave(_arguments: Mapping[str, Any], context: ToolContext) -> None:
        for text in texts:
            context.progress(text)
            await anyio.lowlevel.checkpoint()

    return behave


def survives_cancellation(gate: Gate) -> Behaviour:
    """The call waits at the gate and ignores every cancellation until it opens."""

    async def behave(_arguments: Mapping[str, Any], _context: ToolContext) -> None:
        with anyio.CancelScope(shield=True):
            await gate.wait()

    return behave


def swallows_cancellation(gate: Gate, answer: ToolOutcome | str = "done all the same") -> Behaviour:
    """The call waits at the gate; cancelled there, it answers as if nothing had happened."""

    async def behave(_arguments: Mapping[str, Any], _context: ToolContext) -> ToolOutcome | str | None:
        try:
            await gate.wait()
        except anyio.get_cancelled_exc_class():
            return answer
        return None

    return behave
