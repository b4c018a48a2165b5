"""Output items of the Responses wire while they stream, and what can be told of one by looking at it."""

from collections.abc import Sequence

import msgspec

from ostinato.providers.openai_responses_wire import WireItem, WirePart

PART_BREAK = "\n\n"
"""Between the parts of a reasoning summary: each is a paragraph with a heading of its own."""


class OpenBlock(msgspec.Struct):
    """A block that still streams. `index` is -1 until it was started: reasoning may turn out to have nothing to show, a
    call's name may come late. `part` numbers the part of its item that it shows."""

    kind: str
    index: int = -1
    part: int = 0
    tool_use_id: str = ""
    name: str = ""
    call_id: str = ""
    pieces: list[str] = msgspec.field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class OpenItem(msgspec.Struct):
    """An output item that still streams: its open block, and whether anything of it was given out."""

    item: WireItem
    block: OpenBlock | None = None
    has_shown: bool = False


def without_seal(item: WireItem) -> WireItem:
    """An item as it began: what it holds of its sealed content may be half of it."""
    return msgspec.structs.replace(item, encrypted_content=None)


def call_id_of(item: WireItem) -> str:
    return item.call_id or item.id or ""


def is_same(item: WireItem, other: WireItem) -> bool:
    """Two forms of one item; ids are all there is to tell by."""
    return (
        item.type == other.type
        and bool(item.id or item.call_id)
        and (item.id, item.call_id) == (other.id, other.call_id)
    )


def joined(parts: Sequence[WirePart] | None) -> str:
    return PART_BREAK.join(part.text for part in parts or () if part.text)
