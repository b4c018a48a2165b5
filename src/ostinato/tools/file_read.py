"""One file shown: text with line numbers, a picture, pages, cells; what was seen is remembered by the hash of the whole file."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.image_facts import image_type
from ostinato.messages import ResultBlock, Text
from ostinato.ports import SeenFile
from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_READ_CHARACTERS, marked, refusal, shown_path, success
from ostinato.tools.existing_file import MAX_CHANGED_BYTES
from ostinato.tools.file_change import hash_of
from ostinato.tools.file_kinds import binary_kind, not_a_file
from ostinato.tools.file_lines import FileLines
from ostinato.tools.image_read import read_image
from ostinato.tools.judged_path import judged_path
from ostinato.tools.notebook_text import NotANotebook, read_notebook
from ostinato.tools.notebook_view import notebook_blocks
from ostinato.tools.pdf_read import read_pdf
from ostinato.tools.text_encoding import decoded, marked_encoding

MAX_TEXT_BYTES: Final = 256 * 1024
"""Text of one result; longer ranges end at a whole line (peers refuse or cut between 50 kB and 256 kB)."""

CHUNK_BYTES: Final = 1 << 20
PDF: Final = b"%PDF-"


class Wanted(msgspec.Struct, frozen=True):
    """A range of lines (of cells in a notebook), or of pages in a PDF."""

    offset: int
    limit: int
    pages: str = ""


async def read_file(file_path: str, wanted: Wanted, context: ToolContext) -> ToolOutcome:
    """Show a file and remember that it was seen."""
    path = judged_path(file_path, context, is_written=False)
    wrong = await to_thread.run_sync(not_a_file, path)
    if wrong is not None:
        return refusal(wrong)
    try:
        head = await context.workspace.read_bytes(path, max_bytes=CHUNK_BYTES)
    except PermissionError:
        return refusal(f"`{path}` cannot be read: permission denied")
    if image_type(head) is not None:
        return await read_image(path, context)
    if head.startswith(PDF):
        return await read_pdf(path, wanted.pages, context)
    kind = binary_kind(head, has_bom=marked_encoding(head) is not None)
    if kind is not None:
        return refusal(f"`{path}` is {kind}, not text; use a command that understands it")
    if path.suffix == ".ipynb":
        return await _read_notebook(path, head, wanted, context)
    return await _read_text(path, head, wanted, context)


async def _read_notebook(path: Path, head: bytes, wanted: Wanted, context: ToolContext) -> ToolOutcome:
    data = await context.workspace.read_bytes(path, max_bytes=MAX_CHANGED_BYTES + 1)
    if len(data) > MAX_CHANGED_BYTES:
        return await _read_text(path, head, wanted, context)
    try:
        return await to_thread.run_sync(partial(_notebook_shown, path, data, wanted, context))
    except (NotANotebook, UnicodeDecodeError) as error:
        shown = await _read_text(path, head, wanted, context)
        if shown.is_error or not isinstance(shown.content, str):
            return shown
        text = f"{shown.content}\n[shown as text: no notebook of cells, for {error}]"
        return ToolOutcome(text, display=shown.display)


def _notebook_shown(path: Path, data: bytes, wanted: Wanted, context: ToolContext) -> ToolOutcome:
    """Raises NotANotebook, and UnicodeDecodeError for broken UTF-16."""
    notebook = read_notebook(decoded(data)[1])
    count, first = len(notebook.cells), max(1, wanted.offset)
    if first > max(1, count):
        return refusal(f"`{path}` has only {count} cells; offset {first} is behind its end")
    blocks, shown = notebook_blocks(
        notebook, first=first, limit=max(1, wanted.limit), max_characters=MAX_TEXT_BYTES
    )
    context.files.put(path, SeenFile(hash_of(data), is_partial=shown < count))
    end = first + shown - 1
    notes: list[ResultBlock] = []
    if count == 0:
        notes.append(Text("[a notebook without cells]"))
    if shown < count:
        go_on = f"; go on with offset={end + 1}" if end < count else ""
        notes.append(Text(f"[cells {first}-{end} of {count}{go_on}]"))
    return ToolOutcome((*blocks, *notes), display=marked(None, is_incomplete=shown < count))


async def _read_text(path: Path, head: bytes, wanted: Wanted, context: ToolContext) -> ToolOutcome:
    first = max(1, wanted.offset)
    lines = FileLines(first, max(1, wanted.limit), MAX_TEXT_BYTES)
    content_hash = hashlib.sha256()
    chunk, offset = head, 0
    while chunk:
        if len(chunk) < CHUNK_BYTES:
            _feed(chunk, lines.feed, content_hash.update)
        else:
            await to_thread.run_sync(_feed, chunk, lines.feed, content_hash.update)
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
    told = "\n".join(filter(None, (text, *notes)))
    return success(told, max_characters=MAX_READ_CHARACTERS, is_incomplete=is_partial)


def _feed(chunk: bytes, *eaters: Callable[[bytes], None]) -> None:
    for eat in eaters:
        eat(chunk)


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
