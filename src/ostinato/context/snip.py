"""Stage 2: rounds that later ones repeat go, whole. A round is a reply with its results; one that only looked something up, and was
later looked up again in the same way, holds nothing that the view does not hold in a newer form. So do rounds that the model
itself has asked to have hidden (`asked_rounds.py`).

The user's words, replies that say something, errors and the newest two rounds stay.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ostinato.codec import encode
from ostinato.context.asked_rounds import AskedRounds
from ostinato.context.exchanges import exchanges
from ostinato.context.rounds import (
    KEPT_ROUNDS,
    Round,
    joined,
    messages_tokens,
    named_calls,
    rounds_of,
    wanted_back,
)
from ostinato.context_pass import PassFacts
from ostinato.hideable_rounds import HideableRounds
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, ToolUse, meta_prompt
from ostinato.records import AnyEdit, Record, ReplaceResult, Snip
from ostinato.window_limits import effective_window_tokens

USED_SHARE: Final = 0.6
MIN_FREED_TOKENS: Final = 30_000
"""Changing the beginning must pay: with 10,000 it cost more than it saved (docs/context.md)."""

MIN_FREED_SHARE: Final = 0.2
"""Of what the window holds beside the reply, where that is less."""

LOOKING: Final = frozenset({"Read", "Grep", "Glob"})

MARKER: Final = "[{count} earlier rounds were left out here: what they looked up was looked up again later. They were: {calls}]"


class SnipStage:
    """`hideable`: how the model asks for rounds to be hidden; None where it cannot."""

    def __init__(self, new_uuid: Callable[[], str], hideable: HideableRounds | None = None) -> None:
        self._redundant = RedundantRounds(new_uuid)
        self._asked = None if hideable is None else AskedRounds(new_uuid, hideable)

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        if self._asked is None:
            return await self._redundant(messages, facts)
        edits = await self._asked(messages, facts)
        return (*edits, *await self._redundant(messages.extend(edits), facts))


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
        stays = wanted_back(view, log)
        rounds = _redundant(view, _replaced(log))
        spans = joined([one for one in rounds if one.start not in stays])
        edits = [self._snip(view, span) for span in spans]
        freed = sum(messages_tokens(view[span[0].start : span[-1].end + 1]) for span in spans)
        freed -= sum(messages_tokens((edit.marker,)) for edit in edits)
        self._not_before_tokens = facts.used_tokens + max(0, least - freed)
        return edits if freed >= least else ()

    def _snip(self, view: Sequence[Message], span: Sequence[Round]) -> Snip:
        text = MARKER.format(count=len(span), calls=named_calls(span))
        marker = meta_prompt(self._new_uuid(), text, origin="snip")
        return Snip(self._new_uuid(), view[span[0].start].uuid, view[span[-1].end].uuid, marker)


def _replaced(log: Sequence[Record]) -> frozenset[str]:
    """Calls whose result is no longer there as it was: what came before them is not made superfluous by them."""
    return frozenset(edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult))


def _redundant(view: Sequence[Message], replaced: frozenset[str]) -> list[Round]:
    """Rounds of looking whose every call comes again later, answered in full and without an error."""
    rounds = rounds_of(view)
    later: set[bytes] = set()
    good = {one.call.id for one in exchanges(view) if not one.result.is_error} - replaced
    found: list[Round] = []
    for place in range(len(rounds) - 1, -1, -1):
        one = rounds[place]
        keys = [_key(call) for call in one.calls]
        says_something = _says_something(view[one.start])
        if place < len(rounds) - KEPT_ROUNDS and not says_something and all(key in later for key in keys):
            found.append(one)
        later.update(key for key, call in zip(keys, one.calls, strict=True) if call.id in good)
    return found[::-1]


def _says_something(message: Message) -> bool:
    if not isinstance(message, AssistantMessage):
        return True
    return bool(message.text.strip()) or any(call.name not in LOOKING for call in message.tool_uses)


def _key(call: ToolUse) -> bytes:
    return encode([call.name, sorted(call.input.items())])
