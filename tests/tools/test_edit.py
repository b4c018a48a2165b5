"""Edit changes what it was asked to and nothing else; a refused edit leaves every byte."""

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.tool_folder import RacedWorkspace, ToolFolder

from ostinato.testing.fake_workspace import FakeWorkspace
from ostinato.tool import Access


async def edited(folder: ToolFolder, data: bytes, old: str, new: str) -> bytes:
    folder.put("f", data)
    await folder.call("Read", file_path="f")
    await folder.text("Edit", file_path="f", old_string=old, new_string=new)
    return folder.bytes_of("f")


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "b", "B\nB2", b"a\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nB", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "c", "C", b"a\r\nb\nC\r\n"),
        (b"no end", "end", "END", b"no END"),
        (b"a\rb\r", "b", "B", b"a\rB\r"),
        ("a\u2028b\x0cc\n".encode(), "c", "d", "a\u2028b\x0cd\n".encode()),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        (b"\xff\xfe" + "ä\r\nb".encode("utf-16-le"), "b", "ü", b"\xff\xfe" + "ä\r\nü".encode("utf-16-le")),
        ("ä b".encode("latin-1"), "ä", "ö", "ö b".encode("latin-1")),
        ("ä ".encode() + b"\xff b", "b", "ö", "ä ".encode() + b"\xff " + "ö".encode()),
        (b"x", "x", r"A$&B $$ \1 \g<0> {x} %s \n {{y}}", rb"A$&B $$ \1 \g<0> {x} %s \n {{y}}"),
    ],
)
async def test_bytes_outside_the_change_stay(
    folder: ToolFolder, data: bytes, old: str, new: str, expected: bytes
):
    assert await edited(folder, data, old, new) == expected


async def test_the_next_edit_needs_no_new_read(folder: ToolFolder):
    folder.put("f", "a b")
    await folder.call("Read", file_path="f")
    await folder.text("Edit", file_path="f", old_string="a", new_string="c")
    await folder.text("Edit", file_path="f", old_string="b", new_string="d")
    assert folder.bytes_of("f") == b"c d"


async def test_a_file_not_read_is_not_edited(folder: ToolFolder):
    folder.put("f", "a")
    assert "Read it first" in await folder.refused("Edit", file_path="f", old_string="a", new_string="b")


async def test_a_file_changed_since_is_not_edited_even_with_its_time_set_back(folder: ToolFolder):
    path = folder.put("f", "a")
    await folder.call("Read", file_path="f")
    facts = path.stat()
    path.write_text("a ")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert "again" in await folder.refused("Edit", file_path="f", old_string="a", new_string="b")


@pytest.mark.parametrize("shift_s", [3600, -3600])
async def test_a_touched_but_equal_file_is_edited(folder: ToolFolder, shift_s: int):
    path = folder.put("f", "a")
    await folder.call("Read", file_path="f")
    time_s = path.stat().st_mtime + shift_s
    os.utime(path, (time_s, time_s))
    await folder.text("Edit", file_path="f", old_string="a", new_string="b")


async def test_a_part_of_a_file_gives_the_right_to_edit_and_stays_a_part(folder: ToolFolder):
    folder.put("f", "a\nb\nc\n")
    await folder.call("Read", file_path="f", limit=1)
    await folder.text("Edit", file_path="f", old_string="c", new_string="d")
    seen = folder.seen("f")
    assert seen is not None
    assert seen.is_partial


async def test_a_change_between_check_and_replacement_loses_nothing(tmp_path: Path):
    folder = ToolFolder(tmp_path, RacedWorkspace(tmp_path, b"theirs"))
    folder.put("f", "a")
    await folder.call("Read", file_path="f")
    outcome = await folder.call("Edit", file_path="f", old_string="a", new_string="b")
    assert outcome.is_error
    assert folder.bytes_of("f") == b"theirs"


async def test_a_link_stays_a_link_and_the_mode_is_kept(folder: ToolFolder):
    real = folder.put("real", "a")
    real.chmod(0o755)
    link = folder.path / "link"
    link.symlink_to(real)
    await folder.call("Read", file_path="link")
    await folder.text("Edit", file_path="link", old_string="a", new_string="b")
    assert link.is_symlink()
    assert (real.read_bytes(), stat.S_IMODE(real.stat().st_mode)) == (b"b", 0o755)
    assert {path.name for path in folder.path.iterdir()} == {"real", "link"}


async def test_a_file_read_through_a_link_may_be_edited_by_its_name(folder: ToolFolder):
    (folder.path / "link").symlink_to(folder.put("real", "a"))
    await folder.call("Read", file_path="link")
    await folder.text("Edit", file_path="real", old_string="a", new_string="b")


async def test_equal_texts_are_refused(folder: ToolFolder):
    folder.put("f", "a")
    await folder.call("Read", file_path="f")
    assert "equal" in await folder.refused("Edit", file_path="f", old_string="a", new_string="a")


