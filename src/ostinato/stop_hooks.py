"""Stop hooks: functions that are asked before a query ends, and may send the model back to work or end it by their own word.

What they know and what they can answer stands here; who asks them is `loop/stop_hooks.py`.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from ostinato.messages import Message


class Stopping(msgspec.Struct, frozen=True):
    """The model has answered and asks for nothing more. `messages` is the conversation as the model sees it, `answer` the text
    of its last reply.

    `stop_hook_active`: a hook has sent the model back before in this query. `blocks`: how often; after `max_blocks` the
    query ends whatever the hooks say.
    """

    messages: tuple[Message, ...]
    answer: str
    stop_hook_active: bool
    blocks: int
    max_blocks: int


class AllowStop(msgspec.Struct, frozen=True):
    """The query may end. Answering None says the same."""


class BlockStop(msgspec.Struct, frozen=True):
    """The model goes on; it reads `message`, which says what is missing."""

    message: str


class PreventStop(msgspec.Struct, frozen=True):
    """The query ends here, as `stop_hook_prevented`, also if another hook wants it to go on; the user reads `message`."""

    message: str = ""


StopDecision = AllowStop | BlockStop | PreventStop


class StopHook(Protocol):
    """Asked when the model answered without calls; not after an error, a refusal or an abort. All hooks are asked at the same
    time. One that raises, takes too long or answers something else is named to the user and counts as `AllowStop`.
    """

    async def __call__(self, stopping: Stopping, /) -> StopDecision | None: ...


class StopFailed(msgspec.Struct, frozen=True):
    """A query ended by an error of the model or its refusal: the Terminal's reason, what the user was told, and the kind of error."""

    reason: str
    message: str
    kind: str = ""


StopFailureHook = Callable[[StopFailed], Awaitable[None]]
"""Told when a query ends so; what it returns changes nothing."""
