"""Where an open file lies is known whatever it is called and whatever has become of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.real_path import real_path_of_open

NAMES = ("plain", "with blank", "line\nend", "gone (deleted)", "é", "back\\slash", "\udcff", ".jsonl")


@pytest.fixture(params=NAMES, ids=ascii)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A file, by a link to its folder."""
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    path = tmp_path / "way" / request.param
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield descriptor, path
    os.close(descriptor)


def test_it_is_found_by_what_is_open(opened: tuple[int, Path], tmp_path: Path):
    descriptor, path = opened
    (tmp_path / "way").unlink()
    assert real_path_of_open(descriptor, path) == tmp_path / "real" / path.name


@pytest.mark.parametrize("becomes", ["deleted", "renamed", "replaced"])
def test_what_is_no_longer_there_by_that_name_is_where_the_path_leads(
    opened: tuple[int, Path], tmp_path: Path, becomes: str
):
    descriptor, path = opened
    if becomes == "renamed":
        path.rename(path.with_name("aside"))
    else:
        path.unlink()
    if becomes == "replaced":
        path.touch()
    assert real_path_of_open(descriptor, path) == tmp_path / "real" / path.name


def test_a_closed_file_is_where_its_path_leads(tmp_path: Path):
    (tmp_path / "way").symlink_to(tmp_path)
    assert real_path_of_open(-1, tmp_path / "way" / "f") == tmp_path / "f"