async def test_an_empty_old_text_creates_a_file_and_overwrites_none(folder: ToolFolder):
    await folder.text("Edit", file_path="new/f", old_string="", new_string="ä\n")
    assert folder.bytes_of("new/f") == "ä\n".encode()
    await folder.text("Edit", file_path="new/f", old_string="ä", new_string="b")
    assert "exists" in await folder.refused("Edit", file_path="new/f", old_string="", new_string="c")


async def test_what_the_encoding_cannot_say_is_refused(folder: ToolFolder):
    folder.put("f", "ä b".encode("latin-1"))
    await folder.call("Read", file_path="f")
    assert "UTF-8" in await folder.refused("Edit", file_path="f", old_string="b", new_string="漢")


@pytest.mark.parametrize("old", ["a", ""])
async def test_half_a_code_point_is_refused(folder: ToolFolder, old: str):
    folder.put("f", "a")
    await folder.call("Read", file_path="f")
    await folder.refused("Edit", file_path="f" if old else "new", old_string=old, new_string="x\ud835")


async def test_broken_utf_16_is_refused(folder: ToolFolder):
    folder.put("f", b"\xff\xfea\0b")
    await folder.call("Read", file_path="f")
    await folder.refused("Edit", file_path="f", old_string="a", new_string="b")


async def test_all_places_are_replaced_on_request(folder: ToolFolder):
    folder.put("f", "x y x")
    await folder.call("Read", file_path="f")
    assert "2 times" in await folder.refused("Edit", file_path="f", old_string="x", new_string="z")
    text = await folder.text("Edit", file_path="f", old_string="x", new_string="z", replace_all=True)
    assert "2" in text
    assert folder.bytes_of("f") == b"z y z"


async def test_the_display_is_a_unified_diff(folder: ToolFolder):
    folder.put("f", "a\r\nb\r\n")
    await folder.call("Read", file_path="f")
    outcome = await folder.call("Edit", file_path="f", old_string="b", new_string="c")
    assert outcome.display == {"path": "f", "diff": "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c"}


async def test_a_diff_names_the_lines_of_the_file_however_much_around_the_change_was_given(
    folder: ToolFolder,
):
    lines = [f"l{number}" for number in range(1, 41)]
    folder.put("f", "\n".join(lines))
    await folder.call("Read", file_path="f")
    old = "\n".join(lines[4:30])
    text = await folder.text("Edit", file_path="f", old_string=old, new_string=old.replace("l25", "x"))
    outcome = await folder.call("Edit", file_path="f", old_string="l40", new_string="end")
    assert text == "edited f at line 5"
    assert outcome.display is not None
    assert "@@ -37,4 +37,4 @@" in outcome.display["diff"]
    back = await folder.call(
        "Edit", file_path="f", old_string="\n".join(lines[4:24]) + "\nx", new_string="\n".join(lines[4:25])
    )
    assert back.display is not None
    assert "@@ -22,7 +22,7 @@" in back.display["diff"]


async def test_forgiven_white_space_is_said_and_keeps_line_ends(folder: ToolFolder):
    folder.forgiving_edit = True
    folder.put("f", b"def f():\r\n\treturn 1\r\n")
    await folder.call("Read", file_path="f")
    text = await folder.text("Edit", file_path="f", old_string="    return 1", new_string="    return 2")
    assert "white space" in text
    assert folder.bytes_of("f") == b"def f():\r\n\treturn 2\r\n"


def test_an_edit_writes_its_file_and_nothing_else(folder: ToolFolder):
    access = folder.tool("Edit").access({"file_path": "x/../f"}, folder.workspace)
    assert access == Access(writes=(folder.path / "f",))
    assert not folder.tool("Edit").is_read_only({"file_path": "f"})


BYTES = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.sampled_from([b"ab", b"\r\n", b"\n", b"\r", b"\xc3\xa4", b"\xe4", b"\xff", b" "]), max_size=20
    ).map(b"".join),
).map(lambda data: data.replace(b"\0", b""))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=BYTES, new=st.text(max_size=8), cut=st.tuples(st.integers(0, 40), st.integers(1, 6)))
def test_any_edit_of_any_bytes_changes_the_one_span_or_nothing(data: bytes, new: str, cut: tuple[int, int]):
    """The span is named by what the bytes stand for; the result must be head + something + tail of the same bytes."""

    async def scenario() -> None:
        with TemporaryDirectory() as name:
            folder = ToolFolder(Path(name), FakeWorkspace(Path(name)))
            folder.put("f", data)
            if (await folder.call("Read", file_path="f")).is_error:
                return
            # ASCII bytes stand for themselves in every encoding that has no mark.
            old = data[cut[0] : cut[0] + cut[1]].decode("ascii", "ignore")
            outcome = await folder.call("Edit", file_path="f", old_string=old, new_string=new)
            after = folder.bytes_of("f")
            if outcome.is_error:
                assert after == data
            elif "\r" not in old and "\n" not in old and "\r" not in new and "\n" not in new:
                at = data.find(old.encode())
                assert after.startswith(data[:at])
                assert after.endswith(data[at + len(old) :])
                assert len(after) >= len(data) - len(old)

    anyio.run(scenario)
