"""Grep shows matches page by page, and tells nothing found, not all searched and failed apart."""

import os
import re
from pathlib import Path

import pytest
from tests.tools.tool_folder import ToolFolder

from ostinato.testing.fake_workspace import FakeWorkspace, played
from ostinato.tool import Access
from ostinato.tools.grep_steps import MAX_DATED_FILES

pytestmark = pytest.mark.process


@pytest.fixture
def code(folder: ToolFolder) -> ToolFolder:
    os.utime(folder.put("a.py", "one\nmatch 1\ntwo\nthree\nfour\nMATCH 2\n"), (100, 100))
    os.utime(folder.put("sub/b.ts", "match 3\r\n"), (200, 200))
    return folder


async def test_files_newest_first_are_the_default(code: ToolFolder):
    assert await code.text("Grep", pattern="match") == "sub/b.ts\na.py"


async def test_lines_stand_below_their_file(code: ToolFolder):
    text = await code.text("Grep", pattern="match", output_mode="content", _i=True)
    assert text == "a.py\n2:match 1\n6:MATCH 2\nsub/b.ts\n1:match 3"


async def test_lines_around_and_gaps_show(code: ToolFolder):
    text = await code.text("Grep", pattern="match", output_mode="content", _i=True, _C=1, path="a.py")
    assert text == "a.py\n1-one\n2:match 1\n3-two\n--\n5-four\n6:MATCH 2"
    text = await code.text("Grep", pattern="match", output_mode="content", _A=1, path="a.py")
    assert text == "a.py\n2:match 1\n3-two"
    text = await code.text("Grep", pattern="match", output_mode="content", _B=1, path="a.py")
    assert text == "a.py\n1-one\n2:match 1"
    text = await code.text("Grep", pattern="match", output_mode="content", context=1, path="a.py")
    assert text == "a.py\n1-one\n2:match 1\n3-two"


async def test_numbers_can_be_left_out_and_matches_shown_alone(code: ToolFolder):
    text = await code.text("Grep", pattern="match .", output_mode="content", _n=False, _o=True, path="sub")
    assert text == "sub/b.ts\nmatch 3"


async def test_counts(code: ToolFolder):
    assert await code.text("Grep", pattern="match", output_mode="count", _i=True) == "a.py:2\nsub/b.ts:1"


@pytest.mark.parametrize(
    ("tool_input", "found"),
    [
        ({"glob": "*.ts"}, "sub/b.ts"),
        ({"glob": "sub/**"}, "sub/b.ts"),
        ({"glob": "!*.ts"}, "a.py"),
        ({"type": "py"}, "a.py"),
        ({"type": "py", "glob": "*.{py,ts}"}, "a.py"),
        ({"path": "sub"}, "sub/b.ts"),
        ({"path": "a.py"}, "a.py"),
    ],
)
async def test_restrictions(code: ToolFolder, tool_input: dict[str, str], found: str):
    assert await code.text("Grep", pattern="match", **tool_input) == found


async def test_across_lines_only_when_asked(code: ToolFolder):
    assert await code.text("Grep", pattern="one.match", multiline=True) == "a.py"
    assert await code.text("Grep", pattern="one.match") == "no match found"


async def test_pages_join_without_gap_or_overlap(folder: ToolFolder):
    for name in "abc":
        folder.put(f"{name}.txt", "".join(f"x{name}{i}\n" for i in range(40)))
    seen: list[str] = []
    offset = 0
    while True:
        text = await folder.text("Grep", pattern="x", output_mode="content", head_limit=50, offset=offset)
        *lines, last = text.split("\n")
        seen += [line for line in [*lines, last] if ":" in line]
        offset += 50
        if not last.startswith("["):
            break
        assert last == f"[{offset - 49}-{offset} of 120; go on with offset={offset}]"
    assert seen == [f"{i + 1}:x{name}{i}" for name in "abc" for i in range(40)]
    assert "120" in await folder.text("Grep", pattern="x", output_mode="content", offset=500)


async def test_a_page_of_long_lines_ends_at_a_whole_line_and_says_where(folder: ToolFolder):
    folder.put("a.txt", ("x" * 400 + "\n") * 200)
    text = await folder.text("Grep", pattern="x", output_mode="content", head_limit=0)
    *lines, note = text.split("\n")
    assert len(text) <= 30_000
    assert note == f"[1-{len(lines) - 1} of 200; go on with offset={len(lines) - 1}]"


async def test_a_line_of_two_megabytes_is_cut(folder: ToolFolder):
    folder.put("a.js", "x match " + "y" * 2_000_000)
    text = await folder.text("Grep", pattern="match", output_mode="content")
    assert len(text) < 1000


async def test_ignored_and_git_files_are_left_out_unless_named(folder: ToolFolder):
    folder.put(".gitignore", "*.log\nbuild/\n")
    for name in ["x.log", "build/b", ".git/config", ".hidden", "c"]:
        folder.put(name, "match")
    for tool_input in ({}, {"glob": "*"}, {"glob": "**"}):
        text = await folder.text("Grep", pattern="match", **tool_input)
        assert set(text.split("\n")) == {".hidden", "c"}
    assert await folder.text("Grep", pattern="match", path="build") == "build/b"
    assert await folder.text("Grep", pattern="match", path="x.log") == "x.log"


