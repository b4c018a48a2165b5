"""Write never overwrites what the model has not seen, and keeps how a file is written."""

from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.tool_folder import RacedWorkspace, ToolFolder

from ostinato.ports import SeenFile
from ostinato.testing.fake_workspace import FakeWorkspace
from ostinato.tool import Access
from ostinato.tools.text_encoding import UTF_8, encoding_of


async def test_a_new_file_is_made_with_its_parents_and_may_be_changed_at_once(folder: ToolFolder):
    await folder.text("Write", file_path="a/b/f", content="ä\r\n")
    assert folder.bytes_of("a/b/f") == "ä\r\n".encode()
    await folder.text("Write", file_path="a/b/f", content="b")
    assert folder.bytes_of("a/b/f") == b"b"


async def test_a_file_not_read_is_not_overwritten(folder: ToolFolder):
    folder.put("f", "a")
    assert "Read it first" in await folder.refused("Write", file_path="f", content="b")


async def test_a_file_changed_since_is_not_overwritten(folder: ToolFolder):
    folder.put("f", "a")
    await folder.call("Read", file_path="f")
    folder.put("f", "theirs")
    assert "again" in await folder.refused("Write", file_path="f", content="b")


async def test_a_file_changed_at_the_last_moment_is_not_overwritten(tmp_path: Path):
    folder = ToolFolder(tmp_path, RacedWorkspace(tmp_path, b"theirs"))
    folder.put("f", "a")
    await folder.call("Read", file_path="f")
    assert (await folder.call("Write", file_path="f", content="b")).is_error
    assert folder.bytes_of("f") == b"theirs"


async def test_a_part_does_not_give_the_right_to_replace_the_whole(folder: ToolFolder):
    folder.put("f", "a\nb\n")
    await folder.call("Read", file_path="f", limit=1)
    assert "part" in await folder.refused("Write", file_path="f", content="b")
    await folder.call("Read", file_path="f")
    await folder.text("Write", file_path="f", content="b")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nx\nb\n", b"a\r\nx\r\nb\r\n"),
        (b"a\nb\n", "a\r\nc\r\n", b"a\nc\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nC\n", b"a\r\nb\nC\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        ("ä\n".encode("latin-1"), "ö\n", "ö\n".encode("latin-1")),
        (b"\xff\xfe" + "a\n".encode("utf-16-le"), "ä\n", b"\xff\xfe" + "ä\n".encode("utf-16-le")),
        (b"a\rb\r", "a\nc\n", b"a\rc\r"),
        (b"a\nb", "", b""),
    ],
)
async def test_encoding_mark_and_line_ends_are_kept(
    folder: ToolFolder, before: bytes, content: str, after: bytes
):
    folder.put("f", before)
    await folder.call("Read", file_path="f")
    await folder.text("Write", file_path="f", content=content)
    assert folder.bytes_of("f") == after


async def test_what_the_old_encoding_cannot_say_makes_the_file_utf_8_and_says_so(folder: ToolFolder):
    folder.put("f", "ä\n".encode("latin-1"))
    await folder.call("Read", file_path="f")
    assert "UTF-8" in await folder.text("Write", file_path="f", content="漢\n")
    assert folder.bytes_of("f") == "漢\n".encode()


async def test_half_a_code_point_is_refused(folder: ToolFolder):
    await folder.refused("Write", file_path="f", content="\udcff")


async def test_a_folder_is_refused(folder: ToolFolder):
    await folder.refused("Write", file_path=".", content="x")


async def test_the_file_counts_as_seen_whole_afterwards(folder: ToolFolder):
    await folder.text("Write", file_path="f", content="")
    seen = folder.seen("f")
    assert isinstance(seen, SeenFile)
    assert not seen.is_partial


async def test_the_display_is_a_unified_diff(folder: ToolFolder):
    outcome = await folder.call("Write", file_path="f", content="a\n")
    assert outcome.display == {"path": "f", "diff": "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a"}


async def test_what_the_system_refuses_is_told(folder: ToolFolder):
    folder.put("f", "a")
    assert "cannot be written" in await folder.refused("Write", file_path="f/x", content="b")
    assert "cannot be written" in await folder.refused("Edit", file_path="f/x", old_string="", new_string="b")


def test_a_link_out_of_the_folder_does_not_hide_where_a_write_goes(
    folder: ToolFolder, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (folder.path / "out").symlink_to(outside)
    for name in ("Write", "Edit"):
        access = folder.tool(name).access({"file_path": "out/new/x"}, folder.workspace)
        assert access == Access(writes=(outside / "new/x",))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=30), content=st.text(max_size=20))
def test_any_text_over_any_bytes_is_written_or_nothing_is(data: bytes, content: str):
    async def scenario() -> None:
        with TemporaryDirectory() as name:
            folder = ToolFolder(Path(name), FakeWorkspace(Path(name)))
            folder.put("f", data)
            await folder.call("Read", file_path="f")
            outcome = await folder.call("Write", file_path="f", content=content)
            after = folder.bytes_of("f")
            if outcome.is_error:
                assert after == data
                return
            encoding = UTF_8 if "as UTF-8" in str(outcome.content) else encoding_of(data)
            assert encoding.decode(after).replace("\r", "").replace("\n", "") == content.replace(
                "\r", ""
            ).replace("\n", "")

    anyio.run(scenario)


def test_a_write_touches_its_file_and_nothing_else(folder: ToolFolder):
    assert folder.tool("Write").access({"file_path": "f"}, folder.workspace) == Access(
        writes=(folder.path / "f",)
    )
