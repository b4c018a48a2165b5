"""Stage 3: old results of tools that can be called again give way to a line that says which call it was. Calls, texts and errors
stay, and so does what no reply has followed: a model that never sees its result calls again for ever. What was cleared stays
cleared, so the bytes before it change once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ostinato.context.clearable_results import ClearableResults
from ostinato.context.exchanges import Exchange, shown_call, unread_from
from ostinato.context_pass import PassFacts
from ostinato.history import History
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

CLEARED: Final = "[Old result, cleared to save room: {call}, {size}{where}. Call it again if you need it.]"


class Microcompact:
    """`share`: of what the window holds beside the reply; from there on old results are cleared by size."""

    def __init__(
        self, new_uuid: Callable[[], str], *, share: float = USED_SHARE, idle_s: float | None = IDLE_S
    ) -> None:
        self._new_uuid = new_uuid
        self._share = share
        self._idle_s = idle_s
        self._results = ClearableResults(_is_compactable, _is_worth_it)

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        room = effective_window_tokens(facts.model)
        is_idle = self._idle_s is not None and facts.idle_s is not None and facts.idle_s >= self._idle_s
        is_full = facts.used_tokens >= self._share * room
        if not is_idle and not is_full:
            return ()
        self._results.look(messages)
        unread = unread_from(messages.view())
        first_unread = len(messages) if unread is None else unread
        by_time = self._results.all_but(KEPT_WHEN_IDLE) if is_idle else ()
        by_size = self._old(room, first_unread) if is_full else ()
        longest = max(by_time, by_size, key=len)
        chosen = [one for one in longest if one.index < first_unread and self._results.is_clearable(one)]
        return self._clearing(chosen, _stored(messages.log())) if chosen else ()

    def _old(self, room_tokens: int, first_unread: int) -> Sequence[Exchange]:
        """What lies before the newest results, if it is enough."""
        old = self._results.before_newest(_part(KEPT_TOKENS, room_tokens), first_unread)
        return old.settled[: old.count] if old.tokens >= _part(MIN_FREED_TOKENS, room_tokens) else ()

    def _clearing(self, chosen: Sequence[Exchange], stored: Mapping[str, str]) -> list[AnyEdit]:
        edits: list[AnyEdit] = []
        for one in chosen:
            path = stored.get(one.call.id, "")
            edits.append(
                ReplaceResult(self._new_uuid(), one.call.id, cleared_text(one, path), path, "cleared")
            )
        return edits


def cleared_text(one: Exchange, stored_as: str) -> str:
    """What stands for a cleared result. A file that holds it is still named."""
    size = f"{len(one.text):,} characters" if one.text is not None else "with images"
    where = f", all of it in {stored_as}" if stored_as else ""
    return CLEARED.format(call=shown_call(one.call), size=size, where=where)


def _stored(log: Sequence[Record]) -> dict[str, str]:
    """Where stage 1 put results, by call."""
    return {
        edit.tool_use_id: edit.stored_as for edit in log if isinstance(edit, ReplaceResult) and edit.stored_as
    }


def _part(tokens: int, room_tokens: int) -> int:
    return min(tokens, int(MAX_SHARE * room_tokens))


def _is_compactable(one: Exchange) -> bool:
    return one.call.name in COMPACTABLE


def _is_worth_it(one: Exchange) -> bool:
    return not one.result.is_error and (one.text is None or len(one.text) >= MIN_CHARACTERS)
