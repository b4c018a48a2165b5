"""Two calls conflict when one writes what the other touches, however the place is named."""

import os
from itertools import product
from pathlib import Path

import pytest

from ostinato.loop.access import Touched, conflicts
from ostinato.tool import EXCLUSIVE, NO_ACCESS, READS_ANYTHING, Access


def reads(*paths: Path) -> Access:
    return Access(reads=paths)


def writes(*paths: Path) -> Access:
    return Access(writes=paths)


KINDS = ("read", "write", "read anything", "exclusive", "none")
PLACES = {"file": "a/file", "folder": "a", "sibling": "a/other", "like": "a/file2", "elsewhere": "b/file"}
BELOW_ONE_ANOTHER = {
    frozenset({"file", "folder"}),
    frozenset({"sibling", "folder"}),
    frozenset({"like", "folder"}),
}


def access(kind: str, path: Path) -> Access:
    match kind:
        case "read":
            return reads(path)
        case "write":
            return writes(path)
        case "exclusive":
            return EXCLUSIVE
        case "read anything":
            return READS_ANYTHING
        case _:
            return NO_ACCESS


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "not there yet"])
def test_every_pair_of_accesses_conflicts_as_the_matrix_says(tmp_path: Path, is_there: bool):
    if is_there:
        for name in ("a/file", "a/other", "a/file2", "b/file"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(name)
    wrong: list[tuple[str, ...]] = []
    for (kind, place), (other_kind, other_place) in product(product(KINDS, PLACES), repeat=2):
        overlap = place == other_place or frozenset({place, other_place}) in BELOW_ONE_ANOTHER
        touching = {"read", "write"} >= {kind, other_kind} and overlap and "write" in {kind, other_kind}
        expected = (
            "exclusive" in {kind, other_kind} or {kind, other_kind} == {"read anything", "write"} or touching
        )
        first = access(kind, tmp_path / PLACES[place])
        if conflicts(first, access(other_kind, tmp_path / PLACES[other_place])) is not expected:
            wrong.append((kind, place, other_kind, other_place))
    assert wrong == []


def test_two_names_of_one_file_are_one_place(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("x")
    os.link(one, two)
    assert conflicts(writes(one), writes(two))
    assert conflicts(reads(one), writes(two))
    assert not conflicts(reads(one), reads(two))


def test_a_folder_that_is_reached_another_way_holds_what_is_below_it(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "way").symlink_to(tmp_path / "real")
    assert conflicts(writes(tmp_path / "way"), reads(tmp_path / "real" / "file"))
    assert conflicts(writes(tmp_path / "way" / "new" / "file"), reads(tmp_path / "real"))
    assert conflicts(writes(tmp_path / "way" / "new"), writes(tmp_path / "real" / "new"))
    assert not conflicts(writes(tmp_path / "way" / "new"), writes(tmp_path / "real" / "newer"))


def test_names_that_some_file_system_takes_for_one_wait_for_one_another(tmp_path: Path):
    assert conflicts(writes(tmp_path / "New" / "a"), writes(tmp_path / "new" / "A"))
    assert conflicts(writes(tmp_path / "caf\u00e9"), writes(tmp_path / "cafe\u0301"))


def test_a_path_that_cannot_be_looked_at_is_compared_as_it_is_written():
    odd = Path("/no/such/\0/file")
    assert conflicts(writes(odd), reads(odd))
    assert not conflicts(writes(odd), reads(Path("/no/such/other")))


def test_what_exists_later_is_still_the_same_place(tmp_path: Path):
    first = Touched(writes(tmp_path / "new"))
    assert not first.conflicts_with(Touched(writes(tmp_path / "other")))
    (tmp_path / "new").write_text("x")
    assert first.conflicts_with(Touched(reads(tmp_path / "new")))
