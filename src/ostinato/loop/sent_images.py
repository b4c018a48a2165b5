"""Every image of every tool's result is one that each later request may carry; another one becomes a note that says why.

One image above a provider's limits makes the whole request illegal, and the limits fall as images add up.
"""

import base64
import binascii
from typing import Final

from ostinato.image_facts import MAX_IMAGE_BYTES, image_type, why_not_sendable
from ostinato.messages import Image, Text

MAX_BASE64_CHARACTERS: Final = (MAX_IMAGE_BYTES + 2) // 3 * 4


def sendable_image(image: Image) -> Image | Text:
    """The image under the type that it has, or a note."""
    if len(image.data) > MAX_BASE64_CHARACTERS:
        return _left_out(f"it is larger than {MAX_IMAGE_BYTES} bytes")
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return _left_out("it is not base64")
    media_type = image_type(data)
    if media_type is None:
        return _left_out("it is no PNG, JPEG, GIF or WebP")
    wrong = why_not_sendable(data)
    return Image(media_type, image.data) if wrong is None else _left_out(wrong)


def _left_out(why: str) -> Text:
    return Text(f"[an image is left out: {why}]")
