"""Glob lists what fits, newest first, and never passes off a failure as nothing."""

import os
from pathlib import Path

import pytest
from tests.tools.tool_folder import ToolFolder

from ostinato.processes import ProcessResult
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing.fake_workspace import FakeWorkspace, played
from ostinato.tool import Access
from ostinato.tools.file_pattern import parse_pattern

pytestmark = pytest.mark.process


async def test_newest_first_and_equal_times_by_name(folder: ToolFolder):
    for name, time_s in [("b.py", 100), ("a.py", 100), ("new.py", 200), ("old.py", 50)]:
        os.utime(folder.put(name, ""), (time_s, time_s))
    assert await folder.text("Glob", pattern="*.py") == "new.py\na.py\nb.py\nold.py"


async def test_hidden_files_are_found_and_ignored_ones_and_git_are_not(folder: ToolFolder):
    folder.put(".gitignore", "*.log\nbuild/\n!keep.log\n")
    for name in [".hidden/a", "x.log", "keep.log", "build/deep/b", ".git/config", "sub/.gitignore", "sub/c"]:
        folder.put(name, "")
    found = await folder.text("Glob", pattern="**/*")
    assert set(found.split("\n")) == {".gitignore", ".hidden/a", "keep.log", "sub/.gitignore", "sub/c"}


async def test_ignore_files_hold_without_a_repository_too(folder: ToolFolder):
    folder.put(".gitignore", "*.log\n")
    folder.put("x.log", "")
    assert await folder.text("Glob", pattern="*") == ".gitignore"


@pytest.mark.parametrize("tool_input", [{"pattern": "build/**"}, {"pattern": "*", "path": "build"}])
async def test_an_ignored_folder_is_searched_when_it_is_named(folder: ToolFolder, tool_input: dict[str, str]):
    folder.put(".gitignore", "build/\n")
    folder.put("build/deep/b", "")
    assert await folder.text("Glob", **tool_input) == "build/deep/b"


async def test_a_pattern_is_anchored_at_its_path(folder: ToolFolder):
    for name in ["a/src/x.py", "src/x.py", "a/y/src/x.py"]:
        folder.put(name, "")
    assert await folder.text("Glob", pattern="src/*.py", path="a") == "a/src/x.py"


async def test_files_outside_are_named_by_their_whole_path(
    folder: ToolFolder, tmp_path_factory: pytest.TempPathFactory
):
    outside = tmp_path_factory.mktemp("outside").resolve()
    (outside / "x.py").write_text("")
    assert await folder.text("Glob", pattern=f"{outside}/*.py") == f"{outside}/x.py"


@pytest.mark.parametrize(
    ("tool", "given"), [("Glob", {"pattern": "~/notes/*"}), ("Grep", {"pattern": "x", "glob": "~/notes/*"})]
)
async def test_a_pattern_may_begin_at_home(folder: ToolFolder, tool: str, given: dict[str, str]):
    home, cwd = folder.path / "home", folder.path / "work"
    cwd.mkdir()
    folder = ToolFolder(cwd, LocalWorkspace(cwd=cwd, roots=(cwd, home), home=home))
    folder.put(str(home / "notes/a"), "x")
    assert await folder.text(tool, **given) == str(home / "notes/a")
    assert folder.tool(tool).access(given, folder.workspace) == Access(reads=(home / "notes",))
    folder.put("~/notes/b", "x")
    found = await folder.text(tool, **{name: text.replace("~", "./~") for name, text in given.items()})
    assert found == "~/notes/b"


async def test_names_with_odd_characters_are_found(folder: ToolFolder):
    odd = ["-rf.py", "new\nline.py", "a b.py", "漢.py"]
    for name in odd:
        os.utime(folder.put(name, ""), (1, 1))
    (folder.path / os.fsdecode(b"\xff.py")).write_text("")
    found = await folder.text("Glob", pattern="*.py")
    found.encode()
    assert all(name in found for name in [*odd, "\ufffd.py"])


async def test_links_that_lead_in_circles_and_pipes_do_not_stop_it(folder: ToolFolder):
    (folder.path / "loop").symlink_to(folder.path)
    os.mkfifo(folder.path / "pipe.py")
    folder.put("a.py", "")
    assert "a.py" in await folder.text("Glob", pattern="*.py")


async def test_nothing_found_is_no_failure(folder: ToolFolder):
    folder.put("a.py", "")
    assert await folder.text("Glob", pattern="*.zig") == "no file matches"


