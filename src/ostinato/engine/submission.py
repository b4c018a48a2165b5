"""One submission from the text to its `Result`: read it, answer it here or write it down, run its query, settle the accounts.

However it ends, the history is whole and the turn is given on before the last events are handed out, so that a consumer may
stop at any of them.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from ostinato.engine.model_choice import ChosenModel, close_model
from ostinato.engine.parts import Parts
from ostinato.engine.prompt_reader import PromptReader
from ostinato.engine.result_account import ResultAccount
from ostinato.engine.slash.reply import Expanded, NextStep, NotACommand, SlashOutcome, SlashReply
from ostinato.engine.talk import Running, Talk
from ostinato.engine.thinking import thinking_for
from ostinato.engine.token_target import target_reminder, target_tokens
from ostinato.engine.written import WrittenRecords
from ostinato.events import CommandLifecycle, Event, Result, SystemEvent, Terminal
from ostinato.loop.abort import AbortSignal
from ostinato.loop.abortable import found_unless_aborted, unless_aborted
from ostinato.loop.deps import QueryParams
from ostinato.loop.run import Run, internal_error
from ostinato.loop.turn import QueryNotes
from ostinato.messages import Reminder, SystemMessage, attachment_message, user_prompt
from ostinato.ports import QuerySource, QueryTracking
from ostinato.records import Record
from ostinato.state import ToolUseContext
from ostinato.submissions import QueuedPrompt

ABORTED_BEFORE_QUERY = Terminal("aborted_streaming", 0)


class Ways(msgspec.Struct, frozen=True):
    """What a submission asks its engine for. `read_prompt` is asked of the texts that `has_to_read`. `take_step` does what a command cannot do itself; True: the host shall leave.

    `end` gives the turn on, with the queued texts that the query took up.
    """

    read_prompt: PromptReader
    has_to_read: Callable[[str], bool]
    take_step: Callable[[NextStep], Awaitable[bool]]
    end: Callable[[Sequence[str], Result | None], None]


class Submission:
    """Has the turn from the beginning. `is_queued`: its text came out of the queue, and its fate is announced."""

    def __init__(self, talk: Talk, prompt: QueuedPrompt, ways: Ways, *, is_queued: bool) -> None:
        self._talk = talk
        self._prompt = prompt
        self._ways = ways
        self._is_queued = is_queued
        self._abort = AbortSignal()
        self._written = WrittenRecords(talk.parts.place.journal, talk.spent, talk.forget_hidden)
        self._account = ResultAccount(
            talk.parts.chosen.facts.id, talk.facts_of, talk.parts.deps.clock.monotonic_s
        )
        self._run: Run | None = None
        self._borrowed: ChosenModel | None = None
        self._session_id = talk.parts.place.session_id
        self._is_prepared = False
        self._has_turn = True
        talk.running = Running(self._abort, self._written, self._account)

    async def receive(self) -> Sequence[Event] | None:
        """The next events, or None after the `Result`."""
        if not self._has_turn:
            return None
        try:
            if not self._is_prepared:
                self._is_prepared = True
                if first := await self._prepare():
                    return first
            batch = None if self._run is None else await self._run.channel.receive()
        except Exception as error:  # ruff: ignore[blind-except] - a submission that was accepted ends with a Result
            return await self._ended(internal_error(error, QueryNotes()))
        if not batch:
            return await self._ended(ABORTED_BEFORE_QUERY)
        last = batch[-1]
        if isinstance(last, Terminal):
            self._account.take_all(batch[:-1])
            return (*batch[:-1], *await self._ended(last))
        self._account.take_all(batch)
        return batch

    async def leave(self) -> None:
        """The consumer is gone, or has everything: nothing of the submission runs any more."""
        if not self._has_turn:
            return
        try:
            if self._run is not None:
                self._run.leave()
                await self._run.settled()
        finally:  # synchronous as far as others wait for it: leaving may itself be cancelled
            self._settle()
            self._end_turn(None)
        await self._give_back_model()

    # -------------------------------------------------------------------------------------------- the beginning

    async def _prepare(self) -> Sequence[Event]:
        """Read the text and begin its query, or answer it here."""
        read = await self._read()
        match read:
            case None:
                return ()
            case SlashReply():
                return await self._answered(read)
            case Expanded():
                told = await self._begin_expanded(read)
                return (*self._shown("command_notice", *read.notices), *told)
            case NotACommand():
                return await self._begin(self._prompt.text, self._talk.parts, mentioned_in=self._prompt.text)
            case _:
                assert_never(read)

    async def _read(self) -> SlashOutcome | None:
        """None once aborted."""
        text, ways = self._prompt.text, self._ways
        is_words = self._is_queued and self._prompt.mode == "prompt"  # decided when it was put into the queue
        if is_words or not ways.has_to_read(text):
            return NotACommand()
        return await unless_aborted(self._abort, partial(ways.read_prompt, text, self._abort), otherwise=None)

    async def _begin_expanded(self, read: Expanded) -> Sequence[Event]:
        parts = self._talk.parts
        if read.model is not None:
            self._borrowed = self._talk.maker.choose_model(read.model)
            self._talk.know(self._borrowed.facts)
            parts = await self._talk.maker.parts(parts.place, self._borrowed)
        if read.allowed_tools:
            deps = replace(parts.deps, permissions=self._talk.maker.with_rules(read.allowed_tools))
            parts = msgspec.structs.replace(parts, deps=deps)
        return await self._begin(read.prompt, parts, mentioned_in=read.mentioned_in)

    async def _begin(self, text: str, parts: Parts, *, mentioned_in: str) -> Sequence[Event]:
        """Write the prompt, then what it mentions, then run: a crash from here on leaves a session that can go on. What the user
        must hear of what was mentioned.
        """
        before = self._talk.history.view()
        self._write(user_prompt(self._prompt.uuid, text))
        target = target_tokens(mentioned_in)
        if target is not None:
            told = Reminder("token_target", target_reminder(target))
            self._write(attachment_message(self._new_uuid(), told))
        found = await found_unless_aborted(self._abort, parts.deps.mentions(mentioned_in, before))
        for message in found:
            self._write(message)
        deps = replace(parts.deps, journal=self._written, queue=self._talk.queue)
        self._account.model = parts.chosen.facts.id
        run = Run(self._params(parts, target), deps)
        self._account.is_summarised = parts.setting.config.auto_compact
        self._run = run
        if self._talk.running is not None:
            self._talk.running.run = run
        await run.start()
        return tuple(SystemEvent(message) for message in found if isinstance(message, SystemMessage))

    def _write(self, record: Record) -> None:
        self._talk.parts.place.journal.write(record)
        self._talk.history = self._talk.history.append(record)

    def _params(self, parts: Parts, target: int | None) -> QueryParams:
        setting = parts.setting
        context = ToolUseContext(
            tools=setting.tools,
            model=setting.model,
            workspace=setting.workspace,
            files=setting.files,
            abort=self._abort,
            source=QuerySource("sdk"),
            tracking=QueryTracking(parts.deps.ids.uuid()),
            thinking=thinking_for(setting.model, setting.thinking, setting.effort).thinking,
            deferred=setting.deferred,
        )
        return QueryParams(
            messages=self._talk.history,
            tool_use_context=context,
            settings=setting.settings,
            max_turns=setting.max_turns,
            max_output_tokens_override=setting.max_output_tokens,
            config=setting.config,
            started_for=(self._prompt.uuid,) if self._is_queued else (),
            target_tokens=target,
        )

    # -------------------------------------------------------------------------------------------- the end

    async def _answered(self, reply: SlashReply) -> Sequence[Event]:
        """What the program itself said; then what only the engine can do for it."""
        message = SystemMessage(
            self._new_uuid(), "local_command_output", reply.text, "error" if reply.is_error else "info"
        )
        if reply.for_model:
            self._write(user_prompt(self._prompt.uuid, reply.for_model))
        if reply.text and reply.is_kept:
            self._write(message)
        self._settle()
        is_leaving = reply.next_step is not None and await self._ways.take_step(reply.next_step)
        result = self._account.local_result(
            reply.text, self._session_id, self._new_uuid(), is_error=reply.is_error
        )
        result = msgspec.structs.replace(result, ends_conversation=is_leaving)
        self._end_turn(result)
        shown = tuple(map(SystemEvent, (*reply.notices, *((message,) if reply.text else ()))))
        return (*self._announced("started"), *shown, *self._announced("completed"), result)

    async def _ended(self, terminal: Terminal) -> Sequence[Event]:
        self._account.take(terminal)
        if self._run is not None:
            self._run.leave()
            await self._run.settled()
        self._settle()
        await self._give_back_model()
        result = self._account.result(terminal, self._session_id, self._new_uuid())
        self._end_turn(result)
        return (terminal, result)

    def _settle(self) -> None:
        """The history is whole again, whatever of the run was heard."""
        talk, run, self._run = self._talk, self._run, None
        talk.running = None
        if run is None:
            return
        talk.history = talk.history.extend(self._written.records) if run.messages is None else run.messages
        talk.spent.add(self._account.model, self._account.rest)

    def _end_turn(self, result: Result | None) -> None:
        self._has_turn = False
        self._ways.end(self._written.joined(), result)

    async def _give_back_model(self) -> None:
        borrowed, self._borrowed = self._borrowed, None
        if borrowed is not None:
            await close_model(borrowed)

    def _announced(self, state: Literal["started", "completed"]) -> Sequence[Event]:
        """A command that waited has its notices too, though no query runs for it."""
        return (CommandLifecycle(self._prompt.uuid, state),) if self._is_queued else ()

    def _shown(self, subtype: str, *texts: str) -> Sequence[Event]:
        return tuple(SystemEvent(SystemMessage(self._new_uuid(), subtype, text)) for text in texts)

    def _new_uuid(self) -> str:
        return self._talk.parts.deps.ids.uuid()
