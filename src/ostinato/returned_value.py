"""What a function returned as the result of a call: text, blocks, or any data as JSON, which front ends get as it is."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, cast

import msgspec

from ostinato.messages import Document, Image, Text
from ostinato.tool import ToolOutcome

NOTHING: Final = "done"
"""What the model reads of a function that returned None: some providers take no empty result."""

_BLOCKS: Final = (Text, Image, Document)


def outcome_of(value: object) -> ToolOutcome:
    """Raises TypeError for what is neither text nor blocks nor data."""
    match value:
        case ToolOutcome():
            return value
        case None:
            return ToolOutcome(NOTHING)
        case str():
            return ToolOutcome(value or NOTHING)
        case Text() | Image() | Document():
            return ToolOutcome((value,))
        case list() | tuple() if value and _has_blocks(cast("Sequence[object]", value)):
            return ToolOutcome(tuple(_block(one) for one in cast("Sequence[object]", value)))
        case _:
            return _structured(value)


def _has_blocks(values: Sequence[object]) -> bool:
    return any(isinstance(one, _BLOCKS) for one in values)


def _block(value: object) -> Text | Image | Document:
    match value:
        case Text() | Image() | Document():
            return value
        case str():
            return Text(value)
        case _:
            raise TypeError(
                f"a list with blocks holds text, images and documents, not {type(value).__name__}"
            )


def _structured(value: object) -> ToolOutcome:
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("the function returned bytes; return a text, or an `Image` with them in base64")
    plain: object = msgspec.to_builtins(value, enc_hook=_plain)
    text = msgspec.json.encode(plain).decode()
    shown = cast("Mapping[str, Any]", plain) if isinstance(plain, dict) else {"result": plain}
    return ToolOutcome(text, display=shown)


def _plain(value: object) -> object:
    """For what the codec does not know: models of pydantic, and paths."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"the function returned {type(value).__name__}, which is no text, block or data")
