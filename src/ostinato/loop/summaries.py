"""The model of a pass as the one that writes summaries: with the conversation's own next request and a last word, or on its own."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.context_pass import SummaryFailed, SummaryReply, SummaryWanted
from ostinato.errors import ModelError
from ostinato.events import SystemEvent
from ostinato.loop.budget import BudgetSpent
from ostinato.loop.compaction_notices import summarised_notice, summarising_notice
from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.request import RequestBuilder
from ostinato.loop.side_call import SideAnswer, SideCall, SideEnd, text_request
from ostinato.loop.turn_outcome import OUTPUT_LIMIT_REASONS
from ostinato.messages import AssistantBlock, Document, Image, Text, ToolResult
from ostinato.normalise.pairing import without_halves
from ostinato.normalise.rendering import without_trailing_thinking
from ostinato.normalise.token_estimate import whole_request_tokens
from ostinato.ports import ModelRequest, QuerySource, RequestMessage
from ostinato.state import State
from ostinato.window_limits import MAX_RESERVED_TOKENS

SOURCE: Final = QuerySource("compact")
CUT_REASONS: Final = OUTPUT_LIMIT_REASONS | {"pause_turn"}
"""The reply may be a part; a summary that lacks its end is none."""


class Summaries:
    """Implements `Summarise` for one pass. While a model is asked, which takes its time, that is what the user sees."""

    def __init__(self, state: State, deps: Deps, ledger: Ledger, requests: RequestBuilder) -> None:
        context = state.tool_use_context
        self._state = state
        self._requests = requests
        self._ledger = ledger
        self._ids = deps.ids
        index = state.bounds.fallback_index
        self._ask = SideCall(
            deps,
            ledger,
            deps.call_of(index),
            context.model,
            context.abort,
            refresh_auth=deps.refresh_of(index),
        )

    async def __call__(self, wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
        await self._ledger.emit(SystemEvent(summarising_notice(self._ids)))
        request = self._with_prefix(wanted) if wanted.shares_prefix else self._alone(wanted)
        end = await self._ask(request, lambda: whole_request_tokens(request))
        await self._ledger.emit(SystemEvent(summarised_notice(self._ids)))
        return summary_of(end)

    def _with_prefix(self, wanted: SummaryWanted) -> ModelRequest:
        """The next request, byte for byte but for its end: a provider's cache holds its beginning."""
        request = self._requests.build(self._state)
        tracking = request.tracking
        return replace(
            request,
            messages=with_last_word(_ended(request), wanted.prompt),
            source=SOURCE,
            tracking=replace(tracking, depth=tracking.depth + 1),
            continues_reply=False,
        )

    def _alone(self, wanted: SummaryWanted) -> ModelRequest:
        context = self._state.tool_use_context
        return text_request(
            context.tracking,
            SOURCE,
            context.model,
            system=wanted.system,
            prompt=wanted.prompt,
            max_output_tokens=MAX_RESERVED_TOKENS,
        )


def _ended(request: ModelRequest) -> Sequence[RequestMessage]:
    """Its messages, with a paused reply as one that ended there: what its provider had only begun cannot be followed by a word."""
    messages = request.messages
    if not request.continues_reply or not messages or messages[-1].role != "assistant":
        return messages
    said = [block for block in messages[-1].content if isinstance(block, AssistantBlock)]
    content = without_trailing_thinking(without_halves(said))
    return (*messages[:-1], RequestMessage("assistant", content)) if content else messages[:-1]


def with_last_word(messages: Sequence[RequestMessage], prompt: str) -> tuple[RequestMessage, ...]:
    """The messages and one more word of the user's side: roles alternate, so it joins a last message of that side."""
    word = Text(prompt)
    if messages and messages[-1].role == "user":
        blocks = [b for b in messages[-1].content if isinstance(b, Text | Image | Document | ToolResult)]
        return (*messages[:-1], RequestMessage("user", (*blocks, word)))
    return (*messages, RequestMessage("user", (word,)))


def summary_of(end: SideEnd) -> SummaryReply | SummaryFailed:
    """What came back, as those read it who wanted a summary."""
    match end:
        case None:
            return SummaryFailed("aborted", "stopped")
        case BudgetSpent():
            return SummaryFailed("over_budget", end.message)
        case ModelError():
            return _failed(end)
        case SideAnswer():
            said = end.said
            if end.stop_reason == "refusal":
                return SummaryFailed("error", "the model refused to write it")
            return SummaryReply(
                said.text if said else "",
                is_cut=end.stop_reason in CUT_REASONS,
                called_tool=bool(said and said.tool_uses and not said.text.strip()),
            )


def _failed(error: ModelError) -> SummaryFailed:
    """An output limit that is too high for the model says nothing of the prompt."""
    is_too_long = error.recover == "compact" or (
        error.recover == "shrink_output" and error.output_limit_tokens is None
    )
    if not is_too_long:
        return SummaryFailed("error", error.message)
    excess = None
    if error.input_tokens is not None and error.limit_tokens is not None:
        excess = max(0, error.input_tokens - error.limit_tokens)
    return SummaryFailed("too_long", error.message, excess, error.input_tokens)
