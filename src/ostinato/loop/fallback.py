"""The models that may take over when one gives out: which of them can, and which must be left alone for a while.

A model that cannot take the request as it stands is skipped, and why is said. What a server asked for is kept by its model:
until then no query of the engine tries it, as long as there is another.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ostinato.loop.budget import MIN_OUTPUT_TOKENS
from ostinato.loop.learned_windows import LearnedWindows
from ostinato.loop.model_call import CallModel, RefreshAuth
from ostinato.messages import Document, Image, ToolResult, ToolUse
from ostinato.normalise.token_estimate import request_tokens
from ostinato.ports import NO_THINKING, ModelFacts, ModelRequest, RequestMessage, Thinking
from ostinato.state import NO_FAILURES, State


class Substitute(msgspec.Struct, frozen=True):
    """A model that may take over, how much it is to think, and who knows a new key for it."""

    facts: ModelFacts
    call_model: CallModel
    thinking: Thinking = NO_THINKING
    refresh_auth: RefreshAuth | None = None


class CoolDowns:
    """Until when models are left alone, on the engine's clock. One for all queries of an engine and what they start."""

    def __init__(self) -> None:
        self._until_s: dict[tuple[str, str], float] = {}

    def leave_alone(self, model: ModelFacts, until_s: float) -> None:
        """`until_s` is monotonic; of two wishes the later holds."""
        key = (model.provider, model.id)
        self._until_s[key] = max(until_s, self._until_s.get(key, until_s))

    def left_s(self, model: ModelFacts, now_s: float) -> float:
        """How long still; 0 for a model that may be asked."""
        return max(0.0, self._until_s.get((model.provider, model.id), now_s) - now_s)


class Fallbacks(msgspec.Struct, frozen=True):
    """The chain in its order, and what was learned of all models: cool-downs and windows. `State.bounds.fallback_index` counts into the chain from 1."""

    substitutes: Sequence[Substitute] = ()
    cool_downs: CoolDowns = msgspec.field(default_factory=CoolDowns)
    windows: LearnedWindows = msgspec.field(default_factory=LearnedWindows)


class Choice(msgspec.Struct, frozen=True):
    """`index` (from 1) of the model that takes over, None if none can; `skipped` says of each that cannot why."""

    index: int | None
    skipped: tuple[str, ...] = ()


def next_model(fallbacks: Fallbacks, state: State, request: ModelRequest, now_s: float) -> Choice:
    """The first of the chain behind the model in use that can take this request over."""
    skipped: list[str] = []
    for index, candidate in enumerate(fallbacks.substitutes, start=1):
        if index <= state.bounds.fallback_index or _is_same(candidate.facts, state.tool_use_context.model):
            continue
        facts = fallbacks.windows.believed(candidate.facts)
        why = _why_not(facts, state, request, fallbacks.cool_downs.left_s(facts, now_s))
        if why is None:
            return Choice(index, tuple(skipped))
        skipped.append(f"`{candidate.facts.id}` {why}")
    return Choice(None, tuple(skipped))


def taken_over(state: State, index: int, substitute: Substitute) -> State:
    """The state with the substitute as its model; what the model decides of the query goes with it. It starts with a clean sheet."""
    context, facts = state.tool_use_context, substitute.facts
    tools = tuple(tool for tool in context.tools if not facts.tool_names or tool.name in facts.tool_names)
    context = replace(context, model=facts, thinking=substitute.thinking, tools=tools)
    bounds = msgspec.structs.replace(state.bounds, fallback_index=index, failing=NO_FAILURES)
    return replace(state, tool_use_context=context, bounds=bounds)


def _is_same(one: ModelFacts, other: ModelFacts) -> bool:
    return (one.provider, one.id) == (other.provider, other.id)


def _why_not(facts: ModelFacts, state: State, request: ModelRequest, cooling_s: float) -> str | None:
    """Why the model cannot take the request over, as the end of a sentence; None if it can."""
    if cooling_s > 0:
        return f"is to be left alone for another {cooling_s:.0f} s"
    if not facts.takes_images and any(_has_media(message) for message in request.messages):
        return "takes no images or documents, and the conversation holds some"
    missing = _called(request.messages) - set(facts.tool_names) if facts.tool_names else frozenset[str]()
    if missing:
        return f"does not know the tools that were used: {', '.join(sorted(missing))}"
    needed = request_tokens(request, state.messages) + MIN_OUTPUT_TOKENS
    if needed > facts.context_window:
        return f"has a window of {facts.context_window:,} tokens, and about {needed:,} are needed"
    return None


def _has_media(message: RequestMessage) -> bool:
    return any(
        isinstance(block, Image | Document)
        or (
            isinstance(block, ToolResult)
            and isinstance(block.content, tuple)
            and any(isinstance(part, Image | Document) for part in block.content)
        )
        for block in message.content
    )


def _called(messages: Sequence[RequestMessage]) -> set[str]:
    return {block.name for message in messages for block in message.content if isinstance(block, ToolUse)}
