"""The doors of the core: what the loop needs from outside, as small Protocols. Adapters implement them; tests pass doubles."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec

from ostinato.call_ports import Abort as Abort
from ostinato.call_ports import Background as Background
from ostinato.call_ports import FileState as FileState
from ostinato.call_ports import SeenFile as SeenFile
from ostinato.call_ports import Workspace as Workspace
from ostinato.events import AnyModelEvent
from ostinato.messages import AssistantBlock, Message, UserBlock
from ostinato.option_values import Effort
from ostinato.records import Record
from ostinato.tool import Access, Tool, hides_nothing


class Clock(Protocol):
    def monotonic_s(self) -> float:
        """Seconds for durations and deadlines; never goes back."""
        ...

    def now(self) -> datetime:
        """The wall clock, with time zone."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def uuid(self) -> str:
        """A new identifier, unique in its session."""
        ...


# ------------------------------------------------------------------------------------------------ model calls


class QuerySource(msgspec.Struct, frozen=True, gc=False):
    """Who asks the model: decides on retries of overload and whether compaction may happen inside."""

    name: Literal["main", "sdk", "agent", "compact", "collapse", "side_question", "title", "hook"]

    @property
    def is_main_thread(self) -> bool:
        return self.name in {"main", "sdk"}

    @property
    def is_background(self) -> bool:
        return self.name in {"compact", "collapse", "side_question", "title", "hook"}


class QueryTracking(msgspec.Struct, frozen=True, gc=False):
    """`chain_id` is new at the top level; `depth` grows with every nested query."""

    chain_id: str
    depth: int = 0


class RequestMessage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A message as it may be sent: roles alternate, calls are answered. Made by `normalise/` only."""

    role: Literal["user", "assistant"]
    content: tuple[UserBlock, ...] | tuple[AssistantBlock, ...]


class ToolSchema(msgspec.Struct, frozen=True, gc=False):
    """A tool as the model is told of it. `flat_parameters` are those that a small model is offered; empty means all."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    flat_parameters: tuple[str, ...] = ()


class Thinking(msgspec.Struct, frozen=True):
    """How much the model may think before it answers. `budget_tokens` 0 turns it off.

    `effort` is how thorough it shall be, for models that take that word; None leaves it to them.
    """

    budget_tokens: int = 0
    effort: Effort | None = None


NO_THINKING = Thinking()


MAX_SEARCHES: Final = 5
"""Of the web, by the provider, for one request: each costs a cent, and room for all of them is reserved before it is sent."""


class ModelRequest(msgspec.Struct, frozen=True, gc=False):
    """One request, independent of any wire. `system` blocks are sent in order; `temperature` None leaves it out.

    `own_system_blocks`: so many of the last `system` blocks tell of this conversation alone. What stands before them, and the tools,
    other conversations send too, so a provider's cache can hold it for all of them.

    `wants_stream` False asks for the reply in one piece: the same events come, all at once at its end. It is the way out
    when streaming fails. `continues_reply`: the last message is the assistant's, a reply that the provider paused
    and now goes on with. `searches_web`: the provider may search the web itself while it answers, where it can.
    """

    model: str
    system: tuple[str, ...]
    messages: Sequence[RequestMessage]
    tools: tuple[ToolSchema, ...]
    max_output_tokens: int
    source: QuerySource
    tracking: QueryTracking
    temperature: float | None = None
    thinking: Thinking = NO_THINKING
    wants_stream: bool = True
    continues_reply: bool = False
    searches_web: bool = False
    own_system_blocks: int = 0

    @property
    def max_searches(self) -> int:
        """How often the provider may search while it answers."""
        return MAX_SEARCHES if self.searches_web else 0


