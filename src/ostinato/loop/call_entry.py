"""Where one call of a response stands: from the moment it was registered until it has its result, and longer where its work goes on."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import anyio
import msgspec

from ostinato.loop.access import Touched
from ostinato.loop.call import CallOutcome
from ostinato.loop.turn_tasks import TurnTask
from ostinato.messages import ToolUse, UserMessage
from ostinato.tool import Ended, InterruptBehaviour

CallPhase = Literal["queued", "executing", "completed"]


class CallEntry(msgspec.Struct):
    """Belongs to the executor alone, which changes it as the call goes on."""

    block: ToolUse
    touched: Touched
    is_read_only: bool = False
    interrupt: InterruptBehaviour = "cancel"
    phase: CallPhase = "queued"
    is_waiting: bool = False
    started_s: float | None = None
    ran_with: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    outcome: CallOutcome | None = None
    message: UserMessage | None = None
    may_start: anyio.Event | None = None
    """Set when the call may start; there is none where nothing is in its way."""
    done: anyio.Event = msgspec.field(default_factory=anyio.Event)
    scope: anyio.CancelScope = msgspec.field(default_factory=anyio.CancelScope)
    task: TurnTask | None = None
    late_after_s: float | None = None
    """The time that it was given, once that is over."""
    work_ended: Ended | None = None
    """Of work that goes on whatever becomes of the call; it is set once that has ended."""
    given_up: anyio.Event | None = None
    """Set when a call that was given up has ended after all."""
    forget_alarm: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        return self.phase == "completed"

    @property
    def runs_on(self) -> bool:
        """Whether its work cannot be stopped, and is not over."""
        return self.work_ended is not None and not self.work_ended.is_set()

    def cannot_be_stopped(self, ended: Ended) -> None:
        self.work_ended = ended

    @property
    def may_end(self) -> bool:
        """Whether a new message of the user lets the call end by itself."""
        return self.started_s is not None and self.interrupt == "block"

    def take_back_alarm(self) -> None:
        forget, self.forget_alarm = self.forget_alarm, None
        if forget is not None:
            forget()
