"""What a mentioned file or folder looks like to the model: numbered lines, a listing, an image, or why there is none of these."""

import base64
import hashlib
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from ostinato.attachments.file_text import decoded
from ostinato.attachments.mention_syntax import Mention
from ostinato.attachments.quoted_text import quoted, shown_name
from ostinato.image_facts import image_type, why_not_sendable
from ostinato.messages import Image

MAX_FILE_BYTES: Final = 16 << 20
"""Larger files are named, not shown: they would have to be read whole to know their hash."""

MAX_LINES: Final = 2000
MAX_TEXT_CHARACTERS: Final = 100_000
MAX_LINE_CHARACTERS: Final = 2000
MAX_ENTRIES: Final = 1000
MAX_SCANNED_ENTRIES: Final = 20_000


class Content(msgspec.Struct, frozen=True):
    """`text` is for the model. `content_hash` is that of the whole file, empty if the model did not get to see it. `missing` says to the
    user what does not come along, and why; empty where nothing is amiss.
    """

    text: str
    content_hash: str = ""
    is_partial: bool = False
    image: Image | None = None
    missing: str = ""


def withheld(text: str, why: str) -> Content:
    """Nothing of it comes along."""
    return Content(text, missing=f"does not come with the prompt: {why}")


def file_content(data: bytes, mention: Mention, *, takes_images: bool) -> Content:
    """A file's bytes (at most `MAX_FILE_BYTES` and one) as what can be shown of them. Costly for large files."""
    if len(data) > MAX_FILE_BYTES:
        return withheld(
            f"It is larger than {MAX_FILE_BYTES} bytes and not shown; search in it, or Read a range.",
            f"it is larger than {MAX_FILE_BYTES >> 20} MiB",
        )
    content_hash = hashlib.sha256(data).hexdigest()
    media_type = image_type(data)
    if media_type is not None:
        return _image_content(data, media_type, content_hash, takes_images=takes_images)
    text = decoded(data)
    if text is None or data.startswith(b"%PDF-"):
        return withheld("It is not text and not shown; use a command that understands it.", "it is not text")
    return _text_content(text, mention, content_hash)


def _image_content(data: bytes, media_type: str, content_hash: str, *, takes_images: bool) -> Content:
    wrong = why_not_sendable(data) if takes_images else "this model takes no images"
    if wrong is not None:
        return withheld(f"It is an image that cannot be shown: {wrong}.", wrong)
    image = Image(media_type, base64.b64encode(data).decode("ascii"))
    return Content("", content_hash, image=image)


def _text_content(text: str, mention: Mention, content_hash: str) -> Content:
    lines = text.removesuffix("\n").split("\n") if text else []
    first, last = mention.first or 1, mention.last or len(lines)
    if not lines:
        return Content("It is empty.", content_hash)
    if first > len(lines):
        few = f"it has only {len(lines):,} {'line' if len(lines) == 1 else 'lines'}"
        return withheld(f"It has only {len(lines)} lines; line {first} is behind its end.", few)
    shown, room = list[str](), MAX_TEXT_CHARACTERS
    for number, line in enumerate(lines[first - 1 : min(last, first - 1 + MAX_LINES)], first):
        cut = line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}[... line cut]"
        room -= len(cut)
        if room < 0 and shown:
            break
        shown.append(f"{number}\t{cut}")
    end = first + len(shown) - 1
    is_partial = len(shown) < len(lines)
    is_cut = end < min(last, len(lines))
    go_on = f"; Read it with offset={end + 1} to go on" if is_cut else ""
    note = f"\n[lines {first}-{end} of {len(lines)}{go_on}]" if is_partial else ""
    text = quoted("\n".join(shown))
    missing = f"comes with lines {first:,}-{end:,} of {len(lines):,} only" if is_cut else ""
    return Content(
        f"Its content (number, tab, line):\n{text}{note}", content_hash, is_partial, missing=missing
    )


def folder_content(folder: Path) -> Content:
    """The names in a folder, folders with a slash. Blocking. Raises OSError."""
    with os.scandir(folder) as entries:
        some = islice(entries, MAX_SCANNED_ENTRIES + 1)
        return Content(listing([f"{entry.name}/" if _is_folder(entry) else entry.name for entry in some]))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself, or to where nobody may look
        return False


def listing(names: Sequence[str]) -> str:
    """Names in order, at most `MAX_ENTRIES`, and how many more there are."""
    if not names:
        return "It is an empty folder."
    shown = [shown_name(name) for name in sorted(names)[:MAX_ENTRIES]]
    if len(names) > MAX_ENTRIES:
        more = "many" if len(names) > MAX_SCANNED_ENTRIES else str(len(names) - MAX_ENTRIES)
        shown.append(f"[{more} more; list them with Glob or `ls`]")
    return "\n".join(["The folder holds:", *shown])
