"""One picture, made small enough for a model, as JSON on standard output: run as a script of its own, in a child that may fail or hang.

Arguments: the most pixels of a side, the most bytes; the picture is read from standard input. Imports nothing of the package, so
that it needs no more than the interpreter and Pillow.
"""

import base64
import io
import json
import resource
import sys
import warnings

try:
    from PIL import Image, ImageOps
except ImportError:
    sys.stdout.write('{"is_missing": true}')
    raise SystemExit from None

MEMORY_BYTES = 2 << 30
MAX_PIXELS = 150_000_000
"""A file of a few bytes may claim any size."""

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
QUALITIES = (85, 70, 50)


def main(data: bytes, max_side: int, max_bytes: int) -> dict[str, object]:
    """The picture with its sizes before and after, in pixels; or `error`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        return scaled(data, max_side, max_bytes)
    except MemoryError:
        return {"error": "it needs too much memory"}
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return {"error": f"it has more than {MAX_PIXELS} pixels"}
    except Exception as error:  # ruff: ignore[blind-except] - whatever a hostile file makes the library raise
        return {"error": f"it cannot be understood ({type(error).__name__}: {error})"}


def scaled(data: bytes, max_side: int, max_bytes: int) -> dict[str, object]:
    """Raises whatever a file makes the library raise."""
    with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        kind, before = opened.format, upright(opened)
        # Of a JPEG only what is needed is unpacked.
        opened.draft("RGB", (max_side, max_side))
        picture = as_colours(ImageOps.exif_transpose(opened))
    picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    after, packed = encoded(picture, max_bytes, keeps_lines=kind in {"PNG", "GIF"})
    media_type = "image/png" if packed.startswith(b"\x89PNG") else "image/jpeg"
    data_text = base64.b64encode(packed).decode("ascii")
    return {"media_type": media_type, "data": data_text, "before": before, "after": after}


def upright(opened: Image.Image) -> tuple[int, int]:
    """Its size as it is looked at: a camera notes how it was held."""
    width, height = opened.size
    return (height, width) if opened.getexif().get(0x0112) in {5, 6, 7, 8} else (width, height)


def as_colours(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith("I"):  # 16 bits of grey: `convert` would make white of nearly all of them
        picture = Image.frombytes("L", picture.size, picture.convert("I;16").tobytes()[1::2])
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def encoded(picture: Image.Image, max_bytes: int, *, keeps_lines: bool) -> tuple[tuple[int, int], bytes]:
    """Its size and its bytes: as PNG if that was one and fits, for text and lines stay sharp; else as JPEG, smaller and smaller."""
    if keeps_lines and len(packed := saved(picture, "PNG")) <= max_bytes:
        return picture.size, packed
    flat = on_white(picture)
    while True:
        for quality in QUALITIES:
            packed = saved(flat, "JPEG", quality=quality)
            if len(packed) <= max_bytes:
                return flat.size, packed
        flat.thumbnail((max(1, flat.width // 2), max(1, flat.height // 2)))


def on_white(picture: Image.Image) -> Image.Image:
    if picture.mode == "RGB":
        return picture
    white = Image.new("RGBA", picture.size, "white")
    white.alpha_composite(picture)
    return white.convert("RGB")


def saved(picture: Image.Image, kind: str, **how: int) -> bytes:
    into = io.BytesIO()
    picture.save(into, kind, **how)
    return into.getvalue()


if __name__ == "__main__":
    answer = main(sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2]))
    sys.stdout.write(json.dumps(answer))
