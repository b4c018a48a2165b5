"""Read shows what is there, says what it left out, and never opens what is no regular file."""

import hashlib
import os
import socket
import tracemalloc
from base64 import b64encode
from pathlib import Path

import pytest
from tests.tools.pictures import png
from tests.tools.tool_folder import ToolFolder

from ostinato.messages import Image
from ostinato.ports import SeenFile


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_lines_are_numbered_and_carriage_returns_do_not_show(folder: ToolFolder):
    folder.put("a.txt", b"one\r\ntwo\r\nthree")
    assert await folder.text("Read", file_path="a.txt") == "1\tone\n2\ttwo\n3\tthree"


async def test_a_whole_read_is_remembered_by_the_hash_of_all_bytes(folder: ToolFolder):
    data = b"\xef\xbb\xbfone\r\ntwo\r\n"
    folder.put("a.txt", data)
    await folder.text("Read", file_path="a.txt")
    assert folder.seen("a.txt") == SeenFile(hash_of(data))


async def test_a_range_says_how_to_go_on_and_is_remembered_as_partial(folder: ToolFolder):
    data = "".join(f"l{i}\n" for i in range(1, 11)).encode()
    folder.put("a.txt", data)
    text = await folder.text("Read", file_path="a.txt", offset=3, limit=2)
    assert text == "3\tl3\n4\tl4\n[lines 3-4 of 10; go on with offset=5]"
    assert folder.seen("a.txt") == SeenFile(hash_of(data), is_partial=True)


async def test_the_last_range_does_not_ask_to_go_on(folder: ToolFolder):
    folder.put("a.txt", "a\nb\nc\n")
    assert await folder.text("Read", file_path="a.txt", offset=3) == "3\tc\n[lines 3-3 of 3]"


async def test_two_thousand_lines_are_shown_unless_more_are_wanted(folder: ToolFolder):
    folder.put("a.txt", "x\n" * 2500)
    assert "[lines 1-2000 of 2500; go on with offset=2001]" in await folder.text("Read", file_path="a.txt")
    assert (await folder.text("Read", file_path="a.txt", limit=2500)).endswith("2500\tx")


async def test_a_large_text_ends_at_a_whole_line_and_the_continuation_joins_it(folder: ToolFolder):
    lines = [f"{i:06d} " + "y" * 990 for i in range(1, 601)]
    folder.put("a.txt", "\n".join(lines))
    first = await folder.text("Read", file_path="a.txt")
    *shown, note = first.split("\n")
    assert len(first.encode()) < 270_000
    assert note.endswith(f"of 600; go on with offset={len(shown) + 1}]")
    rest = await folder.text("Read", file_path="a.txt", offset=len(shown) + 1)
    assert rest.startswith(f"{len(shown) + 1}\t{lines[len(shown)]}")


async def test_a_long_line_is_cut_with_a_mark(folder: ToolFolder):
    folder.put("a.txt", "é" * 5000 + "\nnext\n")
    first, second = (await folder.text("Read", file_path="a.txt")).split("\n")
    assert first == "1\t" + "é" * 2000 + "[... line of 10000 bytes cut]"
    assert second == "2\tnext"


async def test_an_empty_file_is_said_to_be_empty(folder: ToolFolder):
    folder.put("a.txt", b"")
    assert await folder.text("Read", file_path="a.txt") == "[a.txt is empty]"
    assert folder.seen("a.txt") == SeenFile(hash_of(b""))


async def test_an_offset_behind_the_end_names_the_number_of_lines(folder: ToolFolder):
    folder.put("a.txt", "a\nb\n")
    assert "2 lines" in await folder.refused("Read", file_path="a.txt", offset=9)
    assert folder.seen("a.txt") is None


async def test_a_wrong_name_is_answered_with_its_neighbour(folder: ToolFolder):
    folder.put("src/Parser.py", "x")
    assert "`Parser.py`" in await folder.refused("Read", file_path="src/parser.py")
    assert f"`{folder.path / 'src'}`" in await folder.refused("Read", file_path="src/no/such/file")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(path))


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Grep", "Glob"])
@pytest.mark.parametrize("kind", ["FIFO", "socket", "device"])
async def test_what_is_no_regular_file_is_refused_at_once(folder: ToolFolder, tool: str, kind: str):
    path = folder.path / "special"
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            here = Path.cwd()
            os.chdir(folder.path)  # the address of a socket has room for 108 bytes only
            make_socket(Path("special"))
            os.chdir(here)
        case _:
            path = Path("/dev/zero")
    inputs = {
        "Read": {"file_path": str(path)},
        "Edit": {"file_path": str(path), "old_string": "a", "new_string": "b"},
        "Write": {"file_path": str(path), "content": "b"},
        "Grep": {"pattern": "a", "path": str(path)},
        "Glob": {"pattern": "a", "path": str(path)},
    }
    text = await folder.refused(tool, **inputs[tool])
    assert kind in text or tool in {"Grep", "Glob"}


