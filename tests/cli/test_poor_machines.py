"""A machine that lacks what others have: `-p` does its work all the same."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.cli.command import COMMAND, TIMEOUT_S, Desk, Ended

from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process

STRANGER = 54_321
SMALL_DISK = ("unshare", "--mount", "--propagation", "private", "sh", "-c")
FILLS = 'mount -t tmpfs -o size=64k none "$TMPDIR" && head -c "$TAKEN" /dev/zero > "$TMPDIR/full"; exec "$@"'
ANOTHER_USER = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")


def _works(*command: str) -> bool:
    """Whether this user may do that here."""
    if sys.platform != "linux" or shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False, timeout=TIMEOUT_S).returncode == 0


@pytest.fixture
def open_desk() -> Iterator[Desk]:
    """A desk that another user may enter and own."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield Desk(root)
    shutil.rmtree(root)


def ran(desk: Desk, before: Sequence[str], *arguments: str, **environment: str) -> Ended:
    done = subprocess.run(
        [*before, COMMAND, *arguments],
        cwd=desk.work,
        env=desk.environment(**environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def results(server: StrictServer) -> list[str]:
    """What the calls of the last request were answered with."""
    messages = server.requests[-1].body["messages"]
    return [str(part) for part in messages[-1]["content"] if part.get("type") == "tool_result"]


@pytest.mark.parametrize("taken_bytes", [60 << 10, 64 << 10], ids=["room for a page", "no room"])
def test_a_full_folder_for_temporary_files_holds_nothing_up(desk: Desk, taken_bytes: int):
    folder = desk.root / "temporary"
    folder.mkdir()
    if not _works(*SMALL_DISK, 'mount -t tmpfs -o size=64k none "$0"', str(folder)):
        pytest.skip("only a superuser may mount a file system")
    calls = [
        call("Bash", "short", command="echo hi; seq 1 9000 > $TMPDIR/new; rm $TMPDIR/new"),
        call("Bash", "long", command="seq 1 100000"),
        call("Write", "write", file_path="new.txt", content="kept"),
    ]
    with StrictServer(Reply(*calls), Reply(say("done"))) as server:
        desk.url = server.url
        flags = ("-p", "hi", "--permission-mode=bypassPermissions")
        ended = ran(desk, [*SMALL_DISK, FILLS, "sh"], *flags, TMPDIR=str(folder), TAKEN=str(taken_bytes))
        short, long, _written = results(server)
    assert (ended.code, ended.text, ended.err) == (0, "done\n", "")
    assert "hi" in short
    assert "No space left" in short  # the folder was full indeed
    assert "100000" in long
    assert (desk.work / "new.txt").read_text() == "kept"
    assert len(desk.sessions) == 1


def test_a_user_that_the_system_knows_no_name_of_is_a_user_like_any_other(open_desk: Desk):
    if os.geteuid() != 0 or not _works(*ANOTHER_USER, COMMAND, "--version"):
        pytest.skip(
            "only a superuser may become a user without a name, who must be able to start the command"
        )
    for folder in (open_desk.home, open_desk.work):
        os.chown(folder, STRANGER, STRANGER)
    asked = call("Bash", "t1", command="id -u; whoami")
    with StrictServer(Reply(asked), Reply(say("done"))) as server:
        open_desk.url = server.url
        ended = ran(open_desk, ANOTHER_USER, "-p", "hi", "--permission-mode=bypassPermissions")
        (result,) = results(server)
    assert (ended.code, ended.text, ended.err) == (0, "done\n", "")
    assert str(STRANGER) in result
    assert "cannot find name" in result  # it has none indeed
    (session,) = open_desk.sessions
    assert session.stat().st_uid == STRANGER
