"""What was typed while work went on. Nothing typed is lost: each text is sent once, given back to be edited, or still here.

An arrival is written before anybody acts on it. A text leaves the queue by the message with its uuid (one record, so a crash
finds it either sent or still waiting), or by a record that says it will not be sent. One that is lent to an editor is held by the
journal until the editor says what became of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.engine.option_types import check_uuid
from ostinato.engine.prompt_text import checked_prompt
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.errors import UsageError
from ostinato.messages import AttachmentMessage, UserMessage
from ostinato.records import PromptMode, QueueArrived, QueuePriority, QueueTaken, Record
from ostinato.submissions import QueuedPrompt

KEPT_ARRIVALS: Final = 1_000
"""Of texts that left the queue: the places of those that may be given back, and the uuids that nobody may use again."""

_RANK: Final = {"now": 0, "next": 1, "later": 2}

Write = Callable[[Record], None]
ModeOf = Callable[[str], PromptMode]


def pending_prompts(records: Iterable[Record]) -> tuple[QueuedPrompt, ...]:
    """What still waited when the session was left, in the order of arrival."""
    waiting: dict[str, QueuedPrompt] = {}
    for record in records:
        match record:
            case QueueArrived():
                waiting[record.prompt_uuid] = QueuedPrompt(
                    record.prompt_uuid, record.text, record.priority, record.mode
                )
            case QueueTaken():
                for uuid in record.prompt_uuids:
                    waiting.pop(uuid, None)
            case UserMessage() | AttachmentMessage():
                waiting.pop(record.uuid, None)
            case _:
                pass
    return tuple(waiting.values())


class PromptQueue:
    """The prompts of one engine; implements the loop's `PromptSource`. Everything here is synchronous.

    `write` puts a record into the session's journal. `pending` is what a resumed session had left. `mode_of` is the engine's own
    reading of a text; only what it will carry out itself leaves the journal's account before it is done.
    """

    def __init__(
        self,
        write: Write,
        new_uuid: Callable[[], str],
        pending: Sequence[QueuedPrompt] = (),
        mode_of: ModeOf = prompt_mode,
    ) -> None:
        self._write = write
        self._mode_of = mode_of
        self._new_uuid = new_uuid
        self._waiting: list[QueuedPrompt] = []
        self._lent: dict[str, QueuedPrompt] = {}
        self._earlier: set[str] = set()
        self._arrival: dict[str, int] = {}
        self._count = 0
        self._interrupt: Callable[[], None] | None = None
        self._enter_earlier(pending)

    def __len__(self) -> int:
        return len(self._waiting)

    def on_now(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when a prompt comes that cannot wait; it is in the queue by then."""
        self._interrupt = interrupt

    def put(
        self,
        text: str,
        *,
        priority: QueuePriority = "next",
        uuid: str | None = None,
    ) -> QueuedPrompt:
        """Write the text down and let it wait.

        Raises UsageError (an empty or far too long text, a uuid that waits or waited lately) and JournalError; then the text is
        not in the queue.
        """
        clean = checked_prompt(text)
        check_uuid(uuid)
        prompt = QueuedPrompt(uuid or self._new_uuid(), clean, priority, self._mode_of(clean))
        if prompt.uuid in self._arrival:
            raise UsageError(
                f"a prompt with the uuid `{prompt.uuid}` came before", hint="give each prompt its own"
            )
        self._write(QueueArrived(prompt.uuid, prompt.text, prompt.priority, prompt.mode))
        self._enter(prompt)
        if prompt.priority == "now" and self._interrupt is not None:
            self._interrupt()
        return prompt

    def take_back(self, uuid: str) -> str | None:
        """The text, for its editor; it will not be sent. None if it is not here (any more)."""
        for prompt in self._waiting:
            if prompt.uuid == uuid:
                self._write(QueueTaken((uuid,), "taken_back"))
                self._waiting.remove(prompt)
                return prompt.text
        return None

    def lend(self, uuid: str) -> str | None:
        """The text, for an editor; it is not sent. Until `settle` is called for it a crash gives it back to the queue. None if it
        is not here (any more).
        """
        for prompt in self._waiting:
            if prompt.uuid == uuid:
                self._waiting.remove(prompt)
                self._lent[uuid] = prompt
                return prompt.text
        return None

    def settle(self, uuids: Iterable[str]) -> None:
        """What was lent under these was sent in another form, or dropped. Raises JournalError; then nothing changed."""
        known = tuple(uuid for uuid in uuids if uuid in self._lent)
        if known:
            self._write(QueueTaken(known, "taken_back"))
            for uuid in known:
                del self._lent[uuid]

    @property
    def arrivals(self) -> int:
        """How many texts have come until now."""
        return self._count

    def place_of(self, uuid: str) -> int:
        """Where this text stands among all that came, from 1; 0 if it is unknown (any more)."""
        return self._arrival.get(uuid, 0)

    def left_earlier(self) -> tuple[QueuedPrompt, ...]:
        """What waits since an earlier run of its session: nobody has asked for it in this one."""
        return tuple(prompt for prompt in self.pending() if prompt.uuid in self._earlier)

    def pending(self) -> tuple[QueuedPrompt, ...]:
        """What waits, the most urgent first, else in the order of arrival."""
        return tuple(sorted(self._waiting, key=lambda prompt: _RANK[prompt.priority]))

    def take_next(self) -> QueuedPrompt | None:
        """Take the first of `pending()` for a query, command or shell line of its own; None if nothing waits.

        A command or shell line counts as carried out from here on: it is never repeated by itself. A prompt leaves the journal's
        account when its message is written with its uuid; if that fails, give it back.
        """
        first = next(iter(self.pending()), None)
        return None if first is None else self.take(first.uuid)

    def take(self, uuid: str) -> QueuedPrompt | None:
        """Take this one as `take_next` does; None if it is not here (any more)."""
        wanted = next((prompt for prompt in self._waiting if prompt.uuid == uuid), None)
        if wanted is None:
            return None
        if wanted.mode != "prompt":
            self._write(QueueTaken((uuid,), "carried_out"))
        self._waiting.remove(wanted)
        return wanted

    def drain(self) -> Sequence[QueuedPrompt]:
        """Take the prompts that may join a running query. Commands, shell lines and what is meant for later stay."""
        joining = [
            prompt for prompt in self.pending() if prompt.mode == "prompt" and prompt.priority != "later"
        ]
        self._waiting = [prompt for prompt in self._waiting if prompt not in joining]
        return joining

    def give_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        """They were not sent: put them back to their places."""
        self._waiting.extend(prompts)
        self._waiting.sort(key=lambda prompt: self._arrival.get(prompt.uuid, 0))

    def move_to(
        self, write: Write, pending: Sequence[QueuedPrompt] = (), *, after: int = 0
    ) -> tuple[str, ...]:
        """From now on the journal of another session holds the queue. Of what waits, what came later than the first `after` texts
        moves along, before what waited there, and so does what is lent; the rest stays with its session. Returns the uuids of that.
        """
        staying = [prompt for prompt in self._waiting if self.place_of(prompt.uuid) <= after]
        moved = [prompt for prompt in self._waiting if prompt not in staying]
        moving = [*moved, *self._lent.values()]
        for prompt in moving:
            write(QueueArrived(prompt.uuid, prompt.text, prompt.priority, prompt.mode))
        if moving:
            self._write(QueueTaken(tuple(prompt.uuid for prompt in moving), "moved"))
        self._write, self._waiting = write, moved
        self._enter_earlier(pending)
        return tuple(prompt.uuid for prompt in staying)

    def _enter_earlier(self, pending: Sequence[QueuedPrompt]) -> None:
        self._earlier = {prompt.uuid for prompt in pending}
        for prompt in pending:
            self._enter(prompt)

    def _enter(self, prompt: QueuedPrompt) -> None:
        """What an earlier run would have carried out, and this one would not, is words; words never become more than that."""
        if prompt.mode != self._mode_of(prompt.text):
            prompt = replace(prompt, mode="prompt")
        self._count += 1
        self._arrival[prompt.uuid] = self._count
        self._waiting.append(prompt)
        if len(self._arrival) > len(self._waiting) + 2 * KEPT_ARRIVALS:
            waiting = {prompt.uuid for prompt in self._waiting}
            oldest = self._count - KEPT_ARRIVALS
            self._arrival = {
                uuid: place for uuid, place in self._arrival.items() if place > oldest or uuid in waiting
            }
