"""One conversation as a program holds it: submit texts, interrupt, change model, mode or session, ask what was said and spent.

Every submission that is accepted ends with exactly one `Result`, whatever happens inside; one whose consumer leaves gets none.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import assert_never

import anyio
from msgspec.structs import replace

from ostinato.engine.conversation_context import ConversationContext, context_of
from ostinato.engine.model_choice import ChosenModel, close_model
from ostinato.engine.no_model import problem_of
from ostinato.engine.option_types import check_model_name, check_uuid
from ostinato.engine.parts import Begun, EngineMaker, Parts, end_processes
from ostinato.engine.prompt_queue import ModeOf, PromptQueue
from ostinato.engine.prompt_reader import PromptReader, pass_on
from ostinato.engine.prompt_text import checked_prompt
from ostinato.engine.queue_writer import QueueWriter, hears_nothing
from ostinato.engine.session_model import kept_name
from ostinato.engine.setting import Setting
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.engine.slash.reply import Leave, NextStep, OpenSession, StartAnew
from ostinato.engine.submission import Submission, Ways
from ostinato.engine.talk import Talk
from ostinato.engine.turns import OwnTurn, Turns
from ostinato.engine.unsent import unsent_result
from ostinato.engine.used_uuids import UsedUuids
from ostinato.errors import OstinatoError, UsageError
from ostinato.events import Event, ModelCost
from ostinato.history import History
from ostinato.loop.run import SETTLE_S
from ostinato.messages import Message, Usage, UserMessage
from ostinato.option_values import PermissionMode
from ostinato.ports import Abort, ModelFacts
from ostinato.records import PermissionDecided, SettingChanged
from ostinato.submissions import AbortReason, QueuedPrompt


class QueryEngine:
    """`engine/assemble.py` makes it; `async with open_engine(...)` closes it. Not for use from several threads."""

    def __init__(
        self,
        maker: EngineMaker,
        parts: Parts,
        begun: Begun,
        *,
        reader_for: Callable[["QueryEngine"], PromptReader] = lambda _engine: pass_on,
        mode_of: ModeOf = prompt_mode,
        has_to_read: Callable[[str], bool] = lambda _text: True,
    ) -> None:
        """`reader_for` makes the reader of the texts that `has_to_read`; all others are for the model."""
        self._queue_writer = QueueWriter(parts.place.journal)
        self.queue = PromptQueue(self._queue_writer, parts.deps.ids.uuid, begun.pending, mode_of)
        self.queue.on_now(lambda: self.interrupt("interrupt"))
        self._talk = Talk(maker, parts, begun.history, self.queue)
        self._turns = Turns(self.queue)
        self._queue_writer.taken_back = self._turns.withdraw
        self._used = UsedUuids()
        self._retired: list[ChosenModel] = []
        self._is_closed = False
        self._typed_before = 0  # so many texts had come when the one that has the turn was typed
        # A model and a session that change at once would each bring back what the other has just replaced.
        self._changing = anyio.Lock()
        self._ways = Ways(reader_for(self), has_to_read, self._take_step, self._turns.end)

    # -------------------------------------------------------------------------------------------- submissions

    async def submit_message(self, prompt: str, *, uuid: str | None = None) -> AsyncGenerator[Event, None]:
        """Events of one query, its `Terminal`, then exactly one `Result`. The prompt is written before the first model call.

        While another submission runs the text waits in `queue`: it may join that query after a round of tools, and then ends with
        a `Result` alone, or it gets its own turn in order. A text that the engine answers itself has no `Terminal`. `uuid` names
        the prompt's message; None makes a new one. Raises UsageError for an empty or far too long text, a uuid that came before
        and a closed engine, and JournalError if a text that must wait cannot be written down; then nothing is sent.
        """
        text = checked_prompt(prompt)
        self._check_open()
        self._check_new(uuid)
        if self._turns.begin():
            self._typed_before = self.queue.arrivals
            submission = Submission(
                self._talk, QueuedPrompt(uuid or self._new_uuid(), text), self._ways, is_queued=False
            )
        else:
            waiting = self.queue.put(text, uuid=uuid)
            fate = await self._turns.wait(waiting.uuid)
            if not isinstance(fate, OwnTurn):
                yield unsent_result(fate, self.session_id, self._new_uuid())
                return
            self._typed_before = self.queue.place_of(fate.prompt.uuid)
            submission = Submission(self._talk, fate.prompt, self._ways, is_queued=True)
        try:
            while (batch := await submission.receive()) is not None:
                for event in batch:
                    yield event
        finally:
            await submission.leave()

    async def run_queue(self) -> AsyncGenerator[Event, None]:
        """Submit what waits in `queue`, each text on its own and in order, until nothing waits. Events as of `submit_message`.

        Raises JournalError when a turn cannot be written down; the text still waits then.
        """
        self._check_open()
        while True:
            await self._turns.freed()
            if self._is_closed:
                return
            self._turns.begin()
            prompt = None
            try:
                prompt = self.queue.take_next()
            finally:
                if prompt is None:
                    self._turns.end()
            if prompt is None:
                return
            self._typed_before = self.queue.place_of(prompt.uuid)
            submission = Submission(self._talk, prompt, self._ways, is_queued=True)
            try:
                while (batch := await submission.receive()) is not None:
                    for event in batch:
                        yield event
            finally:
                await submission.leave()

    def interrupt(self, reason: AbortReason = "user") -> None:
        """End the running query, if there is one; its `Terminal` and `Result` still come, and what waits gets its turn."""
        if self._talk.running is not None:
            self._talk.running.abort.abort(reason)

    @property
    def is_busy(self) -> bool:
        """Whether a submission has the turn."""
        return self._turns.is_taken

    # -------------------------------------------------------------------------------------------- what was said and spent

    @property
    def setting(self) -> Setting:
        return self._talk.parts.setting

    @property
    def session_id(self) -> str:
        return self._talk.parts.place.session_id

    @property
    def history(self) -> History:
        """What was said until now, in a running query too."""
        return self._talk.so_far()

    @history.setter
    def history(self, history: History) -> None:
        """Between queries only: say that this was said before. Nothing is written."""
        self._talk.said_before(history)

    async def whole_history(self) -> History:
        """With what a summary has hidden, which a long conversation does not hold in memory. Raises JournalError."""
        return await self._talk.whole()

    def context(self, abort: Abort) -> ConversationContext:
        """What fills the window, to be looked at and changed between queries."""
        return context_of(self._talk, abort)

    def get_messages(self, *, since: str | None = None) -> list[Message]:
        """The conversation as the model sees it; with `since`, what came after the message with that uuid (everything if there
        is none).
        """
        messages = self.history.view()
        places = [place for place, message in enumerate(messages) if message.uuid == since]
        return messages[places[-1] + 1 :] if places else messages

    @property
    def usage(self) -> Usage:
        """Tokens of the whole session, earlier runs of it and summaries included: what the `tree_usage` of its results adds up to."""
        return self._talk.spent.usage

    @property
    def costs(self) -> Mapping[str, ModelCost]:
        """The same by model, in dollars where the prices are known."""
        return self._talk.costs()

    @property
    def model(self) -> ModelFacts:
        """What answers the next query, with the window that it has turned out to have."""
        return self._talk.believed(self._talk.parts.chosen.facts)

    @property
    def model_problem(self) -> OstinatoError | None:
        """Why no model can be asked; None when one can."""
        return problem_of(self._talk.parts.chosen.model)

    # -------------------------------------------------------------------------------------------- changes

    async def set_model(self, name: str) -> ModelFacts:
        """From the next query on; what was said stays. Raises ConfigurationError or LocalModelError, and then changes nothing."""
        self._check_open()
        check_model_name(name)
        async with self._changing:
            chosen = self._talk.maker.choose_model(name)
            try:
                parts = await self._talk.maker.parts(self._talk.parts.place, chosen)
                self._check_open()
                self._talk.record(SettingChanged("model", kept_name(chosen.facts)))
            except BaseException:
                with anyio.move_on_after(SETTLE_S, shield=True):
                    await close_model(chosen)
                raise
            self._retired.append(self._talk.parts.chosen)
            self._talk.adopt(parts)
        await self._close_retired()
        return self._talk.believed(chosen.facts)

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """For the very next decision, in a running query too. Raises UsageError."""
        self._check_open()
        self._talk.maker.set_permission_mode(mode)
        parts = self._talk.parts
        self._talk.parts = replace(parts, setting=replace(parts.setting, permission_mode=mode))
        self._talk.record(SettingChanged("permission_mode", mode))

    def record(self, fact: PermissionDecided | UserMessage) -> None:
        """Write down what happened beside the queries. Raises JournalError."""
        self._talk.record(fact)

    async def clear(self) -> None:
        """Begin a new session with the same settings; the old one stays as it is and can be resumed.

        Raises UsageError while a submission runs, and what starting a session raises; then nothing changed.
        """
        await self._between_turns(None)

    async def open_session(self, session_file: Path) -> None:
        """Go on with the session in this file, with this engine's settings. What waits stays with the other. Raises as `clear`."""
        await self._between_turns(session_file)

    async def _between_turns(self, session_file: Path | None) -> None:
        self._check_open()
        if not self._turns.begin():
            raise UsageError(
                "a query of this conversation is still running", hint="wait for it, or interrupt it"
            )
        try:
            await self._move_to(session_file, after=0 if session_file is None else self.queue.arrivals)
        finally:
            self._turns.end()

    async def _move_to(self, session_file: Path | None, *, after: int) -> None:
        talk = self._talk
        async with self._changing:
            old = talk.parts
            begun = await talk.maker.begin(session_file, old.chosen.facts)
            try:
                parts = await talk.maker.parts(begun.place, old.chosen)
                self._check_open()
                writer = QueueWriter(begun.place.journal)
                writer.taken_back = self._turns.withdraw
                staying = self.queue.move_to(writer, begun.pending, after=after)
            except BaseException:
                begun.place.journal.close()
                raise
            self._turns.withdraw(*staying)
            self._queue_writer = writer
            talk.adopt(parts)
            talk.goes_on_from(begun.history)
            old.place.journal.close()
            await end_processes(old.place)

    async def _take_step(self, step: NextStep) -> bool:
        match step:
            case Leave():
                return True
            case StartAnew():
                await self._move_to(None, after=0)
            case OpenSession(path):
                await self._move_to(path, after=self._typed_before)
            case _:
                assert_never(step)
        return False

    async def aclose(self) -> None:
        """End the query that still runs, if there is one, and give back what the engine holds: the session file and the models'
        connections. What waits stays in the session's queue. Waits at most `SETTLE_S` for the query and as long for the models,
        also when the caller is being cancelled. Twice is harmless.
        """
        if self._is_closed:
            return
        self._is_closed = True
        running = self._talk.running
        self._turns.withdraw_all()
        try:
            if running is not None and running.run is not None:
                running.run.leave()
                await running.run.settled()
            elif running is not None:
                running.abort.abort("consumer_left")
        finally:
            self._talk.parts.place.journal.close()
            self._let_go()
            with anyio.move_on_after(SETTLE_S, shield=True):
                async with AsyncExitStack() as every_one:
                    every_one.push_async_callback(self._talk.maker.aclose)
                    for chosen in (*self._retired, self._talk.parts.chosen):
                        every_one.push_async_callback(chosen.aclose)
                    every_one.push_async_callback(end_processes, self._talk.parts.place)

    # -------------------------------------------------------------------------------------------- within

    async def _close_retired(self) -> None:
        """Models that no query uses any more; one that a running query uses waits for the next call."""
        while self._retired and not self._turns.is_taken:
            await close_model(self._retired.pop())

    def _check_new(self, uuid: str | None) -> None:
        check_uuid(uuid)
        if uuid is None:
            return
        running = self._talk.running
        just_written = () if running is None else running.written.records
        if self._used.has(uuid, self._talk.history) or any(
            isinstance(record, Message) and record.uuid == uuid for record in just_written
        ):
            raise UsageError(
                f"there is a message with the uuid `{uuid}` already", hint="give each message its own"
            )

    def _let_go(self) -> None:
        """Nothing refers back to a closed engine: in a process of thousands it is gone at once, and never waits for the
        collector.
        """
        self.queue.on_now(hears_nothing)
        self._queue_writer.taken_back = hears_nothing
        self._ways = Ways(pass_on, self._ways.has_to_read, _no_step, self._turns.end)

    def _check_open(self) -> None:
        if self._is_closed:
            raise UsageError("this engine is closed", hint="open another one")

    def _new_uuid(self) -> str:
        return self._talk.parts.deps.ids.uuid()


async def _no_step(step: NextStep) -> bool:
    """A closed engine has no session to change."""
    del step
    return False
