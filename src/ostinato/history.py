"""The conversation: an append-only log and its projection, the view that the model sees.

A `History` never changes; appending returns a new one that shares all storage with the old. Appending is O(1): the
newest history owns the growing end of shared lists, an older one copies when it is appended to again. Edits rebuild
the view in O(n). `History.fold(records)` equals the live view, always (`tests/test_history.py`).
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar, assert_never

import msgspec

from ostinato.media_note import without_media
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    Document,
    Image,
    Message,
    Text,
    ToolResult,
    UserBlock,
    UserMessage,
)
from ostinato.records import (
    AnyEdit,
    Boundary,
    Edit,
    Fact,
    Fold,
    Record,
    ReplaceResult,
    ResponseEnded,
    Retract,
    Snip,
    StripMedia,
    Undo,
)
from ostinato.undone import MeantPlaces, undone_at

T = TypeVar("T")


class History:
    """An immutable conversation. `closed` and `tail` together are the view.

    The tail begins with the assistant message of the newest response while its fragments and results may still arrive;
    everything before it is closed, and a closed list only ever grows: two histories whose `closed` is the same list
    share the prefix of the shorter one.

    `last_response` is the newest that ended, None where its usage says nothing of this view any more. `counted` is the view
    as it was before the first edit since then, None if there was none.
    """

    __slots__ = ("_closed", "_closed_length", "_log", "_log_length", "counted", "last_response", "tail")

    def __init__(
        self,
        log: list[Record],
        closed: list[Message],
        tail: tuple[Message, ...],
        last_response: ResponseEnded | None,
        counted: tuple[Message, ...] | None = None,
    ) -> None:
        self._log = log
        self._log_length = len(log)
        self._closed = closed
        self._closed_length = len(closed)
        self.tail = tail
        self.last_response = last_response
        self.counted = counted

    @classmethod
    def empty(cls) -> "History":
        return cls([], [], (), None)

    @classmethod
    def fold(cls, records: Iterable[Record]) -> "History":
        """The history that these records make, oldest first."""
        history = cls.empty()
        for _record, after in cls.steps(records):
            history = after
        return history

    @classmethod
    def steps(cls, records: Iterable[Record]) -> "Iterator[tuple[Record, History]]":
        """Each record, and the history after it as these records make it: what is taken back later has no effect from the first."""
        log = list(records)
        undone, history, meant = undone_at(log), cls.empty(), MeantPlaces()
        for at, record in enumerate(log):
            if isinstance(record, Undo):
                if undone.get(record.target) == at:
                    meant.forget(record.target)
                history = history._remember(record, is_stale=record.target in undone)
            elif isinstance(record, Edit) and record.edit_id in undone:
                meant.note(record, history.view())
                history = history._remember(record)
            elif isinstance(record, Edit) and meant.has_any:
                history = history._edit(record, meant.of(record, history.view()))
            else:
                history = history.append(record)
            yield record, history

    @property
    def closed(self) -> list[Message]:
        """The shared list; only its first `closed_length` items belong to this history."""
        return self._closed

    @property
    def closed_length(self) -> int:
        return self._closed_length

    @property
    def open_response_id(self) -> str:
        """The response that a further fragment would be joined to; empty if there is none."""
        head = self.tail[0] if self.tail else None
        return head.response_id if isinstance(head, AssistantMessage) else ""

    def __len__(self) -> int:
        return self._closed_length + len(self.tail)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.view())

    def view(self) -> list[Message]:
        """The messages that the model should see, oldest first; a fresh list."""
        return [*self._closed[: self._closed_length], *self.tail]

    def log(self) -> list[Record]:
        """Every record, oldest first; a fresh list."""
        return self._log[: self._log_length]

    def can_undo(self, edit_id: str) -> bool:
        """Whether the edit is in this log."""
        return any(isinstance(record, Edit) and record.edit_id == edit_id for record in self.log())

    def extend(self, records: Iterable[Record]) -> "History":
        history = self
        for record in records:
            history = history.append(record)
        return history

    def append(self, record: Record) -> "History":
        """This history and one record more."""
        if isinstance(record, Fact):
            return self._remember(record)
        if isinstance(record, Undo):
            return (
                History.fold([*self.log(), record])
                if self.can_undo(record.target)
                else self._remember(record)
            )
        if isinstance(record, Edit):
            return self._edit(record)
        return self._push(record)

    def _remember(self, record: Record, *, is_stale: bool = False) -> "History":
        """`is_stale`: what was counted under an edit says nothing of the view without it."""
        remembered = self._grown(record, self._closed, self._closed_length, self.tail)
        if isinstance(record, ResponseEnded) or is_stale:
            remembered.last_response = record if isinstance(record, ResponseEnded) else None
            remembered.counted = None
        return remembered

    def _push(self, message: Message) -> "History":
        merged = _merged_into(self.tail, message)
        if merged is not None:
            return self._grown(message, self._closed, self._closed_length, merged)
        if self.tail and not _ends_tail(message):
            tail = (*self.tail, message)
            return self._grown(message, self._closed, self._closed_length, tail)
        closed, length = self._closed, self._closed_length
        for settled in self.tail:
            closed, length = _pushed(closed, length, settled)
        tail: tuple[Message, ...] = ()
        if isinstance(message, AssistantMessage):
            tail = (message,)
        else:
            closed, length = _pushed(closed, length, message)
        return self._grown(message, closed, length, tail)

    def _edit(self, edit: AnyEdit, meant: AnyEdit | None = None) -> "History":
        """`meant`: the edit as it is to be applied, where that is not as it was made."""
        before = self.view()
        after = _applied(before, meant or edit)
        if after is None:
            return self._remember(edit)
        start = _tail_start(after)
        closed, tail = after[:start], tuple(after[start:])
        log: list[Record] = self.log()
        log.append(edit)
        last = None if isinstance(edit, Boundary) else self.last_response
        return History(log, closed, tail, last, last and (self.counted or tuple(before)))

    def _grown(
        self,
        record: Record,
        closed: list[Message],
        closed_length: int,
        tail: tuple[Message, ...],
    ) -> "History":
        grown = History.__new__(History)
        grown._log, grown._log_length = _pushed(self._log, self._log_length, record)
        grown._closed = closed
        grown._closed_length = closed_length
        grown.tail = tail
        grown.last_response = self.last_response
        grown.counted = self.counted
        return grown


def _pushed(shared: list[T], length: int, item: T) -> tuple[list[T], int]:
    """Append to the shared list if this history owns its end, else to a copy of its own part."""
    if len(shared) != length:
        shared = shared[:length]
    shared.append(item)
    return shared, length + 1


def _ends_tail(message: Message) -> bool:
    """A new response or a new prompt closes what was open."""
    if isinstance(message, AssistantMessage):
        return True
    return isinstance(message, UserMessage) and message.origin != "tool_result"


def _tail_start(view: list[Message]) -> int:
    for index in range(len(view) - 1, -1, -1):
        message = view[index]
        if isinstance(message, AssistantMessage):
            return index
        if _ends_tail(message):
            break
    return len(view)


def _merged_into(tail: tuple[Message, ...], message: Message) -> tuple[Message, ...] | None:
    """The tail with a further fragment or result of its response in place; None if the message is neither."""
    if not tail or not isinstance(tail[0], AssistantMessage):
        return None
    head = tail[0]
    if isinstance(message, AssistantMessage):
        if message.response_id != head.response_id:
            return None
        return (_joined(head, message), *tail[1:])
    if isinstance(message, UserMessage) and message.origin == "tool_result":
        order = {call.id: position for position, call in enumerate(head.tool_uses)}
        if not all(isinstance(b, ToolResult) and b.tool_use_id in order for b in message.content):
            return None
        for index, other in enumerate(tail):
            if isinstance(other, UserMessage) and other.origin == "tool_result":
                return (*tail[:index], _results_joined(other, message, order), *tail[index + 1 :])
        return (head, _results_alone(message), *tail[1:])
    return None


def _joined(head: AssistantMessage, fragment: AssistantMessage) -> AssistantMessage:
    return msgspec.structs.replace(
        head,
        content=head.content + fragment.content,
        block_ids=_sources(head) + _sources(fragment),
        is_incomplete=head.is_incomplete or fragment.is_incomplete,
    )


def _sources(message: UserMessage | AssistantMessage) -> tuple[str, ...]:
    """The id that brought each block; the message's own where nothing was joined to it yet."""
    return message.block_ids or (message.uuid,) * len(message.content)


