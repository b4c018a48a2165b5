"""Pictures that are too large for a model are shown smaller; what a hostile one costs is bounded, and without the library it is said."""

import base64
import io
import random
import zlib
from pathlib import Path

import pytest
from PIL import Image as Picture
from tests.tools.pictures import png
from tests.tools.tool_folder import ToolFolder

from ostinato.image_facts import MAX_IMAGE_BYTES, MAX_SIDE_PIXELS, why_not_sendable
from ostinato.messages import Image, Text
from ostinato.sandbox.workspace import LocalWorkspace

pytestmark = pytest.mark.process


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A child does the work: which loop waits for it makes no difference."""
    return request.param


def drawn(width: int, height: int, kind: str, mode: str = "RGB", **how: object) -> bytes:
    """A red picture whose lower half is blue."""
    picture = Picture.new("RGB", (width, height), "red")
    picture.paste("blue", (0, height // 2, width, height))
    into = io.BytesIO()
    picture.convert(mode).save(into, kind, **how)
    return into.getvalue()


def noise(width: int, height: int) -> bytes:
    """Nothing that could be packed."""
    into = io.BytesIO()
    Picture.frombytes("RGB", (width, height), random.Random(0).randbytes(3 * width * height)).save(
        into, "PNG"
    )
    return into.getvalue()


async def shown(folder: ToolFolder, data: bytes) -> tuple[Picture.Image, str, str]:
    """The picture, its media type and the note."""
    folder.put("a.png", data)
    outcome = await folder.call("Read", file_path="a.png")
    assert not outcome.is_error, outcome.content
    image, note = outcome.content
    assert isinstance(image, Image)
    assert isinstance(note, Text)
    sent = base64.b64decode(image.data)
    assert why_not_sendable(sent) is None
    return Picture.open(io.BytesIO(sent)), image.media_type, note.text


@pytest.mark.parametrize(
    ("kind", "mode", "media_type"),
    [
        ("PNG", "RGB", "image/png"),
        ("PNG", "P", "image/png"),
        ("PNG", "L", "image/png"),
        ("PNG", "RGBA", "image/png"),
        ("GIF", "P", "image/png"),
        ("JPEG", "RGB", "image/jpeg"),
        ("JPEG", "CMYK", "image/jpeg"),
        ("WEBP", "RGBA", "image/jpeg"),
    ],
)
async def test_every_kind_keeps_its_shape_and_what_it_shows(
    folder: ToolFolder, kind: str, mode: str, media_type: str
):
    picture, found, note = await shown(folder, drawn(2400, 240, kind, mode))
    assert (picture.size, found) == ((MAX_SIDE_PIXELS, 200), media_type)
    assert "2400 x 240" in note
    assert "2000 x 200" in note
    if mode != "L":
        above, below = (picture.convert("RGB").getpixel((1000, row)) for row in (20, 180))
        assert isinstance(above, tuple)
        assert isinstance(below, tuple)
        assert above[0] > 200 > 60 > above[2]
        assert below[2] > 200 > 60 > below[0]


async def test_sixteen_bits_of_grey_keep_their_shades(folder: ToolFolder):
    shades, into = (b"\0\x40" * 1200 + b"\0\xc0" * 1200) * 30, io.BytesIO()
    Picture.frombytes("I;16", (2400, 30), shades).save(into, "PNG")
    picture, _, _ = await shown(folder, into.getvalue())
    assert [picture.convert("L").getpixel((column, 10)) for column in (500, 1500)] == [0x40, 0xC0]


async def test_many_bytes_are_packed_until_they_fit(folder: ToolFolder):
    data = noise(1200, 1200)
    assert len(data) > MAX_IMAGE_BYTES
    picture, media_type, note = await shown(folder, data)
    assert media_type == "image/jpeg"
    assert f"{picture.width} x {picture.height}]" in note


async def test_a_photograph_that_lies_on_its_side_is_shown_upright(folder: ToolFolder):
    turned = Picture.Exif()
    turned[0x0112] = 6
    picture, _, note = await shown(folder, drawn(3000, 20, "JPEG", exif=turned))
    assert picture.size == (13, 2000)
    assert "20 x 3000" in note


async def test_the_file_counts_as_seen_by_its_own_bytes(folder: ToolFolder):
    await shown(folder, drawn(2500, 10, "PNG"))
    assert folder.seen("a.png") is not None


def bomb(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 100))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (bomb(60_000, 60_000), "more than 150000000 pixels"),
        (bomb(14_000, 14_000), "more than 150000000 pixels"),
        (bomb(3000, 10), "understood"),
        (png(2001, 10), "understood"),
    ],
    ids=["a bomb", "a small bomb", "half a picture", "a head alone"],
)
async def test_what_cannot_be_scaled_is_refused_with_its_size_and_the_reason(
    folder: ToolFolder, data: bytes, why: str
):
    folder.put("a.png", data)
    told = await folder.refused("Read", file_path="a.png")
    assert why in told
    assert folder.seen("a.png") is None


async def test_nothing_of_the_folder_takes_the_librarys_place(folder: ToolFolder):
    folder.put("PIL.py", "raise SystemExit('taken over')")
    await shown(folder, drawn(2500, 10, "PNG"))


async def test_without_the_library_the_size_and_how_to_get_it_are_told(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    elsewhere = tmp_path_factory.mktemp("library")
    (elsewhere / "PIL.py").write_text("raise ImportError")
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(elsewhere)}
    folder = ToolFolder(tmp_path, LocalWorkspace(tmp_path, (tmp_path,), environment))
    folder.put("a.png", drawn(2500, 10, "PNG"))
    told = await folder.refused("Read", file_path="a.png")
    assert "2500 x 10" in told
    assert "ostinato[media]" in told
