"""Whose turn it is: one submission runs, the others wait in the queue and each hears what became of its text.

A text either gets a turn of its own, in the queue's order, or joined the query that ran before, or was withdrawn, or still waits
because its turn could not be written down.
"""

from collections.abc import Sequence
from typing import TypeAlias

import anyio
import msgspec

from ostinato.engine.prompt_queue import PromptQueue
from ostinato.errors import JournalError
from ostinato.events import Result
from ostinato.submissions import QueuedPrompt


class OwnTurn(msgspec.Struct, frozen=True):
    """The text is out of the queue and its query may begin."""

    prompt: QueuedPrompt


class Joined(msgspec.Struct, frozen=True):
    """The query before took the text up; `result` is that query's, None if its consumer left."""

    result: Result | None


class Withdrawn(msgspec.Struct, frozen=True):
    """The text was taken back, or the engine was closed; it was not sent."""


class StillWaiting(msgspec.Struct, frozen=True):
    """Its turn had come, and the session file could not be written: the text stays in the queue, and may be sent later."""

    why: JournalError


Fate: TypeAlias = OwnTurn | Joined | Withdrawn | StillWaiting


class _Ticket(msgspec.Struct):
    told: anyio.Event = msgspec.field(default_factory=anyio.Event)
    fate: Fate | None = None

    def tell(self, fate: Fate) -> None:
        if self.fate is None:
            self.fate = fate
            self.told.set()


class Turns:
    """Everything but the waiting is synchronous."""

    def __init__(self, queue: PromptQueue) -> None:
        self._queue = queue
        self._is_taken = False
        self._tickets: dict[str, _Ticket] = {}
        self._freed: anyio.Event | None = None

    @property
    def is_taken(self) -> bool:
        return self._is_taken

    def begin(self) -> bool:
        """Take the turn; False if somebody has it."""
        if self._is_taken:
            return False
        self._is_taken = True
        return True

    async def freed(self) -> None:
        """Wait until nobody has the turn."""
        while self._is_taken:
            if self._freed is None:
                self._freed = anyio.Event()
            await self._freed.wait()

    async def wait(self, uuid: str) -> Fate:
        """What became of the text that was put into the queue under this uuid. Leaving the wait withdraws it."""
        ticket = self._tickets[uuid] = _Ticket()
        try:
            await ticket.told.wait()
        except BaseException:
            self._left(uuid, ticket)
            raise
        finally:
            self._tickets.pop(uuid, None)
        return ticket.fate or Withdrawn()

    def end(self, joined: Sequence[str] = (), result: Result | None = None) -> None:
        """Give the turn on. `joined` are the texts that the query took up."""
        for uuid in joined:
            self._tell(uuid, Joined(result))
        for waiting in self._queue.pending():
            if self._hands_over(waiting):
                return
        self._is_taken = False
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    def withdraw(self, *uuids: str) -> None:
        """These texts were taken out of the queue, and not to be sent."""
        for uuid in uuids:
            self._tell(uuid, Withdrawn())

    def withdraw_all(self) -> None:
        """No turn will come any more. The texts stay in the queue, for the next run of the session."""
        self.withdraw(*self._tickets)

    def _tell(self, uuid: str, fate: Fate) -> None:
        ticket = self._tickets.get(uuid)
        if ticket is not None:
            ticket.tell(fate)

    def _hands_over(self, waiting: QueuedPrompt) -> bool:
        ticket = self._tickets.get(waiting.uuid)
        if ticket is None or ticket.fate is not None:
            return False
        try:
            taken = self._queue.take(waiting.uuid)
        except JournalError as error:
            ticket.tell(StillWaiting(error))
            return False
        ticket.tell(Withdrawn() if taken is None else OwnTurn(taken))
        return taken is not None

    def _left(self, uuid: str, ticket: _Ticket) -> None:
        """Nobody waits for this text any more: it is not sent, and a turn that it had goes on."""
        match ticket.fate:
            case OwnTurn(prompt):
                self._queue.give_back((prompt,))
                try:
                    self._queue.take_back(uuid)
                finally:  # a session file that cannot be written must not keep the turn from the others
                    self.end()
            case None:
                ticket.fate = Withdrawn()
                self._queue.take_back(uuid)
            case Joined() | Withdrawn() | StillWaiting():
                pass