async def test_a_folder_is_refused_with_what_to_use(folder: ToolFolder):
    assert "Glob" in await folder.refused("Read", file_path=".")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PK\x03\x04rest", "zip"),
        (b"\x7fELF...", "ELF"),
        (b"\0asm\1\0\0\0", "WebAssembly"),
        (b"ID3\4rest", "audio"),
        (b"abc\0def", "binary"),
    ],
)
async def test_binary_files_are_refused_by_kind(folder: ToolFolder, data: bytes, kind: str):
    folder.put("a", data)
    assert kind in await folder.refused("Read", file_path="a")
    assert folder.seen("a") is None


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("häß\n".encode("utf-8-sig"), "byte order mark"),
        ("häß\n".encode("utf-16"), "utf-16"),
        (b"\xff\xfe" + "häß\r\n".encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + "häß\n".encode("utf-16-be"), "utf-16-be"),
        ("häß\n".encode("latin-1"), "cp1252"),
    ],
)
async def test_other_encodings_are_read_and_named(folder: ToolFolder, data: bytes, note: str):
    folder.put("a.txt", data)
    shown, said = (await folder.text("Read", file_path="a.txt")).split("\n")
    assert shown == "1\thäß"
    assert note in said


async def test_stray_bytes_show_as_valid_unicode(folder: ToolFolder):
    folder.put("a.txt", b"h\xc3\xa4 \xff\xed\xa0\x80\n")
    text = await folder.text("Read", file_path="a.txt")
    assert text.startswith("1\thä \ufffd")
    text.encode()


async def test_an_image_comes_as_an_image_block_whatever_its_name_says(folder: ToolFolder):
    data = png(20, 10)
    folder.put("a.dat", data)
    outcome = await folder.call("Read", file_path="a.dat")
    assert outcome.content == (Image("image/png", b64encode(data).decode()),)
    assert folder.seen("a.dat") == SeenFile(hash_of(data))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png(20, 10, 4_000_000), "smaller"),
        (png(2001, 10), "2001 x 10"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "damaged"),
        (png(0, 10), "damaged"),
        (b"\xff\xd8\xff\xe0", "damaged"),
        (b"GIF89a", "damaged"),
    ],
)
async def test_an_image_that_no_model_takes_is_refused(folder: ToolFolder, data: bytes, why: str):
    folder.put("a.png", data)
    assert why in await folder.refused("Read", file_path="a.png")
    assert folder.seen("a.png") is None


async def test_a_file_of_many_pieces_is_hashed_and_counted_as_a_whole(folder: ToolFolder):
    data = b"".join(b"line %07d\r\n" % i for i in range(200_000))
    folder.put("a.txt", data)
    text = await folder.text("Read", file_path="a.txt", offset=150_000, limit=1)
    assert text == "150000\tline 0149999\n[lines 150000-150000 of 200000; go on with offset=150001]"
    assert folder.seen("a.txt") == SeenFile(hash_of(data), is_partial=True)


@pytest.mark.parametrize("line", [b"y" * 1_000_000, b"a line\n" * 150_000], ids=["one line", "lines"])
async def test_memory_is_bounded_by_what_is_shown_not_by_the_file(folder: ToolFolder, line: bytes):
    size = 0
    with (folder.path / "large").open("wb") as file:
        while size < 48_000_000:
            size += file.write(line)
    await folder.call("Read", file_path="large", limit=1)  # modules and tables are loaded
    tracemalloc.start()
    try:
        await folder.call("Read", file_path="large", offset=1, limit=10)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_reading_touches_the_real_file_behind_a_link(folder: ToolFolder):
    real = folder.put("real.txt", "x")
    (folder.path / "link").symlink_to(real)
    assert folder.tool("Read").access({"file_path": "link"}, folder.workspace).reads == (real,)
