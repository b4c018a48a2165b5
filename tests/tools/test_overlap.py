"""Which calls of one reply may overlap: every pair of tools, however the second one names the place of the first."""

import os
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.tools.file_changers import CHANGERS
from tests.tools.tool_folder import ToolFolder

from ostinato.loop.access import conflicts
from ostinato.tool import Access

READERS = ("Read", "Grep", "Glob")
WRITERS = tuple(changer.tool for changer in CHANGERS)
COMMANDS = ("Bash, which looks", "Bash, which may do anything")

SAME = {
    "the same name": "a/f.ipynb",
    "a name with dots": "a/./b/../f.ipynb",
    "its whole path": "{folder}/a/f.ipynb",
    "a hard link": "hard/f.ipynb",
    "a link to it": "soft/f.ipynb",
    "a link to its folder": "way/f.ipynb",
    "a link to a link": "way2/f.ipynb",
    "a hard link by a link": "way3/f.ipynb",
}
APART = {
    "a neighbour": "a/g.ipynb",
    "a name that begins alike": "a/f.ipynb2",
    "a folder that begins alike": "ab/f.ipynb",
    "elsewhere": "b/f.ipynb",
    "a link that leads elsewhere": "a/away.ipynb",
}
NEW = {"a new file": "a/new.ipynb", "a new file below a new folder": "a/n/new.ipynb"}


@pytest.fixture
def folder(tmp_path: Path) -> ToolFolder:
    folder = ToolFolder(tmp_path)
    for name in ("a/f.ipynb", "a/g.ipynb", "a/f.ipynb2", "ab/f.ipynb", "b/f.ipynb", "a/b/below"):
        folder.put(name, name)
    for name in ("hard", "soft"):
        (tmp_path / name).mkdir()
    (tmp_path / "hard/f.ipynb").hardlink_to(tmp_path / "a/f.ipynb")
    (tmp_path / "soft/f.ipynb").symlink_to("../a/f.ipynb")
    (tmp_path / "a/away.ipynb").symlink_to("../b/f.ipynb")
    (tmp_path / "way").symlink_to("a")
    (tmp_path / "way2").symlink_to("way")
    (tmp_path / "way3").symlink_to("hard")
    return folder


def access(folder: ToolFolder, tool: str, path: str) -> Access:
    given: dict[str, Any]
    match tool:
        case "Bash, which looks":
            given = {"command": "ls"}
        case "Bash, which may do anything":
            given = {"command": "make"}
        case "Read":
            given = {"file_path": path}
        case "Grep" | "Glob":
            given = {"pattern": "x", "path": path}
        case _:
            given = next(changer for changer in CHANGERS if changer.tool == tool).call(path)
    return folder.tool(tool.partition(",")[0]).access(given, folder.workspace)


def wrong(folder: ToolFolder, places: dict[str, str], *, one_place: bool) -> list[tuple[str, str, str]]:
    """The pairs that are judged otherwise than they should be: the first tool at `a/f.ipynb`, the second at each place."""
    found: list[tuple[str, str, str]] = []
    for first, second in product((*READERS, *WRITERS), repeat=2):
        expected = one_place and not {first, second} <= set(READERS)
        for name, place in places.items():
            there = place.format(folder=folder.path)
            one, two = access(folder, first, "a/f.ipynb"), access(folder, second, there)
            if not conflicts(one, two) is conflicts(two, one) is expected:
                found.append((first, second, name))
    return found


def test_two_calls_at_one_place_overlap_only_if_both_look(folder: ToolFolder):
    assert wrong(folder, SAME, one_place=True) == []


def test_two_calls_at_different_places_overlap(folder: ToolFolder):
    assert wrong(folder, APART | NEW, one_place=False) == []


@pytest.mark.parametrize("search", ["Grep", "Glob"])
@pytest.mark.parametrize("above", [".", "a", "way", "way2", "whole"])
def test_a_search_waits_for_every_change_below_its_folder(folder: ToolFolder, search: str, above: str):
    searched = access(folder, search, str(folder.path) if above == "whole" else above)
    for writer, place in product(WRITERS, ("a/f.ipynb", "way/f.ipynb", "a/b/deep/new.ipynb")):
        assert conflicts(searched, access(folder, writer, place))
    is_all = above in {".", "whole"}
    for writer in WRITERS:
        assert conflicts(searched, access(folder, writer, "b/new.ipynb")) is is_all
    for reader in READERS:
        assert not conflicts(searched, access(folder, reader, "a/f.ipynb"))


@pytest.mark.parametrize("tool", [*READERS, *WRITERS, *COMMANDS])
def test_a_command_that_may_do_anything_overlaps_with_nothing(folder: ToolFolder, tool: str):
    command = access(folder, "Bash, which may do anything", "")
    assert conflicts(command, access(folder, tool, "a/f.ipynb"))
    assert conflicts(access(folder, tool, "a/f.ipynb"), command)


@pytest.mark.parametrize("tool", WRITERS)
def test_a_command_that_looks_waits_for_changes(folder: ToolFolder, tool: str):
    assert conflicts(access(folder, "Bash, which looks", ""), access(folder, tool, "a/f.ipynb"))


@pytest.fixture
def mounted_twice(folder: ToolFolder) -> Iterator[str]:
    (folder.path / "mount").mkdir()
    done = subprocess.run(
        ["mount", "--bind", "a", "mount"], cwd=folder.path, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    yield "mount"
    subprocess.run(["umount", "mount"], cwd=folder.path, check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a mount")
@pytest.mark.process
def test_a_place_that_is_mounted_twice_is_one(folder: ToolFolder, mounted_twice: str):
    for writer, reader in product(WRITERS, (*READERS, *WRITERS)):
        one = access(folder, writer, "a/f.ipynb")
        assert conflicts(one, access(folder, reader, f"{mounted_twice}/f.ipynb"))
        assert not conflicts(one, access(folder, reader, f"{mounted_twice}/g.ipynb"))
