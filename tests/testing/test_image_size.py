"""The pixel size of an image is read from its head, and nothing else passes for an image."""

import base64
import struct

from ostinato.testing.image_size import base64_image_size, image_size


def test_png_gif_and_jpeg_tell_their_size() -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 3, 4)
    gif = b"GIF89a" + struct.pack("<HH", 5, 6)
    jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x11\x08" + struct.pack(">HH", 8, 7)
    assert [image_size(data) for data in (png, gif, jpeg)] == [(3, 4), (5, 6), (7, 8)]
    assert base64_image_size(base64.b64encode(png).decode()) == (3, 4)


def test_other_data_has_no_size() -> None:
    for data in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"hello"):
        assert image_size(data) is None
    assert base64_image_size("not base64!") is None
