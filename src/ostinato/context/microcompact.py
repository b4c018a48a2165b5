"""Stage 3: old results of tools that can be called again give way to a line that says which call it was. Calls, texts and errors
stay, and so does what no reply has followed: a model that never sees its result calls again for ever. What was cleared stays
cleared, so the bytes before it change once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ostinato.context.exchanges import Exchange, exchanges, shown_call, unread_from
from ostinato.context_pass import PassFacts
from ostinato.history import History, undone_edits
from ostinato.normalise.token_estimate import blocks_tokens
from ostinato.records import AnyEdit, Record, ReplaceResult
from ostinato.window_limits import effective_window_tokens

COMPACTABLE: Final = frozenset(
    {
        "Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write", "MultiEdit", "NotebookEdit",
        "TaskOutput",
    }
)  # fmt: skip
IDLE_S: Final = 3_600.0
"""After an hour no provider still caches the prompt, so changing its beginning costs nothing (semantics §22.1)."""

KEPT_WHEN_IDLE: Final = 5
USED_SHARE: Final = 0.5
KEPT_TOKENS: Final = 40_000
MIN_FREED_TOKENS: Final = 40_000
"""Changing the beginning must pay: with 20,000 long sessions cost a tenth more, with 80,000 nothing was gained over a summary
(docs/context.md).
"""

MAX_SHARE: Final = 0.2
"""Of what the window holds beside the reply: the most that either figure may be, so that small windows are served as well."""

MIN_CHARACTERS: Final = 500
"""Below, the line that stands in is hardly shorter."""

CLEARED_HEAD: Final = "[Old result, cleared to save room: "


class Microcompact:
    """`share`: of what the window holds beside the reply; from there on old results are cleared by size."""

    def __init__(
        self, new_uuid: Callable[[], str], *, share: float = USED_SHARE, idle_s: float | None = IDLE_S
    ) -> None:
        self._new_uuid = new_uuid
        self._share = share
        self._idle_s = idle_s
        self._not_before_tokens = 0
        """Before so much is used there cannot be enough to clear: the last look says so."""

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        room = effective_window_tokens(facts.model)
        is_idle = self._idle_s is not None and facts.idle_s is not None and facts.idle_s >= self._idle_s
        is_full = facts.used_tokens >= max(self._share * room, self._not_before_tokens)
        if not is_idle and not is_full:
            return ()
        log, view = messages.log(), messages.view()
        wanted_back, unread = _wanted_back(log), unread_from(view)
        first_unread = len(view) if unread is None else unread
        results = [
            one for one in exchanges(view) if one.call.name in COMPACTABLE and one.call.id not in wanted_back
        ]
        chosen = _old_when_idle(results) if is_idle else []
        if is_full:
            old, least = _old_by_size(results, _part(KEPT_TOKENS, room)), _part(MIN_FREED_TOKENS, room)
            old = [one for one in old if one.index < first_unread]
            freed = sum(blocks_tokens((one.result,)) for one in old)
            self._not_before_tokens = facts.used_tokens + max(0, least - freed)
            chosen = max(chosen, old if freed >= least else [], key=len)
        chosen = [one for one in chosen if one.index < first_unread]
        return self._clearing(chosen, _stored(log)) if chosen else ()

    def _clearing(self, chosen: Sequence[Exchange], stored: Mapping[str, str]) -> list[AnyEdit]:
        edits: list[AnyEdit] = []
        for one in chosen:
            path = stored.get(one.call.id, "")
            edits.append(ReplaceResult(self._new_uuid(), one.call.id, cleared_text(one, path), path))
        return edits


def cleared_text(one: Exchange, stored_as: str) -> str:
    """What stands for a cleared result. A file that holds it is still named."""
    size = f"{len(one.text):,} characters" if one.text is not None else "with images"
    where = f", all of it in {stored_as}" if stored_as else ""
    return f"{CLEARED_HEAD}{shown_call(one.call)}, {size}{where}. Call it again if you need it.]"


def _stored(log: Sequence[Record]) -> dict[str, str]:
    """Where stage 1 put results, by call."""
    return {
        edit.tool_use_id: edit.stored_as for edit in log if isinstance(edit, ReplaceResult) and edit.stored_as
    }


def _wanted_back(log: Sequence[Record]) -> frozenset[str]:
    """Calls whose results the user has brought back: they are not cleared again."""
    undone = undone_edits(log)
    return frozenset(
        edit.tool_use_id for edit in log if isinstance(edit, ReplaceResult) and edit.edit_id in undone
    )


def _old_when_idle(results: Sequence[Exchange]) -> list[Exchange]:
    return [one for one in results[:-KEPT_WHEN_IDLE] if _is_clearable(one)]


def _part(tokens: int, room_tokens: int) -> int:
    return min(tokens, int(MAX_SHARE * room_tokens))


def _old_by_size(results: Sequence[Exchange], newest_tokens: int) -> list[Exchange]:
    """What lies before so many tokens of the newest results."""
    kept_tokens, keeps_from = 0, len(results)
    for place in range(len(results) - 1, -1, -1):
        kept_tokens += blocks_tokens((results[place].result,))
        if kept_tokens > newest_tokens:
            break
        keeps_from = place
    return [one for one in results[:keeps_from] if _is_clearable(one)]


def _is_clearable(one: Exchange) -> bool:
    if one.result.is_error:
        return False
    text = one.text
    return text is None or (len(text) >= MIN_CHARACTERS and not text.startswith(CLEARED_HEAD))