class Prices(msgspec.Struct, frozen=True):
    """US dollars per million tokens. None: not said, and then counted by `costs.prices_of`, never as free."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class ModelFacts(msgspec.Struct, frozen=True):
    """What is known of a model. `id` is the provider's name for it. Prices None: unknown, and said so; `missing_prices` then
    names what a table that somebody gave left out.

    `thinking_form` says how it is asked to think (`none`: never; `effort_without_tools`: it refuses effort beside tools).
    `reasoning_echo` is about plain reasoning text in replies: `given` sends back what came, `always` also an empty one
    with every tool call, `never` none. `openai_wire` says over which of OpenAI's two wires it is spoken to; other providers
    have one. `overflow_patterns` are regular expressions for what its server says when the prompt is too long, beside the
    wordings that are known.
    `tool_names` limits the tools it is offered (small models), `max_result_characters` caps each tool result,
    `forgiving_edit` lets Edit match with other white space when that is unique. `searches_web`: its provider can do that for it.
    """

    provider: str
    id: str
    context_window: int
    max_output_tokens: int
    prices: Prices | None = None
    missing_prices: tuple[str, ...] = ()
    takes_images: bool = False
    takes_temperature: bool = True
    output_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thinking_form: Literal["none", "budget", "adaptive", "effort", "effort_without_tools"] = "none"
    reasoning_echo: Literal["given", "always", "never"] = "given"
    openai_wire: Literal["chat", "responses"] = "chat"
    overflow_patterns: tuple[str, ...] = ()
    tool_names: tuple[str, ...] = ()
    max_result_characters: int | None = None
    forgiving_edit: bool = False
    short_prompt: bool = False
    searches_web: bool = False


class Model(Protocol):
    """A model behind a wire. `stream` sends one request, once: retries are the loop's.

    The iterator yields batches, one per chunk read from the network, and ends after `MessageStop`. A stream that ends
    without it raises `ModelError(kind="stream_cut")`. All failures are `ModelError`. Leaving the context closes the
    connection; having read to the end keeps it for the next call.
    """

    @property
    def facts(self) -> ModelFacts: ...

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]: ...


# ------------------------------------------------------------------------------------------------ permissions


class DecisionReason(msgspec.Struct, frozen=True, gc=False):
    """Which rule decided and where it stands; `text` is one plain sentence."""

    rule: str
    source: str
    text: str


class Allowed(msgspec.Struct, frozen=True, gc=False):
    """The call may run, with `updated_input` in place of its own if given. `is_hidden`: of these files it may show nothing."""

    reason: DecisionReason
    updated_input: Mapping[str, Any] | None = None
    is_hidden: Callable[[Path], bool] = hides_nothing


class Denied(msgspec.Struct, frozen=True, gc=False):
    """The call may not run; `message` goes to the model. `interrupt` ends the query."""

    reason: DecisionReason
    message: str
    interrupt: bool = False


class Futile(msgspec.Struct, frozen=True):
    """Nobody was asked, for the call could not succeed; `message`, the tool's own words, goes to the model."""

    message: str


class CannotSucceed(Protocol):
    async def __call__(self, *, is_patient: bool) -> str | None:
        """Why the call would be refused by its tool if it ran now; None if nobody knows. It looks at what the call would touch, so
        whoever asks answers for that. `is_patient`: calls that come first are waited for; else nothing is known until they are over.
        """
        ...


class PermissionQuery(msgspec.Struct, frozen=True):
    """A call that wants to run, its input validated. `access` is what it will be held to, its paths resolved; None: not known.
    `cannot_succeed` None: it would tell nothing.
    """

    tool: Tool
    tool_use_id: str
    input: Mapping[str, Any]
    workspace: Workspace
    abort: Abort
    access: Access | None = None
    cannot_succeed: CannotSucceed | None = None


class Permissions(Protocol):
    async def decide(self, query: PermissionQuery) -> Allowed | Denied | Futile:
        """The one answer; may ask a person and wait, and then ends on abort. Nobody is asked about what cannot succeed."""
        ...


# ------------------------------------------------------------------------------------------------ files and processes


# ------------------------------------------------------------------------------------------------ journal and context


class Journal(Protocol):
    """The session's file. `write` is synchronous and done when it returns (it survives the process)."""

    def write(self, record: Record) -> None:
        """Raises JournalError; then the session must stop."""
        ...

    async def sync(self) -> None:
        """Everything written so far survives the machine."""
        ...


class CollectAttachments(Protocol):
    async def __call__(self, view: Sequence[Message], /) -> Sequence[Message]:
        """What the model should also know after a round of tools; never raises, never waits long."""
        ...
