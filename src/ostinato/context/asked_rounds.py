"""Rounds that the model has asked to have hidden, by the Snip tool: its call in the conversation is the wish, so a resumed one
carries it out as well. Never a word of the user's, never the newest two rounds; what the user brought back stays.

While the window fills, rounds that may go are offered once for each tenth of it, if hiding them would pay.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from ostinato.context.deeds import deeds_of
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
from ostinato.hideable_rounds import TOOL_NAME, HideableRound, HideableRounds, Offer, round_name
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, ToolUse, meta_prompt
from ostinato.records import AnyEdit, Carried, Snip
from ostinato.window_limits import effective_window_tokens

OFFER_SHARE: Final = 0.5
OFFER_STEPS: Final = 10
MIN_OFFERED_TOKENS: Final = 30_000
MIN_OFFERED_SHARE: Final = 0.2
MIN_ASKED_TOKENS: Final = 10_000
MIN_ASKED_SHARE: Final = 0.1
"""Of what the window holds beside the reply, where that is less: a changed beginning is paid for once (docs/context.md)."""

MAX_OFFERED: Final = 12
CALLS_SHOWN: Final = 2
MIN_ROUND_TOKENS: Final = 200
"""The line that offers a round takes a tenth of this."""

MARKER: Final = "[{count} earlier rounds were left out here, because you asked for it. They were: {calls}. Make a call again if you need it.]"


class AskedRounds:
    """The part of snip that the model decides on."""

    def __init__(self, new_uuid: Callable[[], str], hideable: HideableRounds) -> None:
        self._new_uuid = new_uuid
        self._hideable = hideable
        self._step = -1
        self._made = ""
        """The newest edit of the last look: if it was not taken up, that look says nothing."""
        self._looked_at = ""
        """The newest reply of the last look; what came before it was dealt with."""

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        view = messages.view()
        edits = self._hidden(messages, view)
        after = messages.extend(edits) if edits else messages
        self._hideable.look = lambda: hideable_rounds(after)
        room = effective_window_tokens(facts.model)
        self._hideable.least_tokens = min(MIN_ASKED_TOKENS, int(MIN_ASKED_SHARE * room))
        self._offer(facts.used_tokens, room)
        return edits

    def _hidden(self, messages: History, view: Sequence[Message]) -> list[Snip]:
        if self._made and not messages.can_undo(self._made):
            self._looked_at = ""
        self._made = ""
        asked = list(self._asked_since(view))
        if not asked:
            return []
        stays = wanted_back(view, messages.log())
        chosen: dict[int, Round] = {}
        for place, names in asked:
            before = _nameable(view[:place])
            chosen.update((before[name].start, before[name]) for name in names if name in before)
        newest = {one.start for one in rounds_of(view)[-KEPT_ROUNDS:]}
        rounds = [chosen[at] for at in sorted(chosen) if at not in stays | newest]
        edits = [self._snip(view, span) for span in joined(rounds)]
        self._made = edits[-1].edit_id if edits else ""
        return edits

    def _asked_since(self, view: Sequence[Message]) -> Iterator[tuple[int, Sequence[str]]]:
        """Where the calls of the tool stand that were answered since the last look, and the names that each gave."""
        since = _newest_first(view, self._looked_at)
        replies = [view[place] for place in since]
        self._looked_at = replies[0].uuid if replies else self._looked_at
        if not any(call.name == TOOL_NAME for reply in replies for call in _calls(reply)):
            return
        granted = {one.call.id for one in exchanges(view) if not one.result.is_error}
        for place in reversed(since):
            for call in _calls(view[place]):
                if call.name == TOOL_NAME and call.id in granted:
                    yield place, _names(call)

    def _snip(self, view: Sequence[Message], span: Sequence[Round]) -> Snip:
        part = view[span[0].start : span[-1].end + 1]
        text = MARKER.format(count=len(span), calls=named_calls(span))
        deeds = deeds_of(part)
        return Snip(
            self._new_uuid(),
            part[0].uuid,
            part[-1].uuid,
            meta_prompt(self._new_uuid(), text, origin="snip"),
            is_asked=True,
            carried=Carried(changed=tuple(deeds.changed), read=tuple(deeds.read)),
        )

    def _offer(self, used_tokens: int, room_tokens: int) -> None:
        step = used_tokens * OFFER_STEPS // max(1, room_tokens)
        if step == self._step:
            return
        self._step, self._hideable.offer = step, None
        if used_tokens < OFFER_SHARE * room_tokens:
            return
        rounds = self._hideable.look()
        least = min(MIN_OFFERED_TOKENS, int(MIN_OFFERED_SHARE * room_tokens))
        if sum(one.tokens for one in rounds) < least:
            return
        largest = {one.name for one in sorted(rounds, key=lambda one: -one.tokens)[:MAX_OFFERED]}
        self._hideable.offer = Offer(str(step), tuple(one for one in rounds if one.name in largest))


def hideable_rounds(messages: History) -> list[HideableRound]:
    """What may be hidden of this conversation, oldest first."""
    view = messages.view()
    stays = wanted_back(view, messages.log())
    found = [
        HideableRound(
            name,
            named_calls((one,), CALLS_SHOWN),
            messages_tokens(view[one.start : one.end + 1]),
        )
        for name, one in _nameable(view).items()
        if one.start not in stays
    ]
    return [one for one in found if one.tokens >= MIN_ROUND_TOKENS]


def _nameable(view: Sequence[Message]) -> dict[str, Round]:
    """All but the newest rounds, and those whose name is not theirs alone."""
    rounds = rounds_of(view)
    names = [round_name(view[one.start].uuid) for one in rounds]
    count = Counter(names)
    old = rounds[: max(0, len(rounds) - KEPT_ROUNDS)]
    return {name: one for name, one in zip(names, old, strict=False) if count[name] == 1}


def _newest_first(view: Sequence[Message], until: str) -> list[int]:
    """Places of replies, back to one that is known."""
    places: list[int] = []
    for place in range(len(view) - 1, -1, -1):
        message = view[place]
        if isinstance(message, AssistantMessage):
            if message.uuid == until:
                break
            places.append(place)
    return places


def _names(call: ToolUse) -> Sequence[str]:
    given = call.input.get("rounds")
    return [str(name) for name in cast("list[object]", given)] if isinstance(given, list) else ()


def _calls(message: Message) -> Sequence[ToolUse]:
    return message.tool_uses if isinstance(message, AssistantMessage) else ()
