"""Real processes, really killed: what was acknowledged is there, the lock is free again, and the session goes on."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.journal import writing_process
from tests.journal.sessions_on_disk import reopened
from tests.thoroughness import usually

from ostinato.errors import JournalError
from ostinato.journal.read import Scan, read_session
from ostinato.messages import UserMessage

pytestmark = pytest.mark.process


def start(path: Path, max_file_bytes: int = 0) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, writing_process.__file__, str(path), str(max_file_bytes)],
        stdout=subprocess.PIPE,
        text=True,
    )


def acknowledged(process: "subprocess.Popen[str]", count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def killed(process: "subprocess.Popen[str]") -> list[str]:
    """What it had still acknowledged when it died."""
    process.kill()
    rest, _ = process.communicate()
    return rest.split("\n")[:-1]


def uuids(found: Scan) -> list[str]:
    return [record.uuid for record in found.records if isinstance(record, UserMessage)]


def test_repeated_kills_lose_nothing_that_was_acknowledged(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    random = Random(20)
    promised: list[str] = []
    for _ in range(usually(8, all_of=40)):
        process = start(path)
        promised += acknowledged(process, random.randrange(1, 120))
        promised += killed(process)
        opened = reopened(path)
        opened.writer.close()
        kept = uuids(opened.found)
        assert set(promised) <= set(kept)
        assert opened.found.lost == ()
        assert len(kept) == len(set(kept))
    assert read_session(path).bad_tail is None


def test_a_disk_that_fills_up_keeps_every_acknowledged_record_and_no_half(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    process = start(path, max_file_bytes=300_000)
    out, _ = process.communicate(timeout=30)
    *promised, last = out.split()
    assert last == "refused"
    assert process.returncode == 0
    found = read_session(path)
    assert uuids(found) == promised
    assert found.bad_tail is None


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path):
    path = tmp_path / "s1.jsonl"
    process = start(path)
    acknowledged(process, 1)
    with pytest.raises(JournalError):
        reopened(path)
    killed(process)
    reopened(path).writer.close()
