"""Everything the loop gets from outside. Nothing nondeterministic enters by another way, so tests can play any of it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from ostinato.cache_breaks import WatchCache
from ostinato.context_pass import PassFacts
from ostinato.errors import ModelError
from ostinato.events import Event
from ostinato.history import History
from ostinato.loop.alarms import SetAlarm
from ostinato.loop.budget import NO_BUDGET, Budget
from ostinato.loop.described import Mask
from ostinato.loop.fallback import Fallbacks
from ostinato.loop.model_call import CallModel, RefreshAuth
from ostinato.loop.still_running import StillRunning
from ostinato.messages import Message, ToolUse
from ostinato.ports import Clock, CollectAttachments, Ids, Journal, ModelFacts, Permissions
from ostinato.records import AnyEdit
from ostinato.state import DEFAULT_CONFIG, ModelSettings, QueryConfig, ToolUseContext
from ostinato.stop_hooks import StopFailureHook, StopHook
from ostinato.submissions import QueuedPrompt
from ostinato.tool_hooks import AfterTool


class PrepareContext(Protocol):
    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        """The edits that this pass's context pipeline makes; none is the usual answer."""
        ...


class Shorten(Protocol):
    async def __call__(
        self, messages: History, error: ModelError | None, model: ModelFacts
    ) -> Sequence[AnyEdit]:
        """The edits after which a request that the model refused with this error may fit; none if nothing helps."""
        ...


DrainCollapsed = Callable[[History], Awaitable[Sequence[AnyEdit]]]
"""Commits everything that is staged for collapse: its `Fold` edits, none if nothing is staged."""


class Prefetch(Protocol):
    """Begins with a query and looks for what might help it, given the view with the prompt."""

    async def __call__(self, view: Sequence[Message], /) -> CollectAttachments:
        """What was found, as a collector that is asked once: it can still leave out what the view holds by then."""
        ...


class PromptSource(Protocol):
    """Prompts that wait and may join a running query. Both calls are synchronous: what is taken is nobody else's."""

    def drain(self) -> Sequence[QueuedPrompt]:
        """Take everything that may join now, in the order in which it should be read; what comes later stays."""
        ...

    def give_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        """Put drained prompts back to their places: they were not sent after all."""
        ...


Found = Sequence[Message] | Awaitable[Sequence[Message]]
"""What there is, or something to wait for; most rounds have nothing to wait for."""

Collect = Callable[[Sequence[Message]], Found]
"""What the model should also know after a round of tools, given the view: a `CollectAttachments`, or one that may not wait."""

ResolveMentions = Callable[[str, Sequence[Message]], Found]
"""What belongs right after a prompt because it names files, given the prompt and the conversation before it."""

MayGoOn = Callable[[ToolUse, str], Awaitable[bool]]
"""Asks the user whether a query that repeats itself shall go on, given a call that it repeats and a sentence that says so."""

Emit = Callable[[Sequence[Event]], Awaitable[None]]
"""Hands a batch to the consumer; waits while the consumer is behind."""

Offer = Callable[[Event], bool]
"""Hands over lossy progress; never waits."""


async def no_help(messages: History, error: ModelError | None, model: ModelFacts) -> Sequence[AnyEdit]:
    """Nothing can be made shorter."""
    del messages, error, model
    return ()


async def no_attachments(view: Sequence[Message]) -> Sequence[Message]:
    """Nothing to add."""
    del view
    return ()


async def no_mentions(prompt: str, view: Sequence[Message]) -> Sequence[Message]:
    """A prompt without files."""
    del prompt, view
    return ()


def no_jitter() -> float:
    """Every wait is exactly as long as it must be."""
    return 0.0


class NoPrompts:
    """A queue that is always empty."""

    def drain(self) -> Sequence[QueuedPrompt]:
        return ()

    def give_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        del prompts


NO_PROMPTS = NoPrompts()


class SideModel(msgspec.Struct, frozen=True):
    """A small model that tools may ask something, and who knows a new key for it."""

    call_model: CallModel
    facts: ModelFacts
    refresh_auth: RefreshAuth | None = None


class Deps(msgspec.Struct, frozen=True):
    """The loop's ports. `journal.write` is synchronous, and so are queue and budget; everything else may wait. `jitter` gives
    numbers from 0 to 1 that spread the retries of many clients. `forgets_hidden`: what a boundary hid is found in the journal
    again, so the history need not hold it.
    """

    call_model: CallModel
    permissions: Permissions
    journal: Journal
    clock: Clock
    ids: Ids
    mask: Mask
    prepare_context: PrepareContext | None = None
    forgets_hidden: bool = False
    shorten: Shorten = no_help
    strip_media: Shorten = no_help
    drain_collapsed: DrainCollapsed | None = None
    collect_attachments: Collect = no_attachments
    queue: PromptSource = NO_PROMPTS
    mentions: ResolveMentions = no_mentions
    budget: Budget = NO_BUDGET
    jitter: Callable[[], float] = no_jitter
    set_alarm: SetAlarm | None = None
    """How calls learn that their time is over; None: each turn waits for itself, by `clock`."""
    prefetch: Prefetch | None = None
    after_tool: Sequence[AfterTool] = ()
    stop_hooks: Sequence[StopHook] = ()
    stop_failure_hooks: Sequence[StopFailureHook] = ()
    fallbacks: Fallbacks = msgspec.field(default_factory=Fallbacks)
    refresh_auth: RefreshAuth | None = None
    may_go_on: MayGoOn | None = None
    side_model: SideModel | None = None
    watch_cache: WatchCache | None = None
    still_running: StillRunning = msgspec.field(default_factory=StillRunning)

    def call_of(self, fallback_index: int) -> CallModel:
        """The door to the query's own model (0), or to one of those that may take over."""
        return (
            self.call_model
            if fallback_index == 0
            else self.fallbacks.substitutes[fallback_index - 1].call_model
        )

    def refresh_of(self, fallback_index: int) -> RefreshAuth | None:
        """Who knows a new key for that model: never another one's."""
        return (
            self.refresh_auth
            if fallback_index == 0
            else self.fallbacks.substitutes[fallback_index - 1].refresh_auth
        )


class QueryParams(msgspec.Struct, frozen=True):
    """One query: the conversation up to and including the prompt, and how to run it. `started_for` names the queued prompts
    that it was started for, if any: they are announced like those that join it. `target_tokens`: output that the user wants
    spent on the query before it ends; a subagent has no target of its own.
    """

    messages: History
    tool_use_context: ToolUseContext
    settings: ModelSettings
    max_turns: int | None = None
    max_output_tokens_override: int | None = None
    config: QueryConfig = DEFAULT_CONFIG
    started_for: tuple[str, ...] = ()
    target_tokens: int | None = None
