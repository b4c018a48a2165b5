"""Kill the command anywhere, go on with the session: the history is legal, the open call is answered, nothing runs twice."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Desk, Ended, finish, wait_for

from ostinato.testing import Gate, OnWire, Reply, StrictServer, Turn, call, say

pytestmark = pytest.mark.process

RUN = "echo ran >> ledger; read line < never"
ALLOWED = ("--permission-mode", "bypassPermissions")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    os.mkfifo(made.work / "never")  # the command waits at it
    yield made
    with contextlib.suppress(OSError):  # nobody waits any more
        os.close(os.open(made.work / "never", os.O_WRONLY | os.O_NONBLOCK))


def killed_when(desk: Desk, *turns: Turn | OnWire, condition: Any) -> None:
    """Start the command, wait for the condition, and kill it without a word."""
    with StrictServer(*turns) as server:
        desk.url = server.url
        process = desk.start("-p", "do it", *ALLOWED)
        wait_for(condition)
        process.send_signal(signal.SIGKILL)
        finish(process)


def resumed(desk: Desk, *turns: Turn) -> tuple[Ended, dict[str, Any]]:
    """Go on with the session; the strict server refuses an illegal history."""
    with StrictServer(*turns) as server:
        desk.url = server.url
        ended = desk.run("-p", "go on", "--continue", *ALLOWED)
        assert list(server.refused) == []
        return ended, dict(server.requests[0].body)


def results(body: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [block for message in body["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


def test_killed_while_a_command_runs_the_call_has_an_unknown_outcome_and_is_not_run_again(desk: Desk):
    ledger = desk.work / "ledger"
    killed_when(desk, Reply(call("Bash", "toolu_1", command=RUN)), condition=ledger.exists)
    ended, body = resumed(desk, Reply(say("I look what happened.")))
    assert ended.code == 0
    assert ledger.read_text() == "ran\n"
    (answer,) = results(body)
    assert (answer["tool_use_id"], answer["is_error"]) == ("toolu_1", True)


def test_killed_between_two_results_the_finished_one_is_kept(desk: Desk):
    ledger = desk.work / "ledger"
    (desk.work / "a.txt").write_text("alpha\n")
    blocks = (call("Read", "toolu_1", file_path="a.txt"), call("Bash", "toolu_2", command=RUN))
    killed_when(desk, Reply(*blocks), condition=ledger.exists)
    _, body = resumed(desk, Reply(say("ok")))
    read, ran = results(body)
    assert "alpha" in str(read["content"])
    assert not read.get("is_error")
    assert ran["is_error"]


def test_killed_before_the_first_byte_the_prompt_is_there(desk: Desk):
    gate = Gate()
    killed_when(desk, OnWire(Reply(say("never")), before_head=gate), condition=lambda: gate.is_reached)
    _, body = resumed(desk, Reply(say("ok")))
    assert "do it" in str(body["messages"])


def test_killed_in_the_middle_of_a_text_the_conversation_goes_on(desk: Desk):
    gate = Gate()

    def is_kept() -> bool:
        return any("one block" in path.read_text() for path in desk.sessions)

    killed_when(
        desk,
        Reply(say("one block"), say("another block"), holds={8: gate}),
        condition=is_kept,
    )
    ended, body = resumed(desk, Reply(say("ok")))
    assert ended.code == 0
    assert "one block" in str(body["messages"])


def test_killed_in_the_middle_of_an_edit_the_model_is_told_whether_it_was_made(desk: Desk):
    """The file says it: the record before the change holds what it was and what it was to become."""
    target = desk.work / "a.txt"
    target.write_text("one\n")
    turns = (
        Reply(call("Read", "toolu_1", file_path="a.txt")),
        Reply(call("Edit", "toolu_2", file_path="a.txt", old_string="one", new_string="two")),
    )
    killed_when(desk, *turns, condition=lambda: target.read_text() == "two\n")
    _, body = resumed(desk, Reply(say("ok")))
    answer = next(block for block in results(body) if block["tool_use_id"] == "toolu_2")
    text = str(answer["content"])
    assert "was made" in text or "edited" in text
    assert target.read_text() == "two\n"