async def test_a_missing_folder_and_a_bad_pattern_are_failures(folder: ToolFolder):
    assert "does not exist" in await folder.refused("Glob", pattern="*", path="nowhere")
    assert "nowhere" in await folder.refused("Glob", pattern="nowhere/*.py")
    assert "pattern" in await folder.refused("Glob", pattern="{a")


async def test_further_files_are_counted(folder: ToolFolder):
    for i in range(130):
        folder.put(f"{i}.py", "")
    lines = (await folder.text("Glob", pattern="*.py")).split("\n")
    assert len(lines) == 101
    assert "30 more" in lines[-1]


async def test_of_many_the_newest_are_shown_and_equal_ones_by_name(folder: ToolFolder):
    for i in range(130):
        os.utime(folder.put(f"{i:03d}.py", ""), (i % 3, i % 3))
    *shown, _ = (await folder.text("Glob", pattern="*.py")).split("\n")
    by_age = sorted(range(130), key=lambda i: (-(i % 3), i))
    assert shown == [f"{i:03d}.py" for i in by_age[:100]]


NAMES = ["a.ts", "a.tsx", "b.ts", "ab.ts", "ä.ts", "*.ts", "].ts", "a,b.ts", "{a}.ts", "a:b.ts", "!a.ts", "a"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*.ts{x,}",
        "*.{ts,}",
        "?.ts",
        "[!a].ts",
        "[]a]*",
        "\\*.ts",
        "{,a}b.ts",
        "a?b.ts",
        "{a,{b,\\!a}}.ts",
        "a:*",
        "\\{a*",
    ],
)
@pytest.mark.parametrize("tool", ["Glob", "Grep"])
async def test_ripgrep_is_asked_for_no_less_than_what_fits(folder: ToolFolder, tool: str, pattern: str):
    for name in NAMES:
        os.utime(folder.put(f"s/{name}", "x"), (1, 1))
    given = {"pattern": f"s/{pattern}"} if tool == "Glob" else {"pattern": "x", "glob": f"s/{pattern}"}
    parsed = parse_pattern(pattern)
    fitting = sorted(f"s/{name}" for name in NAMES if parsed.matches(name))
    assert fitting
    assert await folder.text(tool, **given) == "\n".join(fitting)


def playing(tmp_path: Path, result: ProcessResult) -> ToolFolder:
    return ToolFolder(tmp_path, FakeWorkspace(tmp_path, play=lambda _argv: result))


async def test_a_timeout_gives_what_was_found_and_says_that_it_is_incomplete(tmp_path: Path):
    folder = playing(tmp_path, played("./a.py\0./b.py\0./cut", exit_code=None, timed_out=True))
    text = await folder.text("Glob", pattern="*")
    assert text.split("\n")[:2] == ["a.py", "b.py"]
    assert "incomplete" in text
    assert "cut" not in text


async def test_a_timeout_without_a_file_does_not_say_that_there_is_none(tmp_path: Path):
    folder = playing(tmp_path, played("", exit_code=None, timed_out=True))
    text = await folder.text("Glob", pattern="*")
    assert "incomplete" in text
    assert "no file matches" not in text


async def test_an_unreadable_folder_is_named_and_the_rest_is_shown(tmp_path: Path):
    stderr = "rg: ./secret: Permission denied (os error 13)\n"
    folder = playing(tmp_path, played("./a.py\0", exit_code=2, stderr=stderr))
    text = await folder.text("Glob", pattern="*")
    assert text.startswith("a.py\n")
    assert "`secret`" in text


@pytest.mark.parametrize(
    "result",
    [
        played("", exit_code=2, stderr="rg: something new went wrong\n"),
        played("", exit_code=-9),
        played("", exit_code=139),
    ],
)
async def test_a_failed_search_is_a_failure(tmp_path: Path, result: ProcessResult):
    await playing(tmp_path, result).refused("Glob", pattern="*")


async def test_a_flood_of_names_is_cut_at_a_whole_name(tmp_path: Path):
    name = "./" + "x" * 96 + "\0"
    result = ProcessResult(
        0, name * 20_000 + "\n[... 9 bytes left out ...]\n", "", 20_000_000, None, False, 0.0
    )
    text = await playing(tmp_path, result).text("Glob", pattern="*")
    assert "incomplete" in text
    assert "left out" not in text


def test_it_reads_the_folder_it_searches(folder: ToolFolder):
    glob = folder.tool("Glob")
    assert glob.is_read_only({"pattern": "*"})
    assert glob.access({"pattern": "src/*.py", "path": "a"}, folder.workspace) == Access(
        reads=(folder.path / "a/src",)
    )
