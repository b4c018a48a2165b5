"""Leaving, interrupting and stopping a conversation, from wherever it is: the terminal is as it was, nothing is half done."""

import os
import signal

import pytest
from tests.cli.command import Desk, prompts_of
from tests.cli.line_scene import (
    CTRL_C,
    CTRL_D,
    CTRL_Z,
    ENTER,
    PLACES,
    Place,
    at_the_prompt,
    conversation,
    in_a_query,
    stuck,
    turn_for,
)
from tests.cli.pseudo_terminal import STOPPED, PseudoTerminal

from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process


def test_ctrl_c_ends_the_query_and_keeps_the_conversation(desk: Desk):
    with conversation(desk, stuck(), Reply(say("still here"))) as (terminal, server):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        terminal.type(CTRL_C)
        terminal.sees("interrupted")
        terminal.prompted(1)
        terminal.type("two" + ENTER)
        terminal.sees("still here")
    assert "one" in prompts_of(server.requests[-1].body)
    server.assert_clean()


@pytest.mark.parametrize(
    "typed", [(CTRL_C * 2,), (CTRL_C, CTRL_C)], ids=["in one read", "one after the other"]
)
def test_two_ctrl_c_leave_with_the_partial_answer_and_the_way_back(desk: Desk, typed: tuple[str, ...]):
    with conversation(desk, stuck()) as (terminal, _):
        in_a_query(terminal)
        for keys in typed:
            terminal.type(keys)
            terminal.sees("(interrupted)")
        assert terminal.ended() == 130
        assert terminal.left_nothing()
        assert "a long" in terminal.text.split("(interrupted)")[0]
        assert "go on with `ostinato --resume" in terminal.text


def test_two_ctrl_c_leave_a_terminal_that_only_prints_too(desk: Desk):
    with StrictServer(stuck()) as server:
        desk.url = server.url
        with PseudoTerminal(desk, term="dumb") as terminal:
            terminal.sees(">")
            terminal.type("one\n")
            terminal.until(lambda: len(server.requests) == 1)
            terminal.type(CTRL_C)
            terminal.sees("(interrupted)")
            terminal.type(CTRL_C)
            assert terminal.ended() == 130
            assert "go on with `ostinato --resume" in terminal.text


def test_a_third_ctrl_c_cuts_it_short_and_what_was_streamed_stays_too(desk: Desk):
    with conversation(desk, stuck()) as (terminal, _):
        in_a_query(terminal)
        terminal.type(CTRL_C * 3)
        assert terminal.ended() == 130
        assert terminal.left_nothing()
        assert "a long" in terminal.text.split("(interrupted)")[0]
        assert "go on with `ostinato --resume" in terminal.text


def test_ctrl_c_at_the_empty_prompt_says_how_to_leave_and_twice_leaves(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("half a line")
        terminal.sees("half a line")
        terminal.type(CTRL_C)
        terminal.type(CTRL_C)
        terminal.sees("Ctrl-D leaves)")
        terminal.until(lambda: terminal.is_idle)
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        assert terminal.left_nothing()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("place", PLACES)
def test_a_termination_leaves_at_once_with_the_terminal_as_it_was(desk: Desk, place: Place, number: int):
    with conversation(desk, turn_for(place)) as (terminal, _):
        place(terminal)
        os.kill(terminal.process.pid, number)
        assert terminal.ended() == 143
        assert terminal.left_nothing()


FAILS_WHEN_TOLD = """
import signal

def fail(_number, frame):
    while frame is not None and frame.f_code.co_name != "select":
        frame = frame.f_back
    if frame is not None:
        raise RuntimeError("a fault of the test")
    signal.setitimer(signal.ITIMER_REAL, 0.01)

signal.signal(signal.SIGUSR1, fail)
signal.signal(signal.SIGALRM, fail)
"""
"""Python runs it before the command. It raises where the event loop waits: a task that runs might keep the error to itself."""


@pytest.mark.parametrize("place", PLACES)
def test_a_fault_of_our_own_leaves_the_terminal_as_it_was_and_is_told(desk: Desk, place: Place):
    (desk.root / "sitecustomize.py").write_text(FAILS_WHEN_TOLD)
    modules = os.pathsep.join(filter(None, [str(desk.root), os.environ.get("PYTHONPATH")]))
    with conversation(desk, turn_for(place), PYTHONPATH=modules) as (terminal, _):
        place(terminal)
        os.kill(terminal.process.pid, signal.SIGUSR1)
        assert terminal.ended() == 1
        assert terminal.left_nothing()
        assert "a fault of the test" in terminal.text
    assert not (desk.work / "x").exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_terminal_that_goes_away_ends_it(desk: Desk, place: Place):
    with conversation(desk, turn_for(place)) as (terminal, _):
        place(terminal)
        assert terminal.hang_up() in {0, 1, 143}
    assert not (desk.work / "x").exists()


@pytest.mark.parametrize("place", PLACES)
def test_ctrl_z_stops_with_the_terminal_as_it_was_and_goes_on(desk: Desk, place: Place):
    with conversation(desk, turn_for(place), has_shell=True) as (terminal, _):
        place(terminal)
        for number in (1, 2):
            terminal.type(CTRL_Z)
            terminal.sees(STOPPED, number)
        assert f"{STOPPED}False" not in terminal.text
        if place is not at_the_prompt:
            terminal.type(CTRL_C)
            terminal.sees("interrupted")
        terminal.until(lambda: terminal.is_idle)
        terminal.type("/status" + ENTER)
        terminal.sees("sandbox   none")
        terminal.until(lambda: terminal.is_idle)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert terminal.left_nothing()


def test_ctrl_c_again_and_again_leaves_from_anywhere(desk: Desk):
    deaf = call("Bash", "t1", command="touch started; trap '' INT TERM; while :; do read -t 1 < <(:); done")
    with conversation(
        desk,
        Reply(deaf),
        flags=("--allowed-tools", "Bash"),
    ) as (terminal, _):
        terminal.type("one" + ENTER)
        terminal.until((desk.work / "started").exists)
        terminal.until(lambda: terminal.type(CTRL_C) or terminal.process.poll() is not None)
        assert terminal.ended() in {0, 130}
        assert terminal.left_nothing()


def test_output_formats_for_programs_are_refused(desk: Desk):
    with PseudoTerminal(desk, "--output-format", "json") as terminal:
        assert terminal.ended() == 2
        assert "-p" in terminal.text
