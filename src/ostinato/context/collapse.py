"""Stage 4: finished spans of the work give way to short accounts, one each, while everything around them stays word for word.

Accounts are staged before they are needed and put in place all at once, so that the cached beginning changes rarely. Each span has
one by a program at once, a pure function of the view; where a small model is at hand it writes better ones in the meantime, for
as many as the next time will take. Nothing of it needs to be kept: a resumed conversation stages the same again.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from ostinato.context.account_prompt import SYSTEM, account_in, account_request
from ostinato.context.deeds import deeds_of
from ostinato.context.reactive import message_tokens
from ostinato.context.span_account import BY_MODEL, risk_of, span_account
from ostinato.context.spans import SPAN_TOKENS, finished_spans
from ostinato.context_pass import Accounting, PassFacts, SummaryFailed, SummaryWanted
from ostinato.history import History
from ostinato.messages import Message, Text, UserMessage
from ostinato.records import Carried, Fold
from ostinato.undone import undone_edits
from ostinato.window_limits import auto_compact_tokens, collapse_commit_tokens, collapse_staging_tokens

MAX_SHARE: Final = 0.4
"""An account that is longer than this part of its span gains too little (semantics §23)."""

ROOM_SHARE: Final = 0.25
CHARACTERS_A_TOKEN: Final = 2.5
MAX_ACCOUNT_CHARACTERS: Final = 4_000
COMMIT_DOWN_TO: Final = 0.75
"""Of the point of compaction: once the beginning changes, it shall change for a while (semantics §23)."""


LOOK_SHARE: Final = 0.05
"""Of the point of compaction: in a small window one looks again sooner than after a whole span."""

MAX_FAILURES: Final = 3
"""In a row; after so many accounts that were no good the model is not asked any more."""


class Staged(msgspec.Struct, frozen=True):
    """A span of so many `tokens`, and its account. `is_final`: no better one will be asked for."""

    tokens: int
    risk: int
    tokens_freed: int
    fold: Fold
    is_final: bool = False

    @property
    def ends(self) -> tuple[str, str]:
        return self.fold.first, self.fold.last


class Collapse:
    """The stage; `drain` implements the loop's `DrainCollapsed`."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid
        self._staged: list[Staged] = []
        self._looked_at_tokens: int | None = None
        self._failures = 0

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[Fold]:
        model, used = facts.model, facts.used_tokens
        if facts.source.name == "compact" or used < collapse_staging_tokens(model):
            return ()
        commit = collapse_commit_tokens(model)
        goal = int(COMMIT_DOWN_TO * auto_compact_tokens(model))
        if (used >= commit and self._staged) or self._is_to_look(used, auto_compact_tokens(model)):
            self._stage(messages)
            self._looked_at_tokens = used
        folds = self._committed(used - goal) if used >= commit else []
        if facts.accounting is not None:
            self._begin(messages, facts.accounting, commit - goal)
        return folds

    def _is_to_look(self, used_tokens: int, auto_tokens: int) -> bool:
        """Whether there may be spans that were not seen yet."""
        before = self._looked_at_tokens
        return before is None or abs(used_tokens - before) >= min(SPAN_TOKENS, int(LOOK_SHARE * auto_tokens))

    async def drain(self, messages: History, /) -> Sequence[Fold]:
        """Everything that can be collapsed."""
        self._stage(messages)
        return self._committed(None)

    def _committed(self, wanted_tokens: int | None) -> list[Fold]:
        """As many as free so much. They stay staged as long as their spans are in the view: an abort may still drop the edits."""
        taken = list(self._next(wanted_tokens))
        gone = {one.ends for one in taken}
        self._staged = [
            msgspec.structs.replace(one, is_final=True) if one.ends in gone else one for one in self._staged
        ]
        return [one.fold for one in taken]

    def _next(self, wanted_tokens: int | None) -> Iterator[Staged]:
        """Those that go first: that would be missed least, and the older ones of these; until so much is freed."""
        for one in sorted(self._staged, key=lambda staged: staged.risk > 0):
            if wanted_tokens is not None and wanted_tokens <= 0:
                break
            yield one
            if wanted_tokens is not None:
                wanted_tokens -= one.tokens_freed

    def _stage(self, messages: History) -> None:
        """Each finished span has its account; what is staged already stays as it is while its span does."""
        view = messages.view()
        known = {one.ends: one for one in self._staged}
        wanted_whole = _undone(messages)
        staged: list[Staged] = []
        for span in finished_spans(view):
            part = view[span.start : span.end]
            if wanted_whole and any(message.uuid in wanted_whole for message in part):
                continue
            one = known.get((part[0].uuid, part[-1].uuid)) or self._by_program(part, span.tokens)
            if one is not None:
                staged.append(one)
        self._staged = staged

    def _by_program(self, part: Sequence[Message], tokens: int) -> Staged | None:
        return self._account(part, tokens, span_account(part, _room(tokens)))

    def _account(
        self, part: Sequence[Message], tokens: int, text: str, *, is_final: bool = False
    ) -> Staged | None:
        """None if the account is not short enough."""
        summary = UserMessage(self._new_uuid(), (Text(text),), is_meta=True, origin="summary")
        after = message_tokens(summary)
        if after > MAX_SHARE * tokens:
            return None
        deeds = deeds_of(part)
        carried = Carried(changed=tuple(deeds.changed), read=tuple(deeds.read))
        fold = Fold(self._new_uuid(), part[0].uuid, part[-1].uuid, summary, carried)
        return Staged(tokens, risk_of(deeds, part), tokens - after, fold, is_final)

    # ------------------------------------------------------------------------------------------------ by a model

    def _begin(self, messages: History, accounting: Accounting, wanted_tokens: int) -> None:
        if self._wanted(wanted_tokens) is not None:
            accounting.begin(partial(self._improve, messages.view(), accounting, wanted_tokens))

    def _wanted(self, wanted_tokens: int) -> Staged | None:
        """The first of those that will be put in place next and may still get a better account."""
        if self._failures >= MAX_FAILURES:
            return None
        return next((one for one in self._next(wanted_tokens) if not one.is_final), None)

    async def _improve(self, view: Sequence[Message], accounting: Accounting, wanted_tokens: int) -> None:
        """One account after the other, of parts of this view; an answer that is none leaves what is there."""
        places = {message.uuid: place for place, message in enumerate(view)}
        while (one := self._wanted(wanted_tokens)) is not None and one.fold.last in places:
            part = view[places[one.fold.first] : places[one.fold.last] + 1]
            deeds = deeds_of(part)
            prompt = account_request(part, deeds, _room(one.tokens), accounting.window_tokens)
            reply = await accounting.ask(SummaryWanted(prompt, shares_prefix=False, system=SYSTEM))
            if isinstance(reply, SummaryFailed) and reply.kind == "aborted":
                return
            text = account_in(reply, deeds)
            better = text and self._account(part, one.tokens, BY_MODEL + text, is_final=True)
            self._failures = 0 if better else self._failures + 1
            settled = better or msgspec.structs.replace(one, is_final=True)
            # what was committed, drained or staged anew in the meantime stays as it is
            self._staged = [settled if staged is one else staged for staged in self._staged]


def _room(tokens: int) -> int:
    """Characters that an account of so large a span may have."""
    return min(MAX_ACCOUNT_CHARACTERS, int(tokens * ROOM_SHARE * CHARACTERS_A_TOKEN))


def _undone(messages: History) -> frozenset[str]:
    """Ends of spans that the user wanted to have back."""
    log = messages.log()
    undone = undone_edits(log)
    folds = [edit for edit in log if isinstance(edit, Fold) and edit.edit_id in undone]
    return frozenset(uuid for fold in folds for uuid in (fold.first, fold.last))
