"""Images are what their first bytes say; one that a provider would refuse is found before it is sent."""

import pytest
from tests.attachments.images import gif, jpeg, png, webp

from ostinato.image_facts import MAX_IMAGE_BYTES, image_size, image_type, why_not_sendable


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(30, 20), "image/png"),
        (gif(30, 20), "image/gif"),
        (jpeg(30, 20), "image/jpeg"),
        (webp("VP8X", 30, 20), "image/webp"),
        (webp("VP8L", 30, 20), "image/webp"),
        (webp("VP8 ", 30, 20), "image/webp"),
    ],
)
def test_type_and_size_of_every_form(data: bytes, media_type: str):
    assert (image_type(data), image_size(data)) == (media_type, (30, 20))
    assert why_not_sendable(data) is None


@pytest.mark.parametrize(
    "data",
    [
        png()[:20],
        png(0, 5),
        gif()[:7],
        jpeg()[:8],
        b"\xff\xd8\xff" + b"\xff" * 50,
        b"\xff\xd8\xff\xfe\0\0" * 20,
        webp("VP8X")[:20],
        png(2001, 1),
        gif(1, 2001),
        png(extra=MAX_IMAGE_BYTES),
    ],
)
def test_damaged_and_oversized_images_are_not_sent(data: bytes):
    assert image_type(data) is not None
    assert why_not_sendable(data)


@pytest.mark.parametrize("data", [b"", b"text", b"RIFF....WAVE", b"\x89PNG", b"%PDF-1.7"])
def test_other_files_are_no_images(data: bytes):
    assert (image_type(data), image_size(data)) == (None, None)
