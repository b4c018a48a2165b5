"""Width and height of a PNG, GIF or JPEG, read from its first bytes."""

import base64
import binascii
import struct

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_FRAME_MARKERS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for anything else."""
    if data[:8] == PNG_SIGNATURE and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data[:6] in {b"GIF87a", b"GIF89a"} and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    return _jpeg_size(data) if data[:2] == b"\xff\xd8" else None


def base64_image_size(text: str) -> tuple[int, int] | None:
    """The same for base64 text; None for broken base64 too."""
    try:
        return image_size(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4])
        if marker in JPEG_FRAME_MARKERS:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None
