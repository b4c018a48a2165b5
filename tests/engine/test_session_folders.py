"""What a session keeps beside its file lies where the file really is, whatever links lead there."""

from pathlib import Path

import pytest

from ostinato.engine.options import Options
from ostinato.engine.session import new_session, resumed_session, spill_folder
from ostinato.messages import user_prompt


@pytest.fixture
def linked_home(tmp_path: Path) -> Path:
    """A link to where sessions are kept."""
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    return tmp_path / "home"


def test_long_output_is_kept_beside_the_session_without_links_also_when_it_goes_on_elsewhere(
    tmp_path: Path, linked_home: Path
):
    begun = new_session(Options(), linked_home, tmp_path / "project")
    first = spill_folder(begun)
    begun.journal.write(user_prompt("u1", "go"))
    file = begun.journal.path
    begun.journal.close()
    assert first is not None
    assert file is not None
    assert first == (tmp_path / "real" / file.relative_to(linked_home)).with_suffix("") / "tool-results"
    assert not first.exists()
    again = resumed_session(file, model="")
    assert spill_folder(again) == first
    again.journal.close()


@pytest.mark.parametrize("linked", ["", "tool-results"], ids=["the session's folder", "the one in it"])
def test_a_folder_beside_the_session_may_be_a_link_itself(tmp_path: Path, linked: str):
    begun = new_session(Options(), tmp_path / "home", tmp_path / "project")
    assert begun.journal.path is not None
    link, disk = begun.journal.path.with_suffix("") / linked, tmp_path / "disk"
    disk.mkdir()
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(disk)
    folder = spill_folder(begun)
    assert folder == (disk if linked else disk / "tool-results")
    begun.journal.close()


def test_nothing_is_kept_of_a_session_that_is_not(tmp_path: Path):
    assert spill_folder(new_session(Options(keep_session=False), None, tmp_path)) is None
