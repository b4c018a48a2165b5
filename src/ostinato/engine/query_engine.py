"""One conversation: its history, its journal, and one query at a time."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace

import anyio
import msgspec

from ostinato.codec import sanitise
from ostinato.engine.prompt_queue import PromptQueue
from ostinato.engine.result_account import ResultAccount
from ostinato.engine.surroundings import Mentions
from ostinato.engine.written import WrittenRecords
from ostinato.errors import UsageError
from ostinato.events import Event, Terminal
from ostinato.history import History
from ostinato.loop.abort import AbortSignal
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.query import events_of
from ostinato.loop.run import SETTLE_S, Run
from ostinato.messages import user_prompt
from ostinato.ports import FileState, ModelFacts, QuerySource, QueryTracking, Workspace
from ostinato.records import Record
from ostinato.state import ModelSettings, QueryConfig, ToolUseContext
from ostinato.submissions import AbortReason
from ostinato.tool import Tool

MAX_PROMPT_CHARACTERS = 10_000_000


class Setting(msgspec.Struct, frozen=True):
    """What stays the same for a whole conversation."""

    session_id: str
    model: ModelFacts
    tools: tuple[Tool, ...]
    workspace: Workspace
    files: FileState
    settings: ModelSettings
    config: QueryConfig
    permission_mode: str
    max_turns: int | None = None
    max_output_tokens: int | None = None
    notices: tuple[str, ...] = ()
    """Sentences for the user: a session that is not kept, damage that was put aside, a small model."""


class QueryEngine:
    """Holds the history between queries. `engine/assemble.py` makes it; `async with open_engine(...)` closes it."""

    def __init__(
        self,
        setting: Setting,
        deps: Deps,
        history: History,
        *,
        mentions: Mentions,
        queue: PromptQueue,
        close_session: Callable[[], None],
        close_model: Callable[[], Awaitable[None]],
    ) -> None:
        self.setting = setting
        self.history = history
        self._deps = deps
        self.queue = queue
        queue.on_now(lambda: self.interrupt("interrupt"))
        self._mentions = mentions
        self._close_session = close_session
        self._close_model = close_model
        self._run: Run | None = None
        self._turn = anyio.Semaphore(1, max_value=1)

    @property
    def session_id(self) -> str:
        return self.setting.session_id

    async def submit_message(self, prompt: str, *, uuid: str | None = None) -> AsyncGenerator[Event, None]:
        """Events of one query, its `Terminal`, then exactly one `Result`. The prompt is written before the first model call.

        A submission waits until those before it are done. `uuid` names the prompt's message; None makes a new one.
        Raises UsageError for an empty or far too long prompt; then nothing was written.
        """
        text = _checked(sanitise(prompt))
        await self._turn.acquire()
        try:
            account = ResultAccount(self.setting.model.id, self._facts_of, self._deps.clock.monotonic_s)
            await self._begin(text, uuid or self._deps.ids.uuid())
            events = self._query()
            try:
                async for event in events:
                    account.take(event)
                    yield event
                    if isinstance(event, Terminal):
                        yield account.result(event, self.session_id, self._deps.ids.uuid())
            finally:
                await events.aclose()
        finally:
            self._turn.release()

    async def _query(self) -> AsyncGenerator[Event, None]:
        written = WrittenRecords(self._deps.journal)
        run = Run(self._params(), replace(self._deps, journal=written))
        self._run = run
        events = events_of(run)
        try:
            async for event in events:
                yield event
        finally:
            try:
                await events.aclose()
            finally:  # without an await: it also holds when leaving was itself cancelled
                self._run = None
                self.history = self.history.extend(written.records) if run.messages is None else run.messages

    def interrupt(self, reason: AbortReason = "user") -> None:
        """End the running query, if there is one; its `Terminal` and `Result` still come."""
        if self._run is not None:
            self._run.abort.abort(reason)

    def _facts_of(self, model: str) -> ModelFacts | None:
        return self.setting.model if model == self.setting.model.id else None

    async def _begin(self, prompt: str, uuid: str) -> None:
        """Write the prompt, then what it mentions: a crash from here on leaves a session that can go on."""
        before = self.history.view()
        self._write(user_prompt(uuid, prompt))
        for message in await self._mentions(prompt, before):
            self._write(message)

    def _write(self, record: Record) -> None:
        self._deps.journal.write(record)
        self.history = self.history.append(record)

    def _params(self) -> QueryParams:
        setting = self.setting
        context = ToolUseContext(
            tools=setting.tools,
            model=setting.model,
            workspace=setting.workspace,
            files=setting.files,
            abort=AbortSignal(),
            source=QuerySource("sdk"),
            tracking=QueryTracking(self._deps.ids.uuid()),
        )
        return QueryParams(
            messages=self.history,
            tool_use_context=context,
            settings=setting.settings,
            max_turns=setting.max_turns,
            max_output_tokens_override=setting.max_output_tokens,
            config=setting.config,
        )

    async def aclose(self) -> None:
        """End the query that still runs, if there is one, and give back what the conversation holds: the session file and the
        model's connections. Waits at most twice `SETTLE_S`, also when the caller is being cancelled.
        """
        try:
            if self._run is not None:
                self._run.leave()
                await self._run.settled()
        finally:
            self._close_session()
            with anyio.move_on_after(SETTLE_S, shield=True):
                await self._close_model()


def _checked(prompt: str) -> str:
    """Raises UsageError."""
    if not prompt.strip():
        raise UsageError("the prompt is empty", hint="say what should be done")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise UsageError(
            f"the prompt has {len(prompt)} characters; at most {MAX_PROMPT_CHARACTERS} are taken",
            hint="put long material into a file and name it in the prompt",
        )
    return prompt
