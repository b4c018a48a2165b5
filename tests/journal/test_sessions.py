"""Sessions lie where their readers look, are found by what a person knows of them, and a missing home stops nobody."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.journal.sessions_on_disk import FORGED, RENAMED, append, noon

from ostinato.errors import JournalError, UsageError
from ostinato.journal.opening import OpenedSession, reopen_session
from ostinato.journal.places import data_root, project_key, session_file
from ostinato.journal.read import read_session
from ostinato.journal.sessions import (
    copy_session,
    find_session,
    list_sessions,
    newest_session,
    resume_session,
    start_session,
)
from ostinato.journal.unkept import Unkept
from ostinato.journal.write import SessionWriter
from ostinato.messages import ToolResult, meta_prompt, tool_result_message, user_prompt
from ostinato.ports import Journal
from ostinato.records import QueueArrived, QueueTaken, SessionStarted

ONE, TWO = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "11112222-bbbb-4bbb-8bbb-bbbbbbbbbbbb"


def kept(root: Path, cwd: Path, session_id: str, prompt: str, modified_s: int = 0) -> Path:
    writer = start_session(root, cwd, session_id, now=noon)
    assert isinstance(writer, SessionWriter)
    writer.write(SessionStarted(session_id, str(cwd), "m", "1"))
    writer.write(user_prompt(f"p-{session_id}", prompt))
    writer.close()
    os.utime(writer.path, (modified_s, modified_s))
    return writer.path


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"HOME": "/home/me"}, "/home/me/.ostinato"),
        ({"HOME": "/home/me", "OSTINATO_HOME": "/data"}, "/data"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c"}, "/home/me/.ostinato"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_AGENT_SDK_VERSION": "0.2"}, "/c"),
        ({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_ENTRYPOINT": "sdk-ts"}, "/c"),
        (
            {"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_ENTRYPOINT": "cli"},
            "/home/me/.ostinato",
        ),
        (
            {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_AGENT_SDK_VERSION": "0.2", "CLAUDECODE": "1"},
            "/h/.ostinato",
        ),
        (
            {"OSTINATO_HOME": "/data", "CLAUDE_CONFIG_DIR": "/c", "CLAUDE_AGENT_SDK_VERSION": "0.2"},
            "/data",
        ),
    ],
)
def test_the_data_root_follows_the_environment(environment: dict[str, str], root: str, tmp_path: Path):
    home = environment.get("HOME", "")
    if home and root.startswith(home):  # only a home that exists counts
        environment, root = {**environment, "HOME": str(tmp_path)}, root.replace(home, str(tmp_path))
    assert data_root(environment) == Path(root)


@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "not/absolute"}, {"HOME": "/missing"}])
def test_without_a_home_there_is_no_root(environment: dict[str, str]):
    assert data_root(environment) is None


def test_the_key_of_a_folder_is_the_one_that_transcript_readers_compute():
    # the expected keys were made by the session functions of claude-agent-sdk 0.2.189
    assert project_key(Path("/no/such.dir/x_y z")) == "-no-such-dir-x-y-z"
    assert project_key(Path("/no/ä\U0001f600")) == "-no---"
    long = Path(("/" + "a-long/folder é/" * 20)[:-1])
    assert project_key(long).endswith("-a-long--7fan9w")
    assert len(project_key(long)) == 207


def test_the_key_follows_links(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert project_key(tmp_path / "link") == project_key(tmp_path / "real")


# ------------------------------------------------------------------------------------------------ finding


def test_sessions_are_listed_newest_first_by_folder_or_all(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    kept(tmp_path, here, ONE, "older", 1_000)
    kept(tmp_path, there, "third", "elsewhere", 1_500)
    kept(tmp_path, here, TWO, "newer", 2_000)
    assert [s.session_id for s in list_sessions(tmp_path, here)] == [TWO, ONE]
    assert [s.prompt for s in list_sessions(tmp_path)] == ["newer", "elsewhere", "older"]
    assert newest_session(tmp_path, here) == session_file(tmp_path, here, TWO)


def test_a_session_that_nobody_asked_anything_is_not_listed(tmp_path: Path):
    writer = start_session(tmp_path, tmp_path, "empty", now=noon)
    assert isinstance(writer, SessionWriter)
    writer.write(SessionStarted("empty", "/", "m", "1"))
    writer.write(meta_prompt("m1", "not the user's", origin="recovery"))
    writer.close()
    assert list_sessions(tmp_path) == ()
    with pytest.raises(UsageError):
        newest_session(tmp_path, tmp_path)


def test_a_session_that_holds_only_what_waits_is_listed_until_that_is_sent_or_dropped(tmp_path: Path):
    writer = start_session(tmp_path, tmp_path, "waiting", now=noon)
    assert isinstance(writer, SessionWriter)
    writer.write(SessionStarted("waiting", "/", "m", "1"))
    writer.write(QueueArrived("q1", "half a\nthought"))
    assert [one.prompt for one in list_sessions(tmp_path)] == ["half a thought"]
    writer.write(QueueTaken(("q1",), "taken_back"))
    assert list_sessions(tmp_path) == ()
    writer.write(user_prompt("u1", "go"))
    writer.write(QueueArrived("q2", "later"))
    assert [one.prompt for one in list_sessions(tmp_path)] == ["go"]
    writer.close()


def test_a_listing_shows_the_title_and_survives_damage(tmp_path: Path):
    path = kept(tmp_path, tmp_path, ONE, "a\nquestion " + "x" * 500)
    append(path, RENAMED)
    append(path, b"\xff torn")
    (path.parent / "broken.jsonl").write_bytes(b"\0\0\0")
    (path.parent / "folder.jsonl").mkdir()
    (summary,) = list_sessions(tmp_path)
    assert summary.title == "their title"
    assert summary.prompt.startswith("a question xxx")
    assert len(summary.prompt) == 200


def test_what_is_no_regular_file_keeps_nobody_waiting(tmp_path: Path):
    path = kept(tmp_path, tmp_path, ONE, "hello")
    os.mkfifo(path.with_name(f"{TWO}.jsonl"))
    path.with_name("folder.jsonl").mkdir()
    path.with_name("link.jsonl").symlink_to("nowhere")
    assert [summary.session_id for summary in list_sessions(tmp_path)] == [ONE]
    assert find_session(tmp_path, "1111", tmp_path) == path
    with pytest.raises(UsageError):
        find_session(tmp_path, TWO)


def test_a_transcript_of_another_program_is_neither_listed_nor_continued(tmp_path: Path):
    folder = session_file(tmp_path, tmp_path, ONE).parent
    folder.mkdir(parents=True)
    (folder / f"{ONE}.jsonl").write_bytes(FORGED + RENAMED)
    assert list_sessions(tmp_path) == ()
    with pytest.raises(UsageError):
        newest_session(tmp_path, tmp_path)
    with pytest.raises(JournalError):
        resume_session(find_session(tmp_path, ONE), now=noon)


def test_a_session_is_found_by_id_by_a_unique_beginning_or_by_title(tmp_path: Path):
    one, two = kept(tmp_path, tmp_path, ONE, "x"), kept(tmp_path, tmp_path, TWO, "y")
    append(two, RENAMED)
    assert find_session(tmp_path, ONE) == one
    assert find_session(tmp_path, "11111") == one
    assert find_session(tmp_path, "their title") == two
    for name in ("1111", "none", ""):
        with pytest.raises(UsageError) as raised:
            find_session(tmp_path, name)
        told = f"{raised.value.message} {raised.value.hint}"
        assert [one for one in (ONE, "(x)", TWO, "(their title)") if one not in told] == []


def test_the_folders_own_sessions_come_first(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    mine = kept(tmp_path, here, ONE, "x")
    other = kept(tmp_path, there, TWO, "y")
    assert find_session(tmp_path, "1111", here) == mine
    assert find_session(tmp_path, TWO, here) == other


@pytest.mark.parametrize("session_id", ["", "../../etc/x", "a/b", "a b", ".hidden", "-flag"])
def test_an_id_that_is_a_path_is_refused(tmp_path: Path, session_id: str):
    with pytest.raises(UsageError):
        start_session(tmp_path, tmp_path, session_id, now=noon)


# ------------------------------------------------------------------------------------------------ forks


def test_a_fork_holds_everything_and_leaves_its_source_alone(tmp_path: Path):
    source = kept(tmp_path, tmp_path, ONE, "x")
    opened = reopen_session(source, now=noon)
    opened.writer.write(tool_result_message("big", ToolResult("t", "y" * 100_000)))
    before = source.read_bytes()
    fork = copy_session(source, tmp_path, tmp_path, TWO, now=noon)  # though the source is in use
    assert isinstance(fork, SessionWriter)
    fork.write(user_prompt("p2", "only here"))
    fork.close()
    opened.writer.close()
    assert source.read_bytes() == before
    assert read_session(fork.path).records == (*read_session(source).records, user_prompt("p2", "only here"))


# ------------------------------------------------------------------------------------------------ no home


async def test_a_home_that_cannot_be_used_means_a_session_that_is_not_kept(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    for root in (None, tmp_path / "file", Path("/proc/nowhere"), Path("/dev/null/x")):
        found = start_session(root, tmp_path, ONE, now=noon)
        assert isinstance(found, Unkept)
        assert found.reason
        found.journal.write(user_prompt("p", "x"))
        await found.journal.sync()
        found.journal.close()
        assert list_sessions(root) == ()


@contextmanager
def read_only(path: Path, root: Path) -> Generator[None]:
    """The file and its folders up to the root cannot be written; root itself becomes nobody for a while."""
    user, folders = os.geteuid(), [folder for folder in path.parents if folder.is_relative_to(root)]
    path.chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        for folder in folders:
            folder.chmod(0o755)


def test_a_home_that_may_only_be_read_still_resumes_what_it_holds():
    with TemporaryDirectory() as name:
        root = Path(name)
        path = kept(root, root, ONE, "x")
        with read_only(path, root):
            resumed = resume_session(path, now=noon)
            started = start_session(root, root, TWO, now=noon)
    assert isinstance(resumed, Unkept)
    assert user_prompt(f"p-{ONE}", "x") in resumed.found.records
    assert isinstance(started, Unkept)


def test_a_resumed_session_goes_on_in_its_file(tmp_path: Path):
    path = kept(tmp_path, tmp_path, ONE, "x")
    resumed = resume_session(path, now=noon)
    assert isinstance(resumed, OpenedSession)
    resumed.writer.write(user_prompt("p2", "y"))
    resumed.writer.close()
    assert read_session(path).records[-1] == user_prompt("p2", "y")


def test_an_id_can_be_used_again_if_its_process_died_before_the_first_record(tmp_path: Path):
    path = session_file(tmp_path, tmp_path, ONE)
    path.parent.mkdir(parents=True)
    path.touch()
    kept(tmp_path, tmp_path, ONE, "x")
    assert len(read_session(path).records) == 2


def test_every_outcome_of_starting_is_a_journal(tmp_path: Path):
    started, unkept = (
        start_session(tmp_path, tmp_path, ONE, now=noon),
        start_session(None, tmp_path, TWO, now=noon),
    )
    assert isinstance(started, SessionWriter)
    assert isinstance(unkept, Unkept)
    journals: list[Journal] = [started, unkept.journal]
    for journal in journals:
        journal.write(user_prompt("p", "x"))
    started.close()


def test_an_id_that_is_taken_is_an_error_not_an_unkept_session(tmp_path: Path):
    kept(tmp_path, tmp_path, ONE, "x")
    with pytest.raises(JournalError):
        start_session(tmp_path, tmp_path, ONE, now=noon)
