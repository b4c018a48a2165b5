"""Tool hooks: functions that are told of calls that ran, and may say something to the model or let the query end there.

What they know and what they can answer stands here; who asks them is `loop/tool_hooks.py`.
"""

from typing import Literal, Protocol

import msgspec

from ostinato.messages import ToolResult, ToolUse
from ostinato.ports import Workspace


class ToolRan(msgspec.Struct, frozen=True):
    """A call that ran to its end. `call` has the input with which it ran, `result` is what the model reads of it.

    `outcome`: `error` and `timed_out` are told too; a call that was denied or stopped did not run to its end.
    """

    call: ToolUse
    result: ToolResult
    outcome: Literal["ok", "error", "timed_out"]
    is_read_only: bool
    workspace: Workspace


class NoteForModel(msgspec.Struct, frozen=True):
    """The model reads `text` behind the results."""

    text: str


class StopContinuation(msgspec.Struct, frozen=True):
    """The query ends here, as `hook_stopped`, with every call answered; the user reads `message`."""

    message: str = ""


AfterToolDecision = NoteForModel | StopContinuation


class AfterTool(Protocol):
    """Asked for each call when all calls of a reply are over, not after an abort; answering None says nothing. All hooks are asked
    about all calls at the same time. One that raises, takes too long or answers something else is named to the user, and the query
    goes on.
    """

    async def __call__(self, ran: ToolRan, /) -> AfterToolDecision | None: ...
