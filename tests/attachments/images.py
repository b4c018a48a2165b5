"""The smallest headers that make a file an image of a given size."""

import struct


def png(width: int = 4, height: int = 3, *, extra: int = 0) -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I4sII", 13, b"IHDR", width, height)
        + b"\x08\x02\0\0\0"
        + bytes(extra)
    )


def gif(width: int = 4, height: int = 3) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(3)


def jpeg(width: int = 4, height: int = 3) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", 4) + b"hi"
    return b"\xff\xd8" + comment + b"\xff\xc0" + struct.pack(">HBHH", 11, 8, height, width) + bytes(6)


def webp(kind: str, width: int = 4, height: int = 3) -> bytes:
    bodies = {
        "VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        "VP8L": b"\x2f" + (width - 1 | (height - 1) << 14).to_bytes(4, "little") + bytes(5),
        "VP8 ": b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height),
    }
    body = bodies[kind]
    return b"RIFF" + bytes(4) + b"WEBP" + kind.encode() + struct.pack("<I", len(body)) + body
