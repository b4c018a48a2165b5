"""Pictures, as far as their facts are read."""


def png(width: int, height: int, size: int = 0) -> bytes:
    """As much of a picture as its facts are read from."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return head.ljust(size, b"\0")
