"""Limits on the command line as a real process: the run ends in time and in order, says so, and the exit code is 1."""

import os
import time

import pytest
from tests.cli.command import Desk

from ostinato.testing import Gate, OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("flags", "subtype"),
    [
        (("--max-tokens-total", "500"), "error_during_execution"),
        (("--max-budget-usd", "0.001"), "error_max_budget_usd"),
    ],
)
def test_a_call_that_could_exceed_the_budget_is_not_made(desk: Desk, flags: tuple[str, ...], subtype: str):
    with StrictServer() as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--output-format", "json", *flags)
        assert list(server.requests) == []
    assert ended.code == 1
    (result,) = ended.messages
    assert (result["subtype"], result["is_error"]) == (subtype, True)
    assert result["terminal_reason"] == "budget_exhausted"
    assert result["errors"]


def test_a_limit_is_said_on_standard_error_with_what_to_do(desk: Desk):
    ended = desk.run("-p", "hi", "--max-tokens-total", "500")
    assert (ended.code, ended.text) == (1, "")
    assert "--max-tokens-total" in ended.err


def test_when_the_time_is_over_the_run_ends_and_its_session_can_go_on(desk: Desk):
    os.mkfifo(desk.work / "never")
    waiting = call("Bash", "t1", command="read line < never")
    with StrictServer(Reply(say("I wait."), waiting), Reply(say("back"))) as server:
        desk.url = server.url
        begun = time.monotonic()
        ended = desk.run("-p", "hi", "--timeout", "2s", "--permission-mode", "bypassPermissions")
        assert time.monotonic() - begun < 15
        assert ended.code == 1
        assert "--timeout" in ended.err
        assert desk.run("-p", "go on", "--continue").text == "back\n"
        server.assert_clean()


def test_a_server_that_does_not_answer_does_not_outlast_the_time(desk: Desk):
    gate = Gate()
    with StrictServer(OnWire(Reply(say("never")), before_head=gate)) as server:
        desk.url = server.url
        ended = desk.run("-p", "hi", "--timeout", "1")
        gate.open()
    assert ended.code == 1


@pytest.mark.parametrize(
    "flags",
    [
        ("--max-budget-usd", "0"),
        ("--max-budget-usd", "nan"),
        ("--max-tokens-total", "0"),
        ("--timeout", "soon"),
        ("--max-budget-usd", "1", "--model", "anthropic/some-model-without-prices"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_a_wrong_call_and_nothing_is_started(
    desk: Desk, flags: tuple[str, ...]
):
    ended = desk.run("-p", "hi", *flags)
    assert (ended.code, ended.text) == (2, "")
    assert ended.err
    assert desk.sessions == []
