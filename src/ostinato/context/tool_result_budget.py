"""Stage 1: no result and no round of results can fill the window. What is too long is kept whole in a file and shown by its
beginning; what was said already is named instead of repeated.

Only results that no reply has followed are looked at, so that what a model has read never changes again by this stage. The same
round gives the same bytes, on a resume and in a fork too.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ostinato.context.exchanges import Exchange, exchanges, shown_call, unread_from
from ostinato.context.repeats import Repeats
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.records import AnyEdit, ReplaceResult

MAX_ROUND_CHARACTERS: Final = 200_000
"""Of all results that one round brings (semantics §20.2)."""

PREVIEW_BYTES: Final = 2_000
MIN_REPEATED_BYTES: Final = 256
MAX_REPEATED_BYTES: Final = 50_000

STORED: Final = (
    "[This result has {size:,} characters, too many to show. All of it is in {path}: read that file in ranges, or search it. "
    "It begins:]\n{preview}\n[… the rest is in the file …]"
)
REPEATED: Final = (
    "[The same, character for character, as the earlier result of: {call}. It is also in {path}]"
)

StoreResult = Callable[[str, str], Awaitable[str | None]]
"""Keeps the whole text of the result of this call id; the path of its file, or None if it cannot be kept."""

LimitOf = Callable[[str], int | None]
"""How many characters a result of the tool of this name may have; None if the tool bounds its results itself."""


class ToolResultBudget:
    def __init__(self, new_uuid: Callable[[], str], store: StoreResult, limit_of: LimitOf) -> None:
        self._new_uuid = new_uuid
        self._store = store
        self._limit_of = limit_of
        self._repeats = Repeats()

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        del facts
        view = messages.view()
        start = unread_from(view)
        if start is None:
            return ()
        return await self._edits(messages, [one for one in exchanges(view[start:]) if one.text is not None])

    async def _edits(self, messages: History, fresh: Sequence[Exchange]) -> list[AnyEdit]:
        edits: dict[str, ReplaceResult] = {}
        for one in _repeatable(fresh):
            await self._name_repeated(one, self._repeats.first_like(one, messages), edits)
        for one in self._too_long(fresh, edits):
            path = await self._store(one.call.id, one.text or "")
            if path is not None:
                text = stored_text(one.text or "", path)
                edits[one.call.id] = ReplaceResult(self._new_uuid(), one.call.id, text, path, "stored")
        return [edits[one.call.id] for one in fresh if one.call.id in edits]

    async def _name_repeated(
        self, one: Exchange, before: Exchange | None, edits: dict[str, ReplaceResult]
    ) -> None:
        path = await self._store(one.call.id, one.text or "") if before else None
        if before is not None and path is not None:
            text = REPEATED.format(call=shown_call(before.call), path=path)
            if len(text) < len(one.text or ""):
                edits[one.call.id] = ReplaceResult(self._new_uuid(), one.call.id, text, path, "repeated")

    def _too_long(self, fresh: Sequence[Exchange], edits: dict[str, ReplaceResult]) -> Sequence[Exchange]:
        """Those above their own limit; then the longest ones, until what is left fits a round."""
        bounded = [
            (one, len(one.text or ""), limit)
            for one in fresh
            if one.call.id not in edits and (limit := self._limit_of(one.call.name)) is not None
        ]
        chosen = [one for one, size, limit in bounded if size > limit]
        rest = [(one, size) for one, size, limit in bounded if size <= limit]
        total = sum(len(one.text or "") for one in fresh if one.call.id not in edits)
        total -= sum(len(one.text or "") - PREVIEW_BYTES for one in chosen)
        for one, size in sorted(rest, key=lambda pair: -pair[1]):
            if total <= MAX_ROUND_CHARACTERS or size <= 2 * PREVIEW_BYTES:
                break
            chosen.append(one)
            total -= size - PREVIEW_BYTES
        return chosen


def stored_text(text: str, path: str) -> str:
    """What stands for a result that lies in `path`: its size, the path, and its beginning up to the end of a line."""
    beginning = text.encode()[:PREVIEW_BYTES].decode(errors="ignore")
    line_end = beginning.rfind("\n")
    preview = beginning[:line_end] if line_end >= len(beginning) // 2 else beginning
    return STORED.format(size=len(text), path=path, preview=preview)


def _repeatable(fresh: Sequence[Exchange]) -> list[Exchange]:
    return [
        one
        for one in fresh
        if not one.result.is_error
        and MIN_REPEATED_BYTES <= len((one.text or "").encode()) <= MAX_REPEATED_BYTES
    ]
