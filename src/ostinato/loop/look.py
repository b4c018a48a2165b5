"""A look at a call before a person is asked about it: what its own tool knows to be in vain is not asked. It costs nobody much time,
and what goes wrong with it says nothing.
"""

from typing import Final

import anyio

from ostinato.errors import UsageError
from ostinato.loop.alarms import SetAlarm
from ostinato.loop.call import Prepared
from ostinato.loop.cancellation import must_pass
from ostinato.loop.intent import IntendingWorkspace
from ostinato.records import FileIntended
from ostinato.state import ToolUseContext
from ostinato.tool import LookAhead, ToolContext

LOOK_S: Final = 2.0
"""Meant to be enough to read and search most files that are edited; after it the question is put all the same."""


async def known_refusal(call: Prepared, context: ToolUseContext, set_alarm: SetAlarm) -> str | None:
    """The words in which the tool would refuse the call if it ran now; None if it would not, or if that is not to be known."""
    look = call.tool.cannot_succeed
    if look is None:
        return None
    scope = anyio.CancelScope()
    forget = set_alarm(LOOK_S, scope.cancel)
    try:
        with scope:
            return await _said(look, call, context)
    except UsageError as error:  # as when the call itself raises it
        return str(error)
    except BaseException as error:
        if must_pass(error):
            raise
    finally:
        forget()
    return None


async def _said(look: LookAhead, call: Prepared, context: ToolUseContext) -> str | None:
    said: object = await look(call.input, _context(call, context))
    return said if isinstance(said, str) and said else None


def _context(call: Prepared, context: ToolUseContext) -> ToolContext:
    return ToolContext(
        tool_use_id=call.block.id,
        workspace=IntendingWorkspace(context.workspace, call.block.id, _no_change, call.access),
        files=context.files,
        abort=context.abort,
        progress=lambda _text: None,
        forgiving_edit=context.model.forgiving_edit,
        access=call.access,
    )


def _no_change(_intended: FileIntended) -> None:
    raise RuntimeError("a look at a call changes nothing")
