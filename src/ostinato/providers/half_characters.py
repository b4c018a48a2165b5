"""Characters that a server cut in two with its deltas: joined again, and never passed on, nor run, as halves.

A half is no valid text, so it travels through the decoders as a mark: a private character that no model says. Only replies
that hold any come by here.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from ostinato.events import AnyModelEvent, BlockStop, InputJsonDelta, TextDelta, ThinkingDelta
from ostinato.messages import AssistantBlock, ServerBlock, Text, Thinking, ToolUse
from ostinato.providers.lenient_json import FIRST_HALF, FIRST_MARK, encode, valid_text

MARKS = re.compile(r"[\U0010f800-\U0010ffff]")
HELD_BACK = re.compile(r"[\U0010f800-\U0010fbff]\Z")
"""The first half of a pair, at the end of a delta: the second may come with the next."""

LONE = re.compile(r"[\ud800-\udfff]")


class HalfCharacters:
    """Goes over the events of one reply, in their order."""

    def __init__(self) -> None:
        self._held: dict[int, str] = {}  # by block: the half that its last delta ended with

    def joined(self, events: Iterable[AnyModelEvent]) -> Iterator[AnyModelEvent]:
        """The same events in valid text. A half that stays alone is U+FFFD in prose, and makes a call one that cannot be read."""
        for event in events:
            match event:
                case TextDelta(index, piece):
                    if text := self._next(index, piece):
                        yield TextDelta(index, text)
                case ThinkingDelta(index, piece):
                    if text := self._next(index, piece):
                        yield ThinkingDelta(index, text)
                case InputJsonDelta(index, piece):
                    if text := self._next(index, piece):
                        yield InputJsonDelta(index, text)
                case BlockStop(index, block):
                    if rest := self._held.pop(index, ""):
                        yield from _last_delta(index, block, _valid(rest))
                    yield BlockStop(index, _whole(block))
                case _:
                    yield event

    def _next(self, index: int, piece: str) -> str:
        piece = self._held.pop(index, "") + piece
        if HELD_BACK.search(piece):
            piece, self._held[index] = piece[:-1], piece[-1]
        return _valid(piece)


def _last_delta(index: int, block: AssistantBlock, text: str) -> Iterator[AnyModelEvent]:
    match block:
        case Text():
            yield TextDelta(index, text)
        case Thinking():
            yield ThinkingDelta(index, text)
        case _:
            yield InputJsonDelta(index, text)


def _whole(block: AssistantBlock) -> AssistantBlock:
    match block:
        case Text(text):
            return Text(_valid(text))
        case Thinking(thinking, state):
            return Thinking(_valid(thinking), state)
        case ToolUse(invalid_input=None):
            said = _joined(encode(dict(block.input)).decode())
            if LONE.search(said):
                return replace(block, input={}, invalid_input=valid_text(said))
            return replace(block, input=msgspec.json.decode(said))
        case ToolUse(invalid_input=str(text)):
            return replace(block, invalid_input=_valid(text))
        case ServerBlock(text=text, state=state):
            return replace(block, text=_valid(text), state=replace(state, data=_valid(state.data)))
        case _:
            return block


def _valid(text: str) -> str:
    return valid_text(_joined(text))


def _joined(text: str) -> str:
    """With halves in place of their marks, and whole characters where two belong together."""
    halves = MARKS.sub(lambda mark: chr(ord(mark[0]) - FIRST_MARK + FIRST_HALF), text)
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
