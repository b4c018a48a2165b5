"""What a tool is: a name, a schema, what a call touches, and the call itself; every default is the careful one.

A call ends in exactly one `ToolOutcome`; a tool may raise anything, the executor turns it into an error result.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import msgspec

from ostinato.call_ports import Abort, FileState, Workspace
from ostinato.messages import ResultBlock

InterruptBehaviour = Literal["cancel", "block"]
"""What happens to a running call when the user sends a new message: `cancel` ends it, `block` lets it finish."""

DEFAULT_MAX_RESULT_CHARACTERS = 50_000
"""Semantics reference, tool-result budget: 50k characters a result before it is spilled to a file."""


class Access(msgspec.Struct, frozen=True):
    """What a call touches. Conflicting accesses never overlap; all others may run together.

    `reads` and `writes` are absolute resolved paths; a folder stands for everything below it. `exclusive` conflicts
    with everything, an empty access only with `exclusive`. `reads_anything` conflicts with whatever is written: such a call changes
    nothing, and nobody knows what it looks at.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    exclusive: bool = False
    reads_anything: bool = False

    def covers(self, path: Path, *, is_written: bool) -> bool:
        """Whether a resolved path is what was said to be touched; where nothing was named, nothing is known of it."""
        if self.exclusive or not (self.reads or self.writes):
            return True
        named = self.writes if is_written else (*self.reads, *self.writes)
        return any(path.is_relative_to(folder) for folder in named)


EXCLUSIVE = Access(exclusive=True)
NO_ACCESS = Access()
READS_ANYTHING = Access(reads_anything=True)


AskSideModel = Callable[[str, str], Awaitable[str | None]]
"""Asks a small model, given its instructions and a prompt; None when it gives no answer."""


def hides_nothing(_path: Path) -> bool:
    return False


class Ended(Protocol):
    """Whether work is over, and how to wait for that; an `anyio.Event` is one."""

    def is_set(self) -> bool: ...

    async def wait(self) -> None: ...


def can_be_stopped(_ended: Ended) -> None:
    """Most work ends when its call is cancelled."""


class ToolContext(msgspec.Struct, frozen=True):
    """What a running call may use. `progress` takes text for live display: lossy, never blocks. `is_hidden` says of an
    absolute path that its content must not be shown, although the call itself may run; it may look at the file system.
    """

    tool_use_id: str
    workspace: Workspace
    files: FileState
    abort: Abort
    progress: Callable[[str], None]
    forgiving_edit: bool = False
    is_hidden: Callable[[Path], bool] = hides_nothing
    ask_side_model: AskSideModel | None = None
    access: Access = NO_ACCESS
    """What was judged: a path that leads elsewhere by now must not be followed."""
    cannot_be_stopped: Callable[[Ended], None] = can_be_stopped
    """Told by a call whose work goes on whatever becomes of the call, with what is set (in the event loop) once the work has ended:
    then the model is not told that it was stopped, and conflicting calls wait for it a while.
    """


class ToolOutcome(msgspec.Struct, frozen=True):
    """How a call ended. `content` goes to the model; `display` (JSON values) only to front ends. In it `is_incomplete` says that there
    was more than the content shows.
    """

    content: str | tuple[ResultBlock, ...]
    is_error: bool = False
    is_timed_out: bool = False
    display: Mapping[str, Any] | None = None


def failure(text: str) -> ToolOutcome:
    """A call that did not do what was asked; the model reads why."""
    return ToolOutcome(text, is_error=True)


CallTool = Callable[[Mapping[str, Any], ToolContext], Awaitable[ToolOutcome | str]]
ReadAccess = Callable[[Mapping[str, Any], Workspace], Access]
CheckInput = Callable[[Mapping[str, Any]], str | None]
LookAhead = Callable[[Mapping[str, Any], ToolContext], Awaitable[str | None]]


class Tool(msgspec.Struct, frozen=True):
    """A tool the model may call.

    `input_schema` is a JSON Schema of type object. `validate` names what is wrong with an input beyond the schema, or
    returns None. `access` and `is_read_only` are asked with validated input; a raised exception means the careful answer.
    `waits`: waiting for something is what the call is for, so that making it again and again is no loop. `essential`: what of an input
    decides what the call does; calls that differ in nothing else are the same call made again.
    `timeout_s`: a call that runs longer is stopped; None for the engine's default (`QueryConfig.tool_timeout_s`), `math.inf` for a
    tool that keeps time itself or waits for a person.
    `cannot_succeed`: asked before a person is asked about a call (never where rules decide): the words in which the call itself would
    refuse if it ran now (it may raise them as UsageError), or None. It changes nothing; what it raises besides, and what takes
    longer than two seconds, says nothing.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: CallTool
    aliases: tuple[str, ...] = ()
    validate: CheckInput = lambda _input: None
    access: ReadAccess = lambda _input, _workspace: EXCLUSIVE
    is_read_only: Callable[[Mapping[str, Any]], bool] = lambda _input: False
    interrupt_behaviour: InterruptBehaviour = "block"
    waits: Callable[[Mapping[str, Any]], bool] = lambda _input: False
    essential: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda tool_input: tool_input
    timeout_s: float | None = None
    max_result_characters: int = DEFAULT_MAX_RESULT_CHARACTERS
    flat_parameters: tuple[str, ...] = msgspec.field(default=())
    """The parameters a small model is offered, all strings; empty means all."""
    always_load: bool = False
    """Never left to be found with ToolSearch, however many tools there are."""
    unshown_inputs: Mapping[str, str] = MappingProxyType({})
    """Inputs that are taken though the schema does not show them: older names, each with the name it has now; "" for what says nothing here
    and is left out before anybody judges the call.
    """
    cannot_succeed: LookAhead | None = None


def build_tool(
    name: str,
    *,
    description: str,
    input_schema: Mapping[str, Any],
    call: CallTool,
    is_read_only: bool = False,
    access: ReadAccess | None = None,
) -> Tool:
    """A tool from its parts. Left-out parts get the careful default: writes, runs alone, is not interrupted."""
    return Tool(
        name=name,
        description=description,
        input_schema=input_schema,
        call=call,
        is_read_only=lambda _input: is_read_only,
        access=access or (lambda _input, _workspace: NO_ACCESS if is_read_only else EXCLUSIVE),
    )


def find_tool(tools: Sequence[Tool], name: str) -> Tool | None:
    """The tool of that name, else of that alias (old transcripts use old names)."""
    for tool in tools:
        if tool.name == name:
            return tool
    return next((tool for tool in tools if name in tool.aliases), None)
