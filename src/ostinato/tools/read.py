"""Read: a range of a text file with line numbers, or an image; what was seen is remembered by the hash of the whole file."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from anyio import to_thread

from ostinato.messages import Image
from ostinato.ports import SeenFile, Workspace
from ostinato.tool import Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import refusal, shown_path, success
from ostinato.tools.file_kinds import binary_kind, image_type, not_a_file
from ostinato.tools.file_lines import FileLines
from ostinato.tools.text_encoding import marked_encoding

PROMPT: Final = """\
Read a file: text with line numbers (number, tab, line), or an image (png, jpeg, gif, webp). Shows up to 2000 lines \
from line offset on and says how to go on. For a folder use Glob or ls."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "Absolute, or relative to the working folder"},
        "offset": {"type": "integer", "description": "First line, from 1"},
        "limit": {"type": "integer", "description": "Number of lines"},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}

DEFAULT_LINES: Final = 2000
MAX_TEXT_BYTES: Final = 256 * 1024
"""Text of one result; longer ranges end at a whole line (peers refuse or cut between 50 kB and 256 kB)."""

MAX_RESULT_CHARACTERS: Final = 400_000
"""Room for the text, and for its line numbers when lines are very short."""

MAX_IMAGE_BYTES: Final = 3_932_160
"""5 MiB as base64, the limit of the strictest image API in use."""

CHUNK_BYTES: Final = 1 << 20


class ReadInput(msgspec.Struct, frozen=True):
    file_path: str
    offset: int = 1
    limit: int = DEFAULT_LINES


def read_tool() -> Tool:
    """The Read tool."""
    return Tool(
        name="Read",
        description=PROMPT,
        input_schema=SCHEMA,
        call=read,
        access=_reads_the_file,
        is_read_only=lambda _input: True,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("file_path",),
    )


def _reads_the_file(tool_input: Mapping[str, Any], workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(str(tool_input["file_path"])),))


async def read(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Show a file and remember that it was seen."""
    request = msgspec.convert(dict(tool_input), ReadInput)
    path = context.workspace.resolve(request.file_path)
    wrong = await to_thread.run_sync(not_a_file, path)
    if wrong is not None:
        return refusal(wrong)
    try:
        head = await context.workspace.read_bytes(path, max_bytes=CHUNK_BYTES)
    except PermissionError:
        return refusal(f"`{path}` cannot be read: permission denied")
    media_type = image_type(head)
    if media_type is not None:
        return await _read_image(path, media_type, context)
    kind = binary_kind(head, has_bom=marked_encoding(head) is not None)
    if kind is not None:
        return refusal(f"`{path}` is {kind}, not text; use a command that understands it")
    return await _read_text(path, head, request, context)


async def _read_image(path: Path, media_type: str, context: ToolContext) -> ToolOutcome:
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    data = await context.workspace.read_bytes(path, max_bytes=MAX_IMAGE_BYTES + 1)
    if len(data) > MAX_IMAGE_BYTES:
        return refusal(f"`{path}` is an image larger than {MAX_IMAGE_BYTES} bytes; make it smaller first")
    context.files.put(path, SeenFile(hashlib.sha256(data).hexdigest()))
    return ToolOutcome((Image(media_type, base64.b64encode(data).decode("ascii")),))


async def _read_text(path: Path, head: bytes, request: ReadInput, context: ToolContext) -> ToolOutcome:
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    first = max(1, request.offset)
    lines = FileLines(first, max(1, request.limit), MAX_TEXT_BYTES)
    content_hash = hashlib.sha256()
    chunk, offset = head, 0
    while chunk:
        content_hash.update(chunk)
        lines.feed(chunk)
        offset += len(chunk)
        chunk = await context.workspace.read_bytes(path, offset=offset, max_bytes=CHUNK_BYTES)
    lines.finish()
    shown = lines.shown_lines
    if first > max(1, lines.total_lines):
        return refusal(f"`{path}` has only {lines.total_lines} lines; offset {first} is behind its end")
    is_partial = len(shown) < lines.total_lines
    context.files.put(path, SeenFile(content_hash.hexdigest(), is_partial=is_partial))
    text = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, first))
    notes = _notes(lines, first, len(shown), shown_path(path, context.workspace.cwd))
    return success("\n".join(filter(None, (text, *notes))), max_characters=MAX_RESULT_CHARACTERS)


def _notes(lines: FileLines, first: int, count: int, name: str) -> list[str]:
    notes: list[str] = []
    if lines.total_lines == 0:
        notes.append(f"[{name} is empty]")
    last = first + count - 1
    if count < lines.total_lines:
        go_on = f"; go on with offset={last + 1}" if last < lines.total_lines else ""
        notes.append(f"[lines {first}-{last} of {lines.total_lines}{go_on}]")
    if not lines.encoding.is_plain:
        notes.append(f"[encoding: {lines.encoding.label}]")
    return notes
