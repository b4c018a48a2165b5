"""A notebook as the model sees it: cell after cell with its id, its source, and what it printed or drew."""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ostinato.image_facts import image_type, why_not_sendable
from ostinato.messages import Image, ResultBlock, Text
from ostinato.tools.answer import bounded, valid_unicode
from ostinato.tools.notebook_text import Cell, Notebook, joined
from ostinato.tools.terminal_text import plain_text

MAX_OUTPUT_CHARACTERS: Final = 10_000
"""Of one output; a training log would fill the result."""

MAX_IMAGES: Final = 20


def notebook_blocks(
    notebook: Notebook, *, first: int, limit: int, max_characters: int
) -> tuple[tuple[ResultBlock, ...], int]:
    """Blocks for cells from number `first` (from 1) on, and how many cells they show."""
    blocks: list[ResultBlock] = []
    room, images, shown = max_characters, MAX_IMAGES, 0
    for number, cell in enumerate(notebook.cells[first - 1 : first - 1 + limit], first):
        text, pictures = _cell_text(cell, number, notebook.language)
        if shown and len(text) > room:
            break
        room -= len(text)
        shown += 1
        blocks += [Text(valid_unicode(bounded(text, max_characters))), *pictures[:images]]
        images -= min(images, len(pictures))
    return tuple(blocks), shown


def _cell_text(cell: Cell, number: int, language: str) -> tuple[str, list[Image]]:
    kind = f"{cell.kind}, {language}" if language and cell.kind == "code" else cell.kind
    parts = [f"[cell {number}, id {cell.id}, {kind}]", cell.source]
    pictures: list[Image] = []
    for output in _outputs(cell):
        text, images = _shown_output(output)
        pictures += images
        if text:
            parts.append(f"[output]\n{bounded(text, MAX_OUTPUT_CHARACTERS)}")
    return "\n".join(parts), pictures


def _outputs(cell: Cell) -> Iterator[Mapping[str, Any]]:
    outputs = cell.value.get("outputs")
    for output in cast("Sequence[object]", outputs) if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield cast("dict[str, Any]", output)


def _shown_output(output: Mapping[str, Any]) -> tuple[str, list[Image]]:
    if output.get("output_type") == "stream":
        return plain_text(joined(output.get("text"))).rstrip("\n"), []
    if output.get("output_type") == "error":
        trace = output.get("traceback")
        lines = [str(line) for line in cast("list[object]", trace)] if isinstance(trace, list) else []
        return plain_text("\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}"), []
    data = output.get("data")
    return _shown_data(cast("dict[str, Any]", data)) if isinstance(data, dict) else ("", [])


def _shown_data(data: Mapping[str, Any]) -> tuple[str, list[Image]]:
    """The richest form that can be shown, and the plain text beside it."""
    text = plain_text(joined(data.get("text/plain"))).rstrip("\n")
    for kind in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if kind in data:
            picture = _picture(joined(data[kind]))
            return (text, [picture]) if picture else (f"{text}\n[an image that cannot be shown]", [])
    return text, []


def _picture(encoded: str) -> Image | None:
    try:
        raw = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = image_type(raw)
    if media_type is None or why_not_sendable(raw) is not None:
        return None
    return Image(media_type, base64.b64encode(raw).decode("ascii"))
