"""A picture as an image block; one that is too large for a model is made smaller, in a child process, where Pillow is installed.

A hostile file can cost the child its time and memory, and nothing else.
"""

import base64
import sys
from pathlib import Path
from typing import Final

import msgspec

from ostinato.image_facts import MAX_IMAGE_BYTES, MAX_SIDE_PIXELS, image_type, is_too_large, why_not_sendable
from ostinato.messages import Image, Text
from ostinato.ports import SeenFile
from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import refusal, shown_path
from ostinato.tools.file_change import hash_of

MAX_SOURCE_BYTES: Final = 64 * 1024 * 1024
"""Larger files are not read into memory."""

MAX_OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""The largest picture that may be sent, as base64 in JSON, and more."""

TIMEOUT_S: Final = 30.0

MISSING: Final = "`pip install 'ostinato[media]'` lets Read make it smaller by itself"


class _Scaled(msgspec.Struct, frozen=True):
    media_type: str = ""
    data: str = ""
    before: tuple[int, int] = (0, 0)
    after: tuple[int, int] = (0, 0)
    error: str = ""
    is_missing: bool = False


async def read_image(path: Path, context: ToolContext) -> ToolOutcome:
    """Show a picture, made smaller if it must be, and remember that the file was seen."""
    data = await context.workspace.read_bytes(path, max_bytes=MAX_SOURCE_BYTES + 1)
    wrong = why_not_sendable(data)
    if wrong is None:
        context.files.put(path, SeenFile(hash_of(data)))
        return ToolOutcome((Image(image_type(data) or "", base64.b64encode(data).decode("ascii")),))
    told = f"`{path}` is an image that cannot be shown: {wrong}"
    if not is_too_large(data) or len(data) > MAX_SOURCE_BYTES:
        return refusal(told)
    scaled = await _scaled(data, context)
    if scaled.is_missing or scaled.error:
        return refusal(f"{told}. {MISSING if scaled.is_missing else f'Scaling it failed: {scaled.error}'}")
    context.files.put(path, SeenFile(hash_of(data)))
    name = shown_path(path, context.workspace.cwd)
    (width, height), (now_wide, now_high) = scaled.before, scaled.after
    note = f"[{name} has {width} x {height} pixels; shown scaled to {now_wide} x {now_high}]"
    return ToolOutcome((Image(scaled.media_type, scaled.data), Text(note)))


async def _scaled(data: bytes, context: ToolContext) -> _Scaled:
    script = str(Path(__file__).with_name("image_scaling.py"))
    # -P: nothing is imported from beside the script, where modules have names of the standard library.
    argv = (sys.executable, "-P", script, str(MAX_SIDE_PIXELS), str(MAX_IMAGE_BYTES))
    result = await context.workspace.run(
        argv, timeout_s=TIMEOUT_S, max_output_bytes=MAX_OUTPUT_BYTES, separate_stderr=True, stdin=data
    )
    if result.timed_out:
        return _Scaled(error=f"it took longer than {TIMEOUT_S:g} s")
    try:
        return msgspec.json.decode(result.output, type=_Scaled)
    except (msgspec.DecodeError, UnicodeError):
        return _Scaled(error=result.stderr.strip()[-500:] or "no answer")
