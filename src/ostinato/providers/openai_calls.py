"""Which tool call a piece belongs to, on a wire where ids, names and indexes are all optional and often wrong.

A known id means that call, a new id a new one, neither the current one. A call is complete when its arguments are and
another begins, or with the reply.
"""

import msgspec

from ostinato.events import AnyModelEvent, BlockStart, BlockStop, InputJsonDelta
from ostinato.providers.calls import CallIds, legal_name
from ostinato.providers.lenient_json import encode, parse_object
from ostinato.providers.openai_wire import WireCall, WireFunction


class StreamedCall(msgspec.Struct):
    """A call that still streams. Its start is given out, under `index`, once its name is known."""

    wire_id: str
    name: str = ""
    tool_use_id: str = ""
    index: int = -1
    parts: list[str] = msgspec.field(default_factory=list[str])
    is_done: bool = False

    @property
    def is_whole(self) -> bool:
        """Named, and its arguments are an object: nothing can follow that would still belong to it."""
        if not self.name or not self.parts or not self.parts[-1].rstrip().endswith("}"):
            return False
        return parse_object("".join(self.parts)) is not None


class StreamedCalls:
    """The calls of one reply. `next_index` numbers blocks and is handed back: other blocks count along."""

    def __init__(self, call_ids: CallIds) -> None:
        self._call_ids = call_ids
        self._calls: list[StreamedCall] = []
        self._by_index: dict[int, StreamedCall] = {}
        self.has_finished = False
        self.has_invalid = False

    def take(self, piece: WireCall, response_id: str, next_index: int, into: list[AnyModelEvent]) -> int:
        """Append what `piece` means to `into`; the next free block index is returned."""
        function = piece.function or WireFunction()
        call = self._find(piece, function.name or "")
        if call is None:
            # Calls that are whole when another begins may run while the rest still streams.
            into += self._stop_whole()
            call = StreamedCall(piece.id or "")
            self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        if call.is_done:
            return next_index
        call.name = call.name or function.name or ""
        call.wire_id = call.wire_id or piece.id or ""
        text = _argument_text(function)
        if text:
            call.parts.append(text)
        if call.index >= 0:
            if text:
                into.append(InputJsonDelta(call.index, text))
        elif call.name:
            into += self._start(call, response_id, next_index)
            next_index += 1
        return next_index

    def finish(self, response_id: str, next_index: int, *, is_cut: bool) -> list[AnyModelEvent]:
        """Stop the calls that are still open. `is_cut`: the output limit was hit, so half a call is dropped."""
        events: list[AnyModelEvent] = []
        for call in self._calls:
            if call.is_done or (is_cut and not call.is_whole):
                continue
            if call.index < 0:
                events += self._start(call, response_id, next_index)
                next_index += 1
            events.append(self._stop(call))
        return events

    def _find(self, piece: WireCall, name: str) -> StreamedCall | None:
        """The call that `piece` goes on with; None if it begins one."""
        at_index = self._by_index.get(piece.index) if piece.index is not None else None
        if piece.id:
            known = next((call for call in reversed(self._calls) if call.wire_id == piece.id), None)
            if known is None:
                return _unnamed_so_far(at_index, name)
            has_other_index = piece.index is not None and at_index is not known
            return None if _is_second_head(known, name, has_other_index=has_other_index) else known
        if at_index is not None:
            return None if _is_second_head(at_index, name) else at_index
        current = self._calls[-1] if self._calls else None
        if current is None or not name:
            return current
        return current if piece.index is None and not current.name else None

    def _start(self, call: StreamedCall, response_id: str, index: int) -> list[AnyModelEvent]:
        call.index = index
        call.tool_use_id = self._call_ids.take(call.wire_id, response_id=response_id, index=index)
        start = BlockStart(index, "tool_use", call.tool_use_id, legal_name(call.name))
        text = "".join(call.parts)
        return [start, InputJsonDelta(index, text)] if text else [start]

    def _stop_whole(self) -> list[AnyModelEvent]:
        """In order: a call that is not whole holds back those behind it."""
        events: list[AnyModelEvent] = []
        for call in self._calls:
            if not call.is_done:
                if not call.is_whole:
                    break
                events.append(self._stop(call))
        return events

    def _stop(self, call: StreamedCall) -> BlockStop:
        block = self._call_ids.finish(call.tool_use_id, call.name, "".join(call.parts))
        call.is_done = True
        self.has_finished = True
        self.has_invalid = self.has_invalid or block.invalid_input is not None
        return BlockStop(call.index, block)


def _is_second_head(known: StreamedCall, name: str, *, has_other_index: bool = False) -> bool:
    """A name for a call that has had its own: another call under the same id or index, unless a server only repeats
    itself."""
    return bool(name and known.name) and (has_other_index or known.is_whole)


def _unnamed_so_far(at_index: StreamedCall | None, name: str) -> StreamedCall | None:
    """The call of this index, if the new id is not a new call's: it comes late, or changes with every piece."""
    if at_index is None or at_index.is_done:
        return None
    is_late = not at_index.wire_id and not (name and at_index.name)
    return at_index if is_late or (not name and not at_index.is_whole) else None


def _argument_text(function: WireFunction) -> str:
    """Arguments as text, also from servers that send the object itself."""
    arguments = function.arguments
    if isinstance(arguments, dict):
        return encode(arguments).decode()
    return arguments or ""
