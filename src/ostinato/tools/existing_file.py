"""The right to change a file: it is a regular file, the model has seen it, and it is still what the model saw.

The proof is the hash of the bytes, never the time: a touched but equal file may be changed, a changed one whose time
was set back may not.
"""

from functools import partial
from pathlib import Path
from typing import Final

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.tool import ToolContext
from ostinato.tools.answer import shown_path
from ostinato.tools.file_change import hash_of, put_in_place
from ostinato.tools.file_kinds import binary_kind, not_a_file
from ostinato.tools.line_ends import TextWithEnds, text_with_ends
from ostinato.tools.text_encoding import TextEncoding, decoded, marked_encoding

MAX_CHANGED_BYTES: Final = 64 * 1024 * 1024
"""An edit holds the file several times in memory: about 0.5 GB at this size."""


class ExistingFile(msgspec.Struct, frozen=True):
    """A file that may be changed. `content_hash` is what it must still have when the change is put in place."""

    path: Path
    content_hash: str
    is_partial: bool
    data: bytes
    encoding: TextEncoding
    text: TextWithEnds


class NotChangeable(msgspec.Struct, frozen=True):
    """Why a file may not be changed, with the remedy."""

    reason: str


async def read_for_change(path: Path, context: ToolContext, *, tool: str) -> ExistingFile | NotChangeable:
    """The file at the resolved `path`, if the model may change it. `tool` is named in the remedy."""
    wrong = await to_thread.run_sync(not_a_file, path, abandon_on_cancel=True)
    if wrong is not None:
        return NotChangeable(wrong)
    name = shown_path(path, context.workspace.cwd)
    seen = context.files.get(path)
    if seen is None:
        return NotChangeable(f"`{name}` exists but you have not read it; Read it first, then {tool}")
    data = await context.workspace.read_bytes(path, max_bytes=MAX_CHANGED_BYTES + 1)
    if len(data) > MAX_CHANGED_BYTES:
        return NotChangeable(f"`{name}` is larger than {MAX_CHANGED_BYTES} bytes; change it with a command")
    content_hash, decoded_file = await _hashed_and_decoded(path, name, data, is_partial=seen.is_partial)
    if content_hash != seen.content_hash:
        return NotChangeable(f"`{name}` has changed on disk since you read it; Read it again, then {tool}")
    kind = binary_kind(data, has_bom=marked_encoding(data) is not None)
    if kind is not None:
        return NotChangeable(f"`{name}` is {kind}, not text; change it with a command")
    return decoded_file


async def put_in_place_of(file: ExistingFile, data: bytes, context: ToolContext) -> str | None:
    """Replace it if it is still what was read; returns why it was not done, and then nothing has changed."""
    return await put_in_place(
        file.path, data, context, expected=file.content_hash, before=file.data, is_partial=file.is_partial
    )


async def _hashed_and_decoded(
    path: Path, name: str, data: bytes, *, is_partial: bool
) -> tuple[str, ExistingFile | NotChangeable]:
    """Both at the same time: each takes a second for the largest files, and hashing leaves Python to others."""
    hashes: list[str] = []

    async def hash_it() -> None:
        hashes.append(await to_thread.run_sync(hash_of, data, abandon_on_cancel=True))

    decode = partial(_decoded, path, name, data, is_partial=is_partial)
    files: list[ExistingFile | NotChangeable] = []
    async with anyio.create_task_group() as group:
        group.start_soon(hash_it)
        files.append(await to_thread.run_sync(decode, abandon_on_cancel=True))
    (content_hash,), (file,) = hashes, files
    return content_hash, replace(file, content_hash=content_hash) if isinstance(file, ExistingFile) else file


def _decoded(path: Path, name: str, data: bytes, *, is_partial: bool) -> ExistingFile | NotChangeable:
    """Its hash is left open."""
    try:
        encoding, text = decoded(data)
    except UnicodeDecodeError as error:
        return NotChangeable(
            f"`{name}` is broken {error.encoding} at byte {error.start}; change it with a command"
        )
    return ExistingFile(path, "", is_partial, data, encoding, text_with_ends(text))