def _results_alone(message: UserMessage) -> UserMessage:
    return msgspec.structs.replace(message, block_ids=_sources(message), display=None)


def _results_joined(held: UserMessage, more: UserMessage, order: dict[str, int]) -> UserMessage:
    pairs = [
        *zip(held.content, _sources(held), strict=True),
        *zip(more.content, _sources(more), strict=True),
    ]

    def position(pair: tuple[UserBlock, str]) -> int:
        block = pair[0]
        return order.get(block.tool_use_id, len(order)) if isinstance(block, ToolResult) else len(order)

    pairs.sort(key=position)
    return msgspec.structs.replace(
        held,
        content=tuple(block for block, _ in pairs),
        block_ids=tuple(source for _, source in pairs),
        display=None,
    )


def _applied(view: list[Message], edit: AnyEdit) -> list[Message] | None:
    """The view after the edit, or None if the edit has no effect (its target or an endpoint is missing)."""
    match edit:
        case ReplaceResult():
            return _result_replaced(view, edit)
        case Snip():
            return _span_replaced(view, edit.first, edit.last, edit.marker)
        case Fold():
            return _span_replaced(view, edit.first, edit.last, edit.summary)
        case Boundary():
            return _compacted(view, edit)
        case StripMedia():
            return _media_stripped(view, edit)
        case Retract():
            return _retracted(view, frozenset(edit.ids))
        case Undo():
            return None
        case _:
            assert_never(edit)


