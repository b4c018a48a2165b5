"""What a person may ask and do about the window of a conversation, between queries: what fills it, a summary, an edit taken back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from ostinato.context_pass import PassFacts
from ostinato.engine.context_pipeline import ContextPipeline
from ostinato.engine.talk import Talk
from ostinato.engine.thinking import thinking_for
from ostinato.errors import UsageError
from ostinato.events import Event
from ostinato.history import History
from ostinato.loop.compaction_notices import boundary_notice
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.ledger import Ledger
from ostinato.loop.request import RequestBuilder
from ostinato.messages import SystemMessage, Usage
from ostinato.ports import Abort, ModelRequest, QuerySource, QueryTracking
from ostinato.records import AnyEdit, Attempt, Boundary, Record
from ostinato.state import State, ToolUseContext, initial_state

if TYPE_CHECKING:
    from ostinato.context.compaction import Compaction


class Keeper(Protocol):
    """Whose conversation it is: what is written becomes part of it at once."""

    def record(self, record: Record) -> None:
        """Raises JournalError."""
        ...

    def spend(self, model: str, usage: Usage) -> None: ...

    async def edit(self, edit: AnyEdit) -> None:
        """Raises JournalError."""
        ...

    async def whole(self) -> History:
        """With what summaries hid. Raises JournalError."""
        ...


class ConversationContext:
    """One conversation, for one command line. `params` are those of its next query, without a new prompt."""

    def __init__(self, params: QueryParams, deps: Deps, keeper: Keeper) -> None:
        self._deps = deps
        self._keeper = keeper
        self._params = params
        self._state = initial_state(params.messages, params.tool_use_context)
        self._requests = RequestBuilder(params)

    @property
    def state(self) -> State:
        return self._state

    @property
    def auto_compact(self) -> bool:
        return self._params.config.auto_compact

    def request(self) -> ModelRequest:
        """As the next one would be without a new prompt."""
        return self._requests.build(self._state)

    def user_context(self) -> str:
        return self._params.settings.user_context

    def used_tokens(self) -> int:
        return self._requests.tokens(self._state)

    async def whole_history(self) -> History:
        return await self._keeper.whole()

    def compaction(self) -> "Compaction":
        """Raises UsageError where the host has put something else in its place."""
        pipeline = self._deps.prepare_context
        if not isinstance(pipeline, ContextPipeline):
            raise UsageError("this conversation is not shortened by ostinato")
        return pipeline.compaction()

    def pass_facts(self) -> PassFacts:
        """For a summary that a person asks for; what it costs is written and counted."""
        ledger = Ledger(_Noting(self._keeper), _to_nobody, _offered_to_nobody)
        from ostinato.loop.summaries import Summaries  # ruff: ignore[import-outside-top-level] - few conversations are summarised

        summaries = Summaries(self._state, self._deps, ledger, self._requests)
        return PassFacts(self._state.tool_use_context.model, self.used_tokens(), summarise=summaries)

    async def edit(self, edit: AnyEdit) -> None:
        """Write it; the next request is another one. Raises JournalError."""
        await self._keeper.edit(edit)

    def note(self, boundary: Boundary) -> SystemMessage:
        """The boundary as clients know it, written."""
        notice = boundary_notice(boundary, self._deps.ids)
        self._keeper.record(notice)
        return notice


class _Noting:
    """The journal of a summary: what is spent counts."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def write(self, record: Record) -> None:
        self._keeper.record(record)
        if isinstance(record, Attempt):
            self._keeper.spend(record.model, record.usage)

    async def sync(self) -> None:
        """Nothing waits for it: a summary that is lost with its machine is asked for again."""


async def _to_nobody(batch: Sequence[Event]) -> None:
    """The answer of the command tells what happened."""
    del batch


def _offered_to_nobody(event: Event) -> bool:
    del event
    return True


def context_of(talk: Talk, abort: Abort) -> ConversationContext:
    """`abort` stops a summary that is being written."""
    parts = talk.parts
    setting = parts.setting
    context = ToolUseContext(
        tools=setting.tools,
        model=parts.deps.fallbacks.windows.believed(setting.model),
        workspace=setting.workspace,
        files=setting.files,
        abort=abort,
        source=QuerySource("sdk"),
        tracking=QueryTracking(parts.deps.ids.uuid()),
        thinking=thinking_for(setting.model, setting.thinking, setting.effort).thinking,
        deferred=setting.deferred,
    )
    params = QueryParams(
        messages=talk.history,
        tool_use_context=context,
        settings=setting.settings,
        max_output_tokens_override=setting.max_output_tokens,
        config=replace(setting.config, normalise_strictly=False),
    )
    return ConversationContext(params, parts.deps, talk)
