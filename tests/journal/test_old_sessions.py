"""Sessions that nobody used for a while are removed, and nothing else is."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.journal.sessions_on_disk import noon

from ostinato.journal.old_sessions import remove_old_sessions
from ostinato.journal.places import project_folder
from ostinato.journal.sessions import resume_session, start_session
from ostinato.journal.unkept import Unkept
from ostinato.journal.write import SessionWriter
from ostinato.messages import user_prompt
from ostinato.records import SessionStarted

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def session(
    root: Path, name: str, *, age_days: float, cwd: Path = Path("/work"), text: str = "hello"
) -> Path:
    writer = start_session(root, cwd, name, now=noon)
    assert isinstance(writer, SessionWriter)
    writer.write(SessionStarted(name, str(cwd), "m", "1"))
    writer.write(user_prompt(f"p-{name}", text))
    writer.close()
    return aged(writer.path, age_days)


def aged(path: Path, age_days: float) -> Path:
    written_s = (NOW - timedelta(days=age_days)).timestamp()
    os.utime(path, (written_s, written_s), follow_symlinks=False)
    return path


def removed(root: Path, days: int = 30) -> set[Path]:
    return set(remove_old_sessions(root, days=days, now=NOW))


def test_only_what_was_not_used_for_longer_is_removed_in_every_project(tmp_path: Path):
    old = session(tmp_path, "old", age_days=30.1)
    other = session(tmp_path, "other", age_days=400, cwd=Path("/elsewhere"))
    young = session(tmp_path, "young", age_days=29.9)
    assert removed(tmp_path) == {old, other}
    assert young.exists()
    assert not old.exists()
    assert not other.exists()


def test_what_lies_beside_a_session_goes_with_it_and_nothing_of_another(tmp_path: Path):
    old = session(tmp_path, "old", age_days=31, text="x" * 100_000)
    keep = session(tmp_path, "old-2", age_days=1, text="x" * 100_000)
    results = old.with_suffix("") / "tool-results"
    results.mkdir()
    (results / "output").write_text("long")
    (old.parent / "old.jsonl.bad-1").write_text("damage")
    notes = old.parent / "memory" / "notes.md"
    notes.parent.mkdir()
    notes.write_text("kept")
    aged(notes, 400)
    assert removed(tmp_path) == {old}
    assert {path.name for path in old.parent.iterdir()} == {keep.name, "old-2", "memory"}
    assert notes.exists()


def test_a_session_that_is_open_stays_however_old_it_is(tmp_path: Path):
    old = session(tmp_path, "old", age_days=400)
    opened = resume_session(old, now=noon)
    assert not isinstance(opened, Unkept)
    aged(old, 400)
    assert removed(tmp_path) == set()
    opened.writer.close()
    aged(old, 400)
    assert removed(tmp_path) == {old}


@pytest.mark.parametrize(
    "content", ["", "{}\n", '{"type":"user","uuid":"u","message":{}}\n' * 30, "\x00" * 5_000_000]
)
def test_what_is_no_session_of_ours_stays(tmp_path: Path, content: str):
    folder = project_folder(tmp_path, Path("/work"))
    folder.mkdir(parents=True)
    theirs = folder / "theirs.jsonl"
    theirs.write_text(content)
    aged(theirs, 400)
    assert removed(tmp_path) == set()
    assert theirs.exists()


def test_links_are_neither_followed_nor_removed(tmp_path: Path):
    far = session(tmp_path / "far", "far", age_days=400)
    folder = project_folder(tmp_path, Path("/work"))
    folder.mkdir(parents=True)
    (folder / "link.jsonl").symlink_to(far)
    (tmp_path / "projects" / "linked").symlink_to(far.parent)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    for name in ("link.jsonl", "pipe.jsonl", "folder.jsonl"):
        aged(folder / name, 400)
    assert removed(tmp_path) == set()
    assert far.exists()


def test_a_folder_beside_a_session_that_is_a_link_stays_whole(tmp_path: Path):
    old = session(tmp_path, "old", age_days=400)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis").write_text("")
    old.with_suffix("").symlink_to(mine)
    assert removed(tmp_path) == {old}
    assert (mine / "thesis").exists()


@pytest.mark.parametrize("days", [1, 10**9, 10**400])
def test_any_number_of_days_can_be_told(tmp_path: Path, days: int):
    young = session(tmp_path, "young", age_days=0.5)
    assert removed(tmp_path, days) == set()
    assert young.exists()


def test_a_home_without_sessions_has_none_to_remove(tmp_path: Path):
    assert removed(tmp_path) == set()
    (tmp_path / "projects").write_text("")
    assert removed(tmp_path) == set()
