"""Nobody's content is lost by a replacement, whatever others do to the file between the last look and the exchange."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato.errors import StaleFile
from ostinato.sandbox.advisory_lock import locked_folder
from ostinato.sandbox.draft import Draft, put_over_checked
from ostinato.sandbox.exchange import exchange
from ostinato.sandbox.files import replace_regular_file
from ostinato.sandbox.forgotten_drafts import remove_forgotten_drafts
from ostinato.sandbox.opened_folder import opened_folder
from ostinato.sandbox.regular_file import Expected, Place, content_hash, write_all

READ = b"what was read"
OURS = b"ours"

Act = Callable[[Path], None]


def replaced_in_place(path: Path) -> None:
    path.write_bytes(b"theirs, wrote")


def replaced_by_rename(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"theirs, moved")
    other.replace(path)


def replaced_with_its_times(path: Path) -> None:
    facts = path.stat()
    path.write_bytes(b"theirs, timed")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def removed(path: Path) -> None:
    path.unlink()


def nothing(_path: Path) -> None:
    """Nobody else is there."""


class Interference:
    """Exchanges names, and lets somebody else act right before and right after the first time."""

    def __init__(self, path: Path, before: Act, after: Act = nothing, *, can: bool = True) -> None:
        self._path, self._before, self._after, self._can = path, before, after, can
        self._count = 0

    def __call__(self, folder: int, one: str, other: str) -> bool:
        self._count += 1
        if self._count == 1:
            self._before(self._path)
        done = self._can and exchange(folder, one, other)
        if self._count == 1:
            self._after(self._path)
        return done


def replace(path: Path, swap: Interference) -> None:
    with opened_folder(path.parent) as folder:
        place = Place(path, folder)
        theirs = place.open(os.O_RDONLY)
        draft = Draft(place, 0o600)
        try:
            write_all(draft.descriptor, OURS)
            put_over_checked(place, draft, theirs, Expected(content_hash(READ)), swap=swap)
        finally:
            draft.close()
            os.close(theirs)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path.resolve() / "f"
    found.write_bytes(READ)
    return found


@pytest.mark.parametrize("act", [replaced_in_place, replaced_by_rename, replaced_with_its_times])
def test_what_somebody_wrote_at_the_last_moment_stays(path: Path, act: Act):
    act(path)
    theirs = path.read_bytes()
    path.write_bytes(READ)
    with pytest.raises(StaleFile):
        replace(path, Interference(path, act))
    assert path.read_bytes() == theirs
    assert os.listdir(path.parent) == ["f"]


def test_what_a_third_one_wrote_over_ours_stays(path: Path):
    with pytest.raises(StaleFile):
        replace(path, Interference(path, replaced_in_place, replaced_by_rename))
    assert path.read_bytes() == b"theirs, moved"
    assert os.listdir(path.parent) == ["f"]


def test_a_file_removed_at_the_last_moment_is_not_made_again(path: Path):
    with pytest.raises(FileNotFoundError):
        replace(path, Interference(path, removed))
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("can", [True, False])
def test_a_file_that_nobody_touched_is_replaced(path: Path, *, can: bool):
    replace(path, Interference(path, nothing, can=can))
    assert path.read_bytes() == OURS
    assert os.listdir(path.parent) == ["f"]


def test_a_file_that_was_only_touched_is_replaced(path: Path):
    replace(path, Interference(path, lambda there: os.utime(there, (1, 1))))
    assert path.read_bytes() == OURS


def left_behind(folder: Path, name: str = f".ostinato-{'a' * 32}.tmp") -> Path:
    found = folder / name
    found.write_bytes(b"half")
    return found


@pytest.mark.parametrize("target", ["f", "new"])
def test_a_draft_that_nobody_holds_goes_with_the_next_replacement(path: Path, target: str):
    left_behind(path.parent)
    replace_regular_file(path.with_name(target), OURS)
    assert sorted(os.listdir(path.parent)) == sorted({"f", target})


def test_a_draft_that_somebody_works_on_stays(path: Path):
    with opened_folder(path.parent) as folder:
        draft = Draft(Place(path, folder), 0o600)
        draft.take_own_name()
        try:
            replace_regular_file(path, OURS)
            assert draft.is_under_own_name()
        finally:
            draft.close()
    assert os.listdir(path.parent) == ["f"]


def test_what_lies_under_such_a_name_while_names_are_exchanged_stays(path: Path):
    left = left_behind(path.parent)
    with opened_folder(path.parent) as folder, locked_folder(folder):
        remove_forgotten_drafts(folder)
        assert left.exists()
        # Another descriptor of the folder: another holder of the lock, as another process is.
    with opened_folder(path.parent) as folder:
        remove_forgotten_drafts(folder)
    assert not left.exists()


@pytest.mark.parametrize(
    "name", [".ostinato-a.tmp", f"x.ostinato-{'a' * 32}.tmp", f".ostinato-{'a' * 32}.tmp2"]
)
def test_what_is_only_called_alike_stays(path: Path, name: str):
    left = left_behind(path.parent, name)
    replace_regular_file(path, OURS)
    assert left.read_bytes() == b"half"


def test_a_folder_and_a_pipe_of_such_a_name_hold_nothing_up(path: Path):
    (path.parent / f".ostinato-{'a' * 32}.tmp").mkdir()
    os.mkfifo(path.parent / f".ostinato-{'b' * 32}.tmp")
    replace_regular_file(path, OURS)
    assert path.read_bytes() == OURS
