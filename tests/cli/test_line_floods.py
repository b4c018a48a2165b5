"""Line mode against the worst that comes: hostile text cut at every byte, a terminal that takes nothing, one that only prints."""

import os
import random
import signal

import pytest
from tests.cli.command import Desk, prompts_of, wait_for
from tests.cli.line_scene import CTRL_C, CTRL_D, ENTER, UNTIL_GO, conversation, sent, stuck
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.thoroughness import usually

from ostinato.testing import OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process

HOSTILE = (
    *(
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\x1b]52;c;x\x1b\\",
        "\x9b31m",
        "\r",
        "\x08",
        "\x1b",
        "\x1bc",
        "\x1b[6n",
        "\x1b[?1049h",
    ),
    *(
        "中文",
        "e\u0301",
        "👩\u200d👧",
        "\u202e",
        "word ",
        "**",
        "`",
        "\n",
        "\n\n",
        "```sh\n",
        "| a |\n|-|\n",
        "- ",
        "&#27;[",
    ),
)


@pytest.mark.parametrize("seed", range(usually(1, all_of=20)))
def test_hostile_text_that_comes_byte_by_byte_does_nothing(desk: Desk, seed: int):
    """The screen raises for every sequence that is not ours."""
    chance = random.Random(seed)
    text = "".join(chance.choices(HOSTILE, k=60)) + "\n\nat the end"
    bash = call("Bash", "b", command=f"printf '%s' '{text}'")
    turns = [OnWire(Reply(say(text), bash), split_bytes=1), OnWire(Reply(say(text)), split_bytes=1)]
    with conversation(desk, *turns, columns=40, rows=12) as (terminal, _):
        terminal.type("go" + ENTER)
        terminal.sees("allow?")
        terminal.type("y" + ENTER)
        terminal.prompted(1)
        assert terminal.text.count("at the end") >= 2
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert terminal.left_nothing()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_takes_nothing_does_not_keep_it_from_ending(desk: Desk, number: int):
    with conversation(desk, Reply(say("word " * 60_000 + "\n\n" + "- item\n" * 2_000))) as (terminal, server):
        terminal.type("go" + ENTER)
        wait_for(lambda: server.bytes_sent and sum(server.bytes_sent) > 300_000)
        os.kill(terminal.process.pid, number)
        assert terminal.process.wait(20) == 143
        assert terminal.modes == terminal.modes_before


def test_a_terminal_that_only_prints_is_interrupted_and_left_like_any_other(desk: Desk):
    with StrictServer(stuck(), Reply(say("second answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, term="dumb") as terminal:
            terminal.sees(">")
            terminal.type("one\n")
            terminal.until(lambda: len(server.requests) == 1)
            terminal.type(CTRL_C)
            terminal.sees("(interrupted)")
            assert terminal.text.count("one") == 1
            terminal.type("two\n")
            terminal.sees("second answer")
            terminal.sees(" s)", 2)
            terminal.type("half" + CTRL_C)
            terminal.sees("Ctrl-D leaves)")
            terminal.type(CTRL_C)
            assert terminal.ended() == 0
            assert terminal.left_nothing()
        assert prompts_of(server.requests[1].body)[-1] == "two"


def test_on_a_terminal_that_only_prints_type_ahead_answers_nothing_and_is_not_lost(desk: Desk):
    asked = Reply(call("Bash", "t1", command=UNTIL_GO))
    other = Reply(call("Bash", "t2", command="touch x"))
    with StrictServer(asked, other, Reply(say("the end"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, term="dumb") as terminal:
            terminal.sees(">")
            terminal.type("one\n")
            terminal.sees("allow?")
            terminal.type("y\n")
            terminal.until((desk.work / "started").exists)
            terminal.type("y\n" + "y")
            terminal.sees("y\ny")
            (desk.work / "go").touch()
            terminal.sees("allow?", 2)
            terminal.type("n\n")
            terminal.sees("the end")
        assert not (desk.work / "x").exists()
        assert "this message:\\ny\\n" in sent(server, 1)
