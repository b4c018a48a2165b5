"""Stage 2: rounds that later ones repeat go, whole. A round is a reply with its results; one that only looked something up, and was
later looked up again in the same way, holds nothing that the view does not hold in a newer form. So do rounds that the model
itself has asked to have hidden (`asked_rounds.py`).

The user's words, replies that say something, errors and the newest two rounds stay.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ostinato.context.asked_rounds import AskedRounds
from ostinato.context.repeated_rounds import RepeatedRounds
from ostinato.context.rounds import (
    KEPT_ROUNDS,
    Round,
    joined,
    messages_tokens,
    named_calls,
)
from ostinato.context_pass import PassFacts
from ostinato.hideable_rounds import HideableRounds
from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, meta_prompt
from ostinato.records import AnyEdit, Snip
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
        self._repeated = RepeatedRounds(_says_something)

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        room = effective_window_tokens(facts.model)
        least = min(MIN_FREED_TOKENS, int(MIN_FREED_SHARE * room))
        if facts.used_tokens < USED_SHARE * room:
            return ()
        found = self._repeated.look(messages, KEPT_ROUNDS)
        freed = sum(one.tokens for one in found)
        if freed < least:
            return ()
        view = messages.view()
        edits = [self._snip(view, span) for span in joined([one.round for one in found])]
        return edits if freed - messages_tokens([edit.marker for edit in edits]) >= least else ()

    def _snip(self, view: Sequence[Message], span: Sequence[Round]) -> Snip:
        text = MARKER.format(count=len(span), calls=named_calls(span))
        marker = meta_prompt(self._new_uuid(), text, origin="snip")
        return Snip(self._new_uuid(), view[span[0].start].uuid, view[span[-1].end].uuid, marker)


def _says_something(message: Message) -> bool:
    if not isinstance(message, AssistantMessage):
        return True
    return bool(message.text.strip()) or any(call.name not in LOOKING for call in message.tool_uses)
