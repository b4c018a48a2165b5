"""Replies that are no answer yet: one that the provider has paused is sent back unchanged to go on, an empty one is asked about.

Empty is what holds nothing for a reader: no call and no text; thinking alone is empty. An empty reply counts as an answer where
the model ends its turn with nothing to add: right after tools, and after it was sent on although it had answered.
"""

from msgspec.structs import replace

from ostinato.loop import results
from ostinato.loop.deps import Deps, QueryParams
from ostinato.loop.transitions.answered import answered
from ostinato.loop.transitions.silent import has_spoken, silent
from ostinato.loop.transitions.step import Next, Step
from ostinato.messages import (
    AssistantMessage,
    AttachmentMessage,
    Message,
    QueuedCommand,
    RedactedThinking,
    SystemMessage,
    Text,
    Thinking,
    UserMessage,
    meta_prompt,
    notice_message,
)
from ostinato.records import Continued
from ostinato.state import Answered, Bounds, ContinueReason, Empty, Paused, State

MAX_PAUSES = 10
"""In a row, without a round of tools; the reply then stands as it is."""

MAX_EMPTY_REPLIES = 2
"""So often a model that says nothing is asked again before the query ends as failed."""

SENT_ON: frozenset[str] = frozenset({
    "stop_hook_blocking",
    "token_budget_continuation",
    "max_output_tokens_recovery",
})
"""After these the model had said something, and was asked for more."""

PAUSED = "The provider paused the reply {count} times and did not end it; it may be unfinished."
PAUSED_SILENTLY = "The provider paused the reply {count} times, and the model has not said a word."
EMPTY = "The model gave {count} empty replies in a row."
EMPTY_HINT = "say it another way, or choose another model"


async def paused(state: State, outcome: Paused, params: QueryParams, deps: Deps, *, turn_tokens: int) -> Step:
    """Nothing is added: the request ends with the reply, and the provider goes on in it. A pause that holds nothing to go on in
    counts as an empty reply too: what follows is the same request again.
    """
    pauses = state.bounds.pauses + 1
    empties = state.bounds.empties + _is_nothing(outcome.reply)
    if pauses <= MAX_PAUSES and empties <= MAX_EMPTY_REPLIES:
        bounds = replace(state.bounds, pauses=pauses, empties=empties)
        return _gone_on(state, outcome, "pause_turn_resume", bounds, attempt=pauses)
    if not has_spoken(state.messages.extend(outcome.records).view()):
        return silent(state, deps, PAUSED_SILENTLY.format(count=pauses), EMPTY_HINT)
    notice = notice_message(deps.ids.uuid(), "pause_cap", PAUSED.format(count=pauses), level="warning")
    held = Answered(records=outcome.records, reply=outcome.reply)
    return await answered(state, held, params, deps, turn_tokens=turn_tokens, told=(notice,))


def _is_nothing(reply: AssistantMessage | None) -> bool:
    return reply is None or all(
        isinstance(block, Thinking | RedactedThinking) or (isinstance(block, Text) and not block.text.strip())
        for block in reply.content
    )


async def empty(state: State, outcome: Empty, params: QueryParams, deps: Deps, *, turn_tokens: int) -> Step:
    """What the reply held of thinking stays in the history, where it was shown; it is never sent alone."""
    if outcome.stop_reason == "end_turn" and _may_be_silent(state):
        nothing = Answered(records=outcome.records)
        return await answered(state, nothing, params, deps, turn_tokens=turn_tokens)
    empties = state.bounds.empties + 1
    if empties > MAX_EMPTY_REPLIES:
        return silent(state, deps, EMPTY.format(count=empties), EMPTY_HINT)
    question = meta_prompt(deps.ids.uuid(), results.EMPTY_PROMPT, origin="recovery")
    bounds = replace(state.bounds, empties=empties)
    return _gone_on(state, outcome, "empty_response_retry", bounds, question, attempt=empties)


def _may_be_silent(state: State) -> bool:
    """Whether the model has worked or spoken since the user did, so that nothing is a possible last word. What the user sent
    meanwhile wants an answer.
    """
    was_sent_on = state.transition is not None and state.transition.reason in SENT_ON
    for message in reversed(state.messages.view()):
        match message:
            case SystemMessage():
                continue
            case AttachmentMessage(attachment=QueuedCommand()):
                return False
            case AttachmentMessage():
                continue
            case UserMessage():
                return was_sent_on or message.origin == "tool_result"
            case AssistantMessage():  # a paused reply
                return bool(message.text.strip())
    return False


def _gone_on(
    state: State,
    outcome: Paused | Empty,
    reason: ContinueReason,
    bounds: Bounds,
    *added: Message,
    attempt: int,
) -> Next:
    transition = Continued(reason, state.turn_count, attempt=attempt)
    following = State(
        messages=state.messages.extend((*outcome.records, *added)),
        tool_use_context=state.tool_use_context,
        auto_compact_tracking=state.auto_compact_tracking,
        max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
        has_attempted_reactive_compact=state.has_attempted_reactive_compact,
        max_output_tokens_override=state.max_output_tokens_override,
        pending_tool_use_summary=None,
        stop_hook_active=state.stop_hook_active,
        turn_count=state.turn_count,
        transition=transition,
        bounds=bounds,
    )
    return Next(following, transition, added)
