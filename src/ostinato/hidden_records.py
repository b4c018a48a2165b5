"""A conversation without what its newest boundary hid: that is in the session's file, and need not be in memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, UserMessage
from ostinato.records import Boundary, Fold, PermissionDecided, Record, Snip

NOWHERE: Final = -1


def without_hidden(history: History) -> History:
    """The same view on a shorter log. What is gone cannot be brought back by an `Undo` here, only by folding all records again.
    The history itself if nothing is hidden.
    """
    log, view = history.log(), history.view()
    standing = _standing(log, view)
    if len(standing) == len(log) or History.fold(standing).view() != view:
        return history
    closed = history.closed[: history.closed_length]
    return History(standing, closed, history.tail, history.last_response, history.counted)


def _standing(log: Sequence[Record], view: Sequence[Message]) -> list[Record]:
    """The records that fold to the same view; denials stay too, as they are looked up later."""
    shown = {message.uuid for message in view}
    boundary, newest = next(
        (
            (record, at)
            for at, record in reversed(list(enumerate(log)))
            if isinstance(record, Boundary) and record.summary.uuid in shown
        ),
        (None, NOWHERE),
    )
    if boundary is None:
        return list(log)
    own = {boundary.summary.uuid, *(message.uuid for message in boundary.restored)}
    began = _Beginnings(log)
    first = min([newest, *(began.of(uuid) for uuid in _sources(view) if uuid not in own)])
    return list(log) if first == NOWHERE else [*filter(_is_remembered, log[:first]), *log[first:]]


def _is_remembered(record: Record) -> bool:
    return isinstance(record, PermissionDecided) and record.behaviour == "deny"


def _sources(view: Sequence[Message]) -> Iterable[str]:
    """The uuids that brought what is shown: a message's own, or those of its fragments."""
    for message in view:
        brought = message.block_ids if isinstance(message, UserMessage | AssistantMessage) else ()
        yield from brought or (message.uuid,)


class _Beginnings:
    """Where in the log that begins which a message of the view stands on."""

    def __init__(self, log: Sequence[Record]) -> None:
        self._end = len(log)
        self._places: Mapping[str, int] = {
            record.uuid: at for at, record in reversed(list(enumerate(log))) if isinstance(record, Message)
        }
        self._made: dict[str, tuple[int, str]] = {}
        for at, record in enumerate(log):
            match record:
                case Fold():
                    self._made[record.summary.uuid] = (at, record.first)
                case Snip():
                    self._made[record.marker.uuid] = (at, record.first)
                case Boundary():
                    for made in (record.summary, *record.restored):
                        self._made[made.uuid] = (at, record.kept_from)
                case _:
                    pass

    def of(self, uuid: str) -> int:
        """A made element stands on what it was made of, back to plain messages; NOWHERE for what is not in the log."""
        first = self._end
        seen: set[str] = set()
        while uuid not in self._places:
            if uuid not in self._made or uuid in seen:
                return NOWHERE
            seen.add(uuid)
            at, uuid = self._made[uuid]
            first = min(first, at)
            if not uuid:
                return first
        return min(first, self._places[uuid])
