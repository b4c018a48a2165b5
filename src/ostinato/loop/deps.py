"""Everything the loop gets from outside. Nothing nondeterministic enters by another way, so tests can play any of it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from ostinato.events import AnyModelEvent, Event
from ostinato.history import History
from ostinato.messages import Message
from ostinato.ports import Clock, CollectAttachments, Ids, Journal, ModelRequest, Permissions
from ostinato.records import AnyEdit
from ostinato.state import DEFAULT_CONFIG, ModelSettings, QueryConfig, ToolUseContext


class CallModel(Protocol):
    """Sends one request and yields batches of model events; see `ports.Model.stream`."""

    def __call__(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]: ...


class PrepareContext(Protocol):
    async def __call__(self, messages: History) -> Sequence[AnyEdit]:
        """The edits that this pass's context pipeline makes; none is the usual answer."""
        ...


Emit = Callable[[Sequence[Event]], Awaitable[None]]
"""Hands a batch to the consumer; waits while the consumer is behind."""

Offer = Callable[[Event], bool]
"""Hands over lossy progress; never waits."""


async def no_edits(messages: History) -> Sequence[AnyEdit]:
    """A context pipeline that leaves everything as it is."""
    del messages
    return ()


async def no_attachments(view: Sequence[Message]) -> Sequence[Message]:
    """Nothing to add."""
    del view
    return ()


@dataclass(frozen=True, slots=True)
class Deps:
    """The loop's ports. `journal.write` is synchronous; everything else may wait."""

    call_model: CallModel
    permissions: Permissions
    journal: Journal
    clock: Clock
    ids: Ids
    prepare_context: PrepareContext = no_edits
    collect_attachments: CollectAttachments = no_attachments


@dataclass(frozen=True, slots=True)
class QueryParams:
    """One query: the conversation up to and including the prompt, and how to run it."""

    messages: History
    tool_use_context: ToolUseContext
    settings: ModelSettings
    max_turns: int | None = None
    max_output_tokens_override: int | None = None
    config: QueryConfig = DEFAULT_CONFIG