def _position(view: list[Message], uuid: str) -> int | None:
    return next((index for index, message in enumerate(view) if message.uuid == uuid), None)


def _result_replaced(view: list[Message], edit: ReplaceResult) -> list[Message] | None:
    for index in range(len(view) - 1, -1, -1):  # the newest are replaced most
        message = view[index]
        if not isinstance(message, UserMessage) or message.origin != "tool_result":
            continue
        for place, block in enumerate(message.content):
            if isinstance(block, ToolResult) and block.tool_use_id == edit.tool_use_id:
                result = ToolResult(block.tool_use_id, edit.text, block.is_error)
                content = (*message.content[:place], result, *message.content[place + 1 :])
                changed = msgspec.structs.replace(message, content=content)
                return [*view[:index], changed, *view[index + 1 :]]
    return None


def _span_replaced(view: list[Message], first: str, last: str, element: UserMessage) -> list[Message] | None:
    start, end = _position(view, first), _position(view, last)
    if start is None or end is None or start > end:
        return None
    return [*view[:start], element, *view[end + 1 :]]


def _compacted(view: list[Message], edit: Boundary) -> list[Message] | None:
    if not edit.kept_from:
        return [edit.summary, *edit.restored]
    start = _position(view, edit.kept_from)
    if start is None:
        return None
    return [edit.summary, *view[start:], *edit.restored]


def _media_stripped(view: list[Message], edit: StripMedia) -> list[Message] | None:
    index = _position(view, edit.message)
    stripped = None if index is None else without_media(view[index], edit.block, edit.note)
    return None if index is None or stripped is None else [*view[:index], stripped, *view[index + 1 :]]


def _retracted(view: list[Message], ids: frozenset[str]) -> list[Message] | None:
    kept: list[Message] = []
    changed = False
    for message in view:
        remaining = _without(message, ids)
        changed = changed or remaining is not message
        if remaining is not None:
            kept.append(remaining)
    return kept if changed else None


def _without(message: Message, ids: frozenset[str]) -> Message | None:
    """The message less the blocks these ids brought; None if nothing is left."""
    if not isinstance(message, UserMessage | AssistantMessage) or not message.block_ids:
        return None if message.uuid in ids else message
    if ids.isdisjoint(message.block_ids):
        return message
    kept = [
        (block, source)
        for block, source in zip(message.content, message.block_ids, strict=True)
        if source not in ids
    ]
    if not kept:
        return None
    block_ids = tuple(source for _, source in kept)
    if isinstance(message, AssistantMessage):
        said: list[AssistantBlock] = [b for b, _ in kept if not isinstance(b, Image | Document | ToolResult)]
        return msgspec.structs.replace(message, content=tuple(said), block_ids=block_ids)
    heard: list[UserBlock] = [b for b, _ in kept if isinstance(b, Text | Image | Document | ToolResult)]
    return msgspec.structs.replace(message, content=tuple(heard), block_ids=block_ids)
