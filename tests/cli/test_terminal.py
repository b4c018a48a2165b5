"""The command on a terminal of its own: nothing but our own sequences reaches it."""

import os
import pty
import subprocess

import pytest
from tests.cli.command import COMMAND, TIMEOUT_S, Desk

from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07b\x9b31mc\x1b[2J\x1b]0;never ends"
OWN = ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m")


def on_terminal(desk: Desk, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run with all three streams on one pseudo terminal; the exit code and everything that came out."""
    own_side, its_side = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *arguments],
        cwd=desk.work,
        env=desk.environment(TERM="xterm-256color", **environment),
        stdin=its_side,
        stdout=its_side,
        stderr=its_side,
        start_new_session=True,
    )
    os.close(its_side)
    parts: list[bytes] = []
    while part := _read(own_side):
        parts.append(part)
    os.close(own_side)
    return process.wait(TIMEOUT_S), b"".join(parts).decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""


def without_our_own(screen: str) -> str:
    for sequence in OWN:
        screen = screen.replace(sequence, "")
    return screen


@pytest.mark.parametrize("flags", [(), ("--verbose",)], ids=["plain", "live"])
def test_hostile_text_from_model_and_tools_does_nothing(desk: Desk, flags: tuple[str, ...]):
    bash = call("Bash", "b", command=f"printf '%s' '{HOSTILE}'")
    write = call("Write", "w", file_path="x.txt", content=HOSTILE)
    with StrictServer(Reply(say(HOSTILE), bash, write), Reply(say(f"{HOSTILE}\nend"))) as server:
        desk.url = server.url
        code, screen = on_terminal(desk, "-p", "hi", "--allowed-tools", "Bash,Write", *flags)
    assert code == 0
    rest = without_our_own(screen)
    assert not [one for one in rest if (one < " " and one not in "\n\t") or "\x7f" <= one <= "\x9f"]
    assert "abc" in rest
    assert "end" in rest


def test_live_shows_the_diff_in_colour_unless_it_must_not(desk: Desk):
    write = call("Write", "w", file_path="x.txt", content="new line\n")
    turns = [Reply(write), Reply(say("done"))]
    with StrictServer(*turns, *turns) as server:
        desk.url = server.url
        _, coloured = on_terminal(desk, "-p", "hi", "--allowed-tools", "Write", "--verbose")
        (desk.work / "x.txt").unlink()
        _, plain = on_terminal(desk, "-p", "hi", "--allowed-tools", "Write", "--verbose", NO_COLOR="1")
    assert "\x1b[32m+new line\x1b[0m" in coloured
    assert "+new line" in plain
    assert "\x1b" not in plain


def test_a_terminal_is_not_read_for_more_prompt(desk: Desk):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        assert on_terminal(desk, "-p", "hi") == (0, "hello\n")
