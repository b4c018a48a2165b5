"""Pages of a PDF as text blocks; one without text, a scan, goes as the document itself for models that look at it.

The text is taken out in a child process: a hostile file can cost it its time and memory, and nothing else.
"""

import base64
import re
import sys
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.messages import Document, ResultBlock, Text
from ostinato.ports import SeenFile
from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import bounded, marked, refusal, shown_path, valid_unicode
from ostinato.tools.file_change import hash_of
from ostinato.tools.terminal_text import plain_text

MAX_PDF_BYTES: Final = 32 * 1024 * 1024
"""The largest that a model API takes as a whole; longer ones are not read into memory."""

MAX_DOCUMENT_BYTES: Final = 3_932_160
"""As for images: 5 MiB as base64."""

MAX_PAGES: Final = 20
MAX_PAGE_CHARACTERS: Final = 50_000
MAX_TEXT_CHARACTERS: Final = 256 * 1024
"""Of one result, as for text files."""

MAX_OUTPUT_BYTES: Final = 8 * 1024 * 1024
TIMEOUT_S: Final = 30.0

PAGES: Final = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)?\s*)?")


class _Extracted(msgspec.Struct, frozen=True):
    pages: int = 0
    texts: tuple[str, ...] = ()
    error: str = ""


async def read_pdf(path: Path, pages: str, context: ToolContext) -> ToolOutcome:
    """Show pages, "" for the first ones, and remember that the file was seen in part."""
    wanted = page_range(pages)
    if wanted is None:
        return refusal(f"`pages` is {pages!r}; write one page or a range: 3, 1-5, 10-")
    first, last = wanted
    name = shown_path(path, context.workspace.cwd)
    data = await context.workspace.read_bytes(path, max_bytes=MAX_PDF_BYTES + 1)
    if len(data) > MAX_PDF_BYTES:
        return refusal(f"`{name}` is a PDF larger than {MAX_PDF_BYTES} bytes; take out pages with a command")
    content_hash = await to_thread.run_sync(hash_of, data)
    found = await _extracted(path, content_hash, first, last, context)
    if found.error:
        return refusal(f"`{name}` is a PDF, and {found.error}")
    if first > found.pages:
        return refusal(f"`{name}` has only {found.pages} pages; page {first} is behind its end")
    context.files.put(path, SeenFile(content_hash, is_partial=True))
    if not any(text.strip() for text in found.texts):
        return _without_text(name, data, first, found)
    blocks = _page_blocks(first, found)
    is_partial = len(blocks) < found.pages
    note = _note(first, len(blocks), found.pages)
    return ToolOutcome((*blocks, *note), display=marked(None, is_incomplete=is_partial))


def page_range(pages: str) -> tuple[int, int] | None:
    """First and last page, at most `MAX_PAGES`; None for what is no range."""
    if not pages.strip():
        return 1, MAX_PAGES
    match = PAGES.fullmatch(pages)
    if match is None:
        return None
    first = int(match[1])
    last = int(match[2]) if match[2] else first if "-" not in pages else first + MAX_PAGES
    return None if first < 1 or last < first else (first, min(last, first + MAX_PAGES - 1))


async def _extracted(
    path: Path, content_hash: str, first: int, last: int, context: ToolContext
) -> _Extracted:
    script = str(Path(__file__).with_name("pdf_text.py"))
    # -P: nothing is imported from the folder of the conversation.
    argv = (sys.executable, "-P", script, str(path), content_hash, str(first), str(last))
    result = await context.workspace.run(
        argv, timeout_s=TIMEOUT_S, max_output_bytes=MAX_OUTPUT_BYTES, separate_stderr=True
    )
    if result.timed_out:
        return _Extracted(error=f"its text was not found within {TIMEOUT_S:g} s; ask for fewer pages")
    try:
        return msgspec.json.decode(result.output, type=_Extracted)
    except (msgspec.DecodeError, UnicodeError):
        return _Extracted(
            error=f"its text could not be taken out: {result.stderr.strip()[-500:] or 'no answer'}"
        )


def _page_blocks(first: int, found: _Extracted) -> list[ResultBlock]:
    """As many whole pages as there is room for, one at least."""
    blocks: list[ResultBlock] = []
    room = MAX_TEXT_CHARACTERS
    for number, text in enumerate(found.texts, first):
        shown = _page_text(text)
        room -= len(shown)
        if blocks and room < 0:
            break
        blocks.append(Text(f"[page {number} of {found.pages}]\n{shown}"))
    return blocks


def _page_text(text: str) -> str:
    clean = plain_text(valid_unicode(text)).strip()
    return bounded(clean, MAX_PAGE_CHARACTERS) if clean else "[no text: perhaps a picture]"


def _note(first: int, count: int, pages: int) -> tuple[ResultBlock, ...]:
    end = first + count - 1
    if end >= pages:
        return ()
    return (Text(f'[pages {first}-{end} of {pages}; go on with pages="{end + 1}-"]'),)


def _without_text(name: str, data: bytes, first: int, found: _Extracted) -> ToolOutcome:
    what = (
        f"`{name}` has {found.pages} pages, and those from {first} on hold no text: pictures, perhaps a scan"
    )
    if len(data) > MAX_DOCUMENT_BYTES:
        return refusal(f"{what}. It is too large to be shown whole; turn pages into images with a command")
    document = Document("application/pdf", base64.b64encode(data).decode("ascii"), title=Path(name).name)
    return ToolOutcome((Text(f"[{what}; the document itself follows]"), document))
