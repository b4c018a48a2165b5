"""Edits that were taken back, and what later ones mean that were made on top of them: a summary that keeps its conversation from
another edit's account on keeps it, once that edit is taken back, from the beginning of what the account stood for.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ostinato.messages import Message
from ostinato.records import AnyEdit, Boundary, Edit, Fold, Record, Snip, Undo


def undone_edits(log: Sequence[Record]) -> set[str]:
    """Ids of edits without effect; an `Undo` counts if it was not itself undone and its target stands before it."""
    return set(undone_at(log))


def undone_at(log: Sequence[Record]) -> dict[str, int]:
    """By id of the edit without effect: where the first of the undos in force stands."""
    effective: list[tuple[int, Undo]] = []
    made: set[str] = set()
    for at, record in enumerate(log):
        if isinstance(record, Undo) and record.target in made:
            effective.append((at, record))
        if isinstance(record, Edit):
            made.add(record.edit_id)
    undone: dict[str, int] = {}
    for at, undo in reversed(effective):
        if undo.edit_id not in undone:
            undone[undo.target] = at
    return undone


class MeantPlaces:
    """What elements stood for whose edits are taken back later. Mutable: for one walk through a log."""

    def __init__(self) -> None:
        self._spans: dict[str, tuple[str, str]] = {}
        self._made_by: dict[str, list[str]] = {}

    @property
    def has_any(self) -> bool:
        return bool(self._spans)

    def note(self, edit: Edit, view: Sequence[Message]) -> None:
        """The edit, which has no effect, stands in the log where the view is this."""
        for uuid, first, last in _stood_for(edit, view):
            self._spans[uuid] = first, last
            self._made_by.setdefault(edit.edit_id, []).append(uuid)

    def forget(self, edit_id: str) -> None:
        """Whoever edits from here on has seen the conversation without what that edit made."""
        for uuid in self._made_by.pop(edit_id, ()):
            del self._spans[uuid]

    def of(self, edit: AnyEdit, view: Sequence[Message]) -> AnyEdit:
        """The edit with its ends where they are in this view."""
        shown = {message.uuid for message in view}
        match edit:
            case Snip() | Fold():
                first, last = self._place(edit.first, 0, shown), self._place(edit.last, 1, shown)
                return replace(edit, first=first, last=last)
            case Boundary():
                return replace(edit, kept_from=self._place(edit.kept_from, 0, shown))
            case _:
                return edit

    def _place(self, uuid: str, end: int, shown: set[str]) -> str:
        """`end`: 0 for where the span begins, 1 for where it ends."""
        seen: set[str] = set()
        while uuid in self._spans and uuid not in shown | seen:
            seen.add(uuid)
            uuid = self._spans[uuid][end]
        return uuid


def _stood_for(edit: Edit, view: Sequence[Message]) -> Iterator[tuple[str, str, str]]:
    """Each element that the edit made, and the messages from where to where that are there without it."""
    match edit:
        case Snip():
            yield edit.marker.uuid, edit.first, edit.last
        case Fold():
            yield edit.summary.uuid, edit.first, edit.last
        case Boundary():
            start = next((at for at, one in enumerate(view) if one.uuid == edit.kept_from), len(view))
            if start:
                yield edit.summary.uuid, view[0].uuid, view[start - 1].uuid
            if start < len(view):
                yield from ((restored.uuid, edit.kept_from, edit.kept_from) for restored in edit.restored)
        case _:
            pass
