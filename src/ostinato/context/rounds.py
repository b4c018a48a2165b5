"""Rounds of a view: replies that call tools, each with all of its results; what the parts of snip hide, whole."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ostinato.context.exchanges import exchanges, shown_call
from ostinato.messages import AssistantMessage, Message, ToolUse, UserMessage
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.normalise.token_estimate import blocks_tokens
from ostinato.records import Record, Snip
from ostinato.undone import undone_edits

KEPT_ROUNDS: Final = 2
MAX_NAMED: Final = 20


class Round(msgspec.Struct, frozen=True):
    """A reply at `start` and its results up to `end` (both included)."""

    start: int
    end: int
    calls: tuple[ToolUse, ...]


def rounds_of(view: Sequence[Message]) -> list[Round]:
    """Replies that call tools, each directly followed by all of their results."""
    rounds: list[Round] = []
    for start, message in enumerate(view[:-1]):
        if isinstance(message, AssistantMessage) and message.tool_uses:
            answer = view[start + 1]
            answered = {one.call.id for one in exchanges((message, answer))}
            if answered == {call.id for call in message.tool_uses} and _is_only_results(answer):
                rounds.append(Round(start, start + 1, message.tool_uses))
    return rounds


def _is_only_results(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin == "tool_result"


def wanted_back(view: Sequence[Message], log: Sequence[Record]) -> frozenset[int]:
    """Places of what the user has brought back: it is not hidden again."""
    undone = undone_edits(log)
    snips = [edit for edit in log if isinstance(edit, Snip) and edit.edit_id in undone]
    places = {message.uuid: place for place, message in enumerate(view)} if snips else {}
    return frozenset(
        place
        for snip in snips
        if snip.first in places and snip.last in places
        for place in range(places[snip.first], places[snip.last] + 1)
    )


def joined(rounds: Sequence[Round]) -> list[list[Round]]:
    """Rounds that follow one another directly, as one span each."""
    spans: list[list[Round]] = []
    for one in rounds:
        if spans and spans[-1][-1].end + 1 == one.start:
            spans[-1].append(one)
        else:
            spans.append([one])
    return spans


def named_calls(rounds: Sequence[Round], most: int = MAX_NAMED) -> str:
    names = [shown_call(call) for one in rounds for call in one.calls]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def messages_tokens(messages: Sequence[Message]) -> int:
    return sum(
        blocks_tokens(
            message.content if isinstance(message, AssistantMessage) else rendered_user_blocks(message)
        )
        for message in messages
    )
