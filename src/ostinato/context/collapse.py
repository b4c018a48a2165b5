"""Stage 4: finished spans of the work give way to short accounts, one each, while everything around them stays word for word.

Accounts are staged before they are needed and put in place all at once, so that the cached beginning changes rarely. What is
staged is a pure function of the view: nothing of it needs to be kept, a resumed conversation stages the same again.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ostinato.context.digest import deeds_of
from ostinato.context.reactive import message_tokens
from ostinato.context.span_account import risk_of, span_account
from ostinato.context.spans import SPAN_TOKENS, finished_spans
from ostinato.context_pass import PassFacts
from ostinato.history import History, undone_edits
from ostinato.messages import Message, Text, UserMessage
from ostinato.records import AnyEdit, Carried, Fold
from ostinato.window_limits import auto_compact_tokens, collapse_commit_tokens, collapse_staging_tokens

MAX_SHARE: Final = 0.4
"""An account that is longer than this part of its span gains too little (semantics §23)."""

ROOM_SHARE: Final = 0.25
CHARACTERS_A_TOKEN: Final = 2.5
MAX_ACCOUNT_CHARACTERS: Final = 4_000
COMMIT_DOWN_TO: Final = 0.75
"""Of the point of compaction: once the beginning changes, it shall change for a while (semantics §23)."""


class Staged(msgspec.Struct, frozen=True):
    """A span and its account; `first` and `last` are uuids."""

    first: str
    last: str
    risk: int
    tokens_freed: int
    fold: Fold


class Collapse:
    """The stage; `drain` implements the loop's `DrainCollapsed`."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid
        self._staged: list[Staged] = []
        self._looked_at_tokens = 0

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        model, used = facts.model, facts.used_tokens
        if facts.source.name == "compact" or used < collapse_staging_tokens(model):
            return ()
        is_due = used >= collapse_commit_tokens(model)
        if (is_due and self._staged) or abs(used - self._looked_at_tokens) >= SPAN_TOKENS:
            self._stage(messages)
            self._looked_at_tokens = used
        return self._committed(used - int(COMMIT_DOWN_TO * auto_compact_tokens(model))) if is_due else ()

    async def drain(self, messages: History, /) -> Sequence[AnyEdit]:
        """Everything that can be collapsed."""
        self._stage(messages)
        return self._committed(None)

    def _committed(self, wanted_tokens: int | None) -> list[AnyEdit]:
        """As many as free so much; those that would be missed least first, and the older ones of these."""
        edits: list[AnyEdit] = []
        for one in sorted(self._staged, key=lambda staged: staged.risk > 0):
            if wanted_tokens is not None and wanted_tokens <= 0:
                break
            edits.append(one.fold)
            self._staged.remove(one)
            if wanted_tokens is not None:
                wanted_tokens -= one.tokens_freed
        return edits

    def _stage(self, messages: History) -> None:
        """Each finished span has its account; what is staged already stays as it is while its span does."""
        view = messages.view()
        known = {(one.first, one.last): one for one in self._staged}
        wanted_whole = _undone(messages)
        staged: list[Staged] = []
        for span in finished_spans(view):
            part = view[span.start : span.end]
            if wanted_whole and any(message.uuid in wanted_whole for message in part):
                continue
            one = known.get((part[0].uuid, part[-1].uuid)) or self._account(part, span.tokens)
            if one is not None:
                staged.append(one)
        self._staged = staged

    def _account(self, part: Sequence[Message], tokens: int) -> Staged | None:
        """None if the account would not be short enough."""
        room = min(MAX_ACCOUNT_CHARACTERS, int(tokens * ROOM_SHARE * CHARACTERS_A_TOKEN))
        text = Text(span_account(part, room))
        summary = UserMessage(self._new_uuid(), (text,), is_meta=True, origin="summary")
        after = message_tokens(summary)
        if after > MAX_SHARE * tokens:
            return None
        first, last, deeds = part[0].uuid, part[-1].uuid, deeds_of(part)
        carried = Carried(changed=tuple(deeds.changed), read=tuple(deeds.read))
        fold = Fold(self._new_uuid(), first, last, summary, carried)
        return Staged(first, last, risk_of(deeds, part), tokens - after, fold)


def _undone(messages: History) -> frozenset[str]:
    """Ends of spans that the user wanted to have back."""
    log = messages.log()
    undone = undone_edits(log)
    folds = [edit for edit in log if isinstance(edit, Fold) and edit.edit_id in undone]
    return frozenset(uuid for fold in folds for uuid in (fold.first, fold.last))
