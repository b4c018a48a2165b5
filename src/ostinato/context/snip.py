"""Stage 2: rounds that later ones repeat go, whole. A round is a reply with its results; one that only looked something up, and was
later looked up again in the same way, holds nothing that the view does not hold in a newer form.

The user's words, replies that say something, errors and the newest two rounds stay.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ostinato.codec import encode
from ostinato.context.exchanges import exchanges, shown_call
from ostinato.context_pass import PassFacts
from ostinato.history import History, undone_edits
from ostinato.messages import AssistantMessage, Message, ToolUse, UserMessage, meta_prompt
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.normalise.token_estimate import blocks_tokens
from ostinato.records import AnyEdit, Record, ReplaceResult, Snip
from ostinato.window_limits import effective_window_tokens

USED_SHARE: Final = 0.6
MIN_FREED_TOKENS: Final = 30_000
"""Changing the beginning must pay: with 10,000 it cost more than it saved (docs/context.md)."""

MIN_FREED_SHARE: Final = 0.2
"""Of what the window holds beside the reply, where that is less."""

KEPT_ROUNDS: Final = 2
LOOKING: Final = frozenset({"Read", "Grep", "Glob"})
MAX_NAMED: Final = 20

MARKER: Final = "[{count} earlier rounds were left out here: what they looked up was looked up again later. They were: {calls}]"


class _Round(msgspec.Struct, frozen=True):
    """A reply at `start` and its results up to `end` (both included)."""

    start: int
    end: int
    calls: tuple[ToolUse, ...]


class RedundantRounds:
    """The part of snip that needs nobody's judgement."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid
        self._not_before_tokens = 0
        """Before so much is used there cannot be enough to gain: the last look says so."""

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        room = effective_window_tokens(facts.model)
        least = min(MIN_FREED_TOKENS, int(MIN_FREED_SHARE * room))
        if facts.used_tokens < max(USED_SHARE * room, self._not_before_tokens):
            return ()
        view = messages.view()
        log = messages.log()
        wanted_back = _wanted_back(view, log)
        rounds = _redundant(view, _replaced(log))
        spans = _joined([one for one in rounds if one.start not in wanted_back])
        edits = [self._snip(view, span) for span in spans]
        freed = sum(_tokens(view[span[0].start : span[-1].end + 1]) for span in spans)
        freed -= sum(_tokens((edit.marker,)) for edit in edits)
        self._not_before_tokens = facts.used_tokens + max(0, least - freed)
        return edits if freed >= least else ()

    def _snip(self, view: Sequence[Message], span: Sequence[_Round]) -> Snip:
        names = [shown_call(call) for one in span for call in one.calls]
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        text = MARKER.format(count=len(span), calls="; ".join(names[:MAX_NAMED]) + more)
        marker = meta_prompt(self._new_uuid(), text, origin="snip")
        return Snip(self._new_uuid(), view[span[0].start].uuid, view[span[-1].end].uuid, marker)


def _replaced(log: Sequence[Record]) -> frozenset[str]:
    """Calls whose result is no longer there as it was: what came before them is not made superfluous by them."""
    return frozenset(edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult))


def _wanted_back(view: Sequence[Message], log: Sequence[Record]) -> frozenset[int]:
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


def _redundant(view: Sequence[Message], replaced: frozenset[str]) -> list[_Round]:
    """Rounds of looking whose every call comes again later, answered in full and without an error."""
    rounds = _rounds(view)
    later: set[bytes] = set()
    good = {one.call.id for one in exchanges(view) if not one.result.is_error} - replaced
    found: list[_Round] = []
    for place in range(len(rounds) - 1, -1, -1):
        one = rounds[place]
        keys = [_key(call) for call in one.calls]
        says_something = _says_something(view[one.start])
        if place < len(rounds) - KEPT_ROUNDS and not says_something and all(key in later for key in keys):
            found.append(one)
        later.update(key for key, call in zip(keys, one.calls, strict=True) if call.id in good)
    return found[::-1]


def _rounds(view: Sequence[Message]) -> list[_Round]:
    """Replies that call tools, each directly followed by all of their results."""
    rounds: list[_Round] = []
    for start, message in enumerate(view[:-1]):
        if isinstance(message, AssistantMessage) and message.tool_uses:
            answer = view[start + 1]
            answered = {one.call.id for one in exchanges((message, answer))}
            if answered == {call.id for call in message.tool_uses} and _is_only_results(answer):
                rounds.append(_Round(start, start + 1, message.tool_uses))
    return rounds


def _is_only_results(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin == "tool_result"


def _says_something(message: Message) -> bool:
    if not isinstance(message, AssistantMessage):
        return True
    return bool(message.text.strip()) or any(call.name not in LOOKING for call in message.tool_uses)


def _key(call: ToolUse) -> bytes:
    return encode([call.name, sorted(call.input.items())])


def _joined(rounds: Sequence[_Round]) -> list[list[_Round]]:
    """Rounds that follow one another directly, as one span each."""
    spans: list[list[_Round]] = []
    for one in rounds:
        if spans and spans[-1][-1].end + 1 == one.start:
            spans[-1].append(one)
        else:
            spans.append([one])
    return spans


def _tokens(messages: Sequence[Message]) -> int:
    return sum(
        blocks_tokens(
            message.content if isinstance(message, AssistantMessage) else rendered_user_blocks(message)
        )
        for message in messages
    )