async def test_binary_files_are_named_when_asked_for(folder: ToolFolder):
    folder.put("a.bin", b"match\0\xff")
    text = await folder.text("Grep", pattern="match", output_mode="content", path="a.bin")
    assert text == "a.bin\n(binary file matches)"


async def test_odd_names_and_bytes_give_valid_unicode(folder: ToolFolder):
    folder.put("new\nline.txt", b"match \xff\n")
    folder.put("--\nx", "match")
    text = await folder.text("Grep", pattern="match", output_mode="content", _C=1)
    text.encode()
    assert "new\nline.txt\n1:match \ufffd" in text
    assert "--\nx\n1:match" in text


@pytest.mark.parametrize("pattern", ["-foo", "--files", "$(touch x)", "`x`", "a'b\"c"])
async def test_a_pattern_is_never_an_option_or_a_command(folder: ToolFolder, pattern: str):
    folder.put("a", f"x{pattern}y")
    assert await folder.text("Grep", pattern=re.escape(pattern)) == "a"


async def test_a_file_called_dash_is_a_file(folder: ToolFolder):
    folder.put("-", "match")
    assert await folder.text("Grep", pattern="match", path="-") == "-"


async def test_half_a_code_point_is_searched_for_and_not_found(folder: ToolFolder):
    folder.put("a", "x")
    assert await folder.text("Grep", pattern="\ud835", glob="*\udcff") == "no match found"


async def test_configuration_of_the_user_is_not_read(folder: ToolFolder, monkeypatch: pytest.MonkeyPatch):
    folder.put("rc", "--invert-match\n")
    folder.put("a", "match")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(folder.path / "rc"))
    fresh = ToolFolder(folder.path)
    assert await fresh.text("Grep", pattern="^match") == "a"


async def test_the_path_has_no_say_in_which_ripgrep_runs(folder: ToolFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    folder.put("a", "match")
    assert await ToolFolder(folder.path).text("Grep", pattern="match") == "a"


@pytest.mark.parametrize(
    ("tool_input", "words"),
    [
        ({"pattern": "("}, "unclosed group"),
        ({"pattern": "x", "type": "nope"}, "nope"),
        ({"pattern": "x", "path": "nowhere"}, "does not exist"),
        ({"pattern": "x", "glob": "["}, "pattern"),
        ({"pattern": "a\nb"}, "literal"),
    ],
)
async def test_what_cannot_be_searched_is_a_failure_in_ripgreps_words(
    folder: ToolFolder, tool_input: dict[str, str], words: str
):
    folder.put("a", "x")
    assert words in await folder.refused("Grep", **tool_input)


async def test_nothing_found_is_no_failure(code: ToolFolder):
    assert await code.text("Grep", pattern="zzz") == "no match found"


async def test_a_timeout_shows_what_was_found_and_that_it_is_incomplete(tmp_path: Path):
    result = played("./a\x001:x\n./b\x002:y\n", exit_code=None, timed_out=True)
    folder = ToolFolder(tmp_path, FakeWorkspace(tmp_path, play=lambda _argv: result))
    text = await folder.text("Grep", pattern="x", output_mode="content")
    assert text.startswith("a\n1:x\nb\n2:y\n[incomplete: ")


async def test_it_never_goes_through_a_shell(tmp_path: Path):
    workspace = FakeWorkspace(tmp_path)
    await ToolFolder(tmp_path, workspace).text("Grep", pattern="x; rm -rf /")
    ((program, *arguments),) = workspace.commands
    assert program.endswith("/rg")
    assert "--no-config" in arguments
    assert "--regexp=x; rm -rf /" in arguments


@pytest.mark.parametrize("given", [{}, {"glob": "*"}, {"path": "sub"}, {"multiline": True}])
async def test_what_is_no_file_does_not_stop_a_search(folder: ToolFolder, given: dict[str, str]):
    folder.put("sub/a.txt", "match")
    os.mkfifo(folder.path / "sub/pipe")
    (folder.path / "sub/loop").symlink_to(folder.path)
    (folder.path / "sub/zero").symlink_to("/dev/zero")
    (folder.path / "sub/gone").symlink_to("nowhere")
    assert await folder.text("Grep", pattern="match", **given) == "sub/a.txt"


async def test_a_flood_of_files_comes_in_the_order_of_paths_and_says_so(tmp_path: Path):
    output = "".join(f"./f{number:05d}\0" for number in reversed(range(MAX_DATED_FILES + 1)))
    folder = ToolFolder(tmp_path, FakeWorkspace(tmp_path, play=lambda _argv: played(output)))
    first, *_, place, order = (await folder.text("Grep", pattern="x", head_limit=3)).split("\n")
    assert first == "f00000"
    assert place == f"[1-3 of {MAX_DATED_FILES + 1}; go on with offset=3]"
    assert "order of their paths" in order


def test_it_reads_what_it_searches(folder: ToolFolder):
    grep = folder.tool("Grep")
    assert grep.is_read_only({"pattern": "x"})
    assert grep.access({"pattern": "x", "path": "sub"}, folder.workspace) == Access(
        reads=(folder.path / "sub",)
    )
