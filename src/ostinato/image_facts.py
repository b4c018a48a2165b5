"""What a file that looks like an image really is: its type by its first bytes, its size in pixels, and whether it may be sent."""

from typing import Final

MAX_IMAGE_BYTES: Final = 3_932_160
"""5 MiB as base64, the limit of the strictest image API in use."""

MAX_SIDE_PIXELS: Final = 2000
"""The limit for requests with many images, kept by each, so that no later image makes an earlier one illegal."""

PNG: Final = b"\x89PNG\r\n\x1a\n"
SIGNATURES: Final = (
    (PNG, "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def image_type(head: bytes) -> str | None:
    """The media type if the file begins like an image that models take."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in SIGNATURES if head.startswith(signature)), None)


def why_not_sendable(data: bytes) -> str | None:
    """What is wrong with an image that `image_type` knows, or None. `data` may be cut after the limit and one byte."""
    if len(data) > MAX_IMAGE_BYTES:
        return f"it is larger than {MAX_IMAGE_BYTES} bytes; make it smaller first"
    size = image_size(data)
    if size is None or min(size) < 1:
        return "it is damaged: its size in pixels cannot be read"
    if max(size) > MAX_SIDE_PIXELS:
        return (
            f"it has {size[0]} x {size[1]} pixels; scale it to at most {MAX_SIDE_PIXELS} on each side first"
        )
    return None


def is_too_large(data: bytes) -> bool:
    """Whether it could be sent if it were smaller."""
    size = image_size(data)
    return (
        size is not None and min(size) >= 1 and (len(data) > MAX_IMAGE_BYTES or max(size) > MAX_SIDE_PIXELS)
    )


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels, from the header; None for a damaged one."""
    match image_type(data):
        case "image/png":
            is_whole = len(data) >= 24 and data[12:16] == b"IHDR"
            return (_big(data, 16, 4), _big(data, 20, 4)) if is_whole else None
        case "image/gif":
            return (_little(data, 6, 2), _little(data, 8, 2)) if len(data) >= 10 else None
        case "image/jpeg":
            return _jpeg_size(data)
        case "image/webp":
            return _webp_size(data)
        case _:
            return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker in JPEG_FRAMES:
            return _big(data, place + 7, 2), _big(data, place + 5, 2)
        place += 1 if marker == 0xFF else 2 + _big(data, place + 2, 2)
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            return 1 + _little(data, 24, 3), 1 + _little(data, 27, 3)
        case b"VP8L":
            bits = _little(data, 21, 4)
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
        case _:
            return None


def _big(data: bytes, place: int, count: int) -> int:
    return int.from_bytes(data[place : place + count])


def _little(data: bytes, place: int, count: int) -> int:
    return int.from_bytes(data[place : place + count], "little")
