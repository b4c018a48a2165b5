"""Standard streams and signals of the real command: what never closes, what closes early, and who says stop."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import Desk, finish, prompts_of, wait_for

from ostinato.testing import OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process

MEBIBYTES_5 = b"line of a long text\n" * 262_144


# ------------------------------------------------------------------------------------------------ standard input


def test_a_pipe_that_never_closes_does_not_hold_up_a_prompt(desk: Desk):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        started_s = time.monotonic()
        process = desk.start("-p", "hi", stdin=subprocess.PIPE)
        assert process.stdout is not None
        out = process.stdout.read()  # ends with the process; its input is still open
        took_s = time.monotonic() - started_s
        ended = finish(process)
    assert (ended.code, out) == (0, b"hello\n")
    assert took_s < 10
    assert "standard input" in ended.err


def test_five_megabytes_arrive_whole(desk: Desk):
    with StrictServer(Reply(say("long")), Reply(say("long"))) as server:
        desk.url = server.url
        model = ("--model", "claude-sonnet-5-5")
        with_prompt = desk.run("-p", "count", *model, stdin=MEBIBYTES_5)
        alone = desk.run("-p", *model, stdin=MEBIBYTES_5)
        bodies = [request.body for request in server.requests]
    piped = MEBIBYTES_5.decode().rstrip("\n")
    assert [prompts_of(body)[-1] for body in bodies] == [f"count\n\n{piped}", piped]
    assert (with_prompt.err.startswith("error"), alone.err.startswith("error")) == (
        True,
        True,
    )  # over the window


@pytest.mark.parametrize(
    "script",
    [
        "$CMD -p hi </dev/null",
        "$CMD -p hi <&-",
        "printf '' | $CMD -p hi",
        "echo hi | $CMD -p",
        "echo hi | $CMD",
    ],
)
def test_every_kind_of_standard_input_ends(desk: Desk, script: str):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        ended = desk.shell(script)
        assert prompts_of(server.requests[0].body)[-1] == "hi"
    assert (ended.code, ended.text, ended.err) == (0, "hello\n", "")


def test_bytes_that_are_no_text_are_replaced(desk: Desk):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        assert desk.run("-p", stdin=b"a\xffb").code == 0
        assert prompts_of(server.requests[0].body)[-1] == "a\ufffdb"


# ------------------------------------------------------------------------------------------------ standard output


def test_a_reader_that_leaves_ends_the_run_quietly(desk: Desk):
    child = call("Bash", "t1", command="echo $$ > pid; exec sleep 1000")
    with StrictServer(Reply(say("one"), child), Reply(say("two"))) as server:
        desk.url = server.url
        ended = desk.shell(
            "$CMD -p hi --allowed-tools Bash --output-format stream-json --include-partial-messages | head -1",
            timeout_s=20,
        )
    assert ended.err == ""
    assert len(ended.out.splitlines()) == 1
    assert not running_in(desk)
    assert len(desk.sessions) == 1


def test_a_reader_that_leaves_while_a_tool_runs_ends_the_tool(desk: Desk):
    child = call("Bash", "t1", command="echo $$ > pid; exec sleep 1000")
    with StrictServer(Reply(child), Reply(say("again"))) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--allowed-tools", "Bash", "--output-format", "stream-json")
        wait_for(lambda: len(read_pids(desk)) == 1)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(10) == 1
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
        wait_for(lambda: not running_in(desk), 3)
        assert desk.run("-p", "go on", "--continue").text == "again\n"
        server.assert_clean()


@pytest.mark.parametrize("streams", [">&-", ">&- <&-", ">&- 2>&- <&-", ">&- 2>&-"])
def test_an_answer_is_not_lost_without_a_word(desk: Desk, streams: str):
    with StrictServer() as server:
        desk.url = server.url
        ended = desk.shell(f"$CMD -p hi {streams}")
        assert server.requests == []
    assert (ended.code, "closed" in ended.err) == (1, "2>&-" not in streams)


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "doctor",
        "models",
        "config show",
        "config schema",
        "config --help",
        "trust list",
    ],
)
def test_a_reader_that_leaves_a_listing_hears_nothing_more(desk: Desk, command: str):
    alone = desk.run(*command.split()).code
    ended = desk.shell(f"set -o pipefail; $CMD {command} | true")
    assert (ended.code, ended.err) == (alone, "")


@pytest.mark.parametrize(
    "script", ["$CMD --version >&-", "$CMD --help >&-", "$CMD -p hi >/dev/null 2>&- <&-"]
)
def test_closed_standard_streams_are_no_crash(desk: Desk, script: str):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        ended = desk.shell(script)
    assert (ended.code, ended.err) == (0, "")
    assert all(path.read_bytes()[:6] != b"hello\n" for path in desk.sessions)


def test_a_full_disk_is_explained(desk: Desk):
    with StrictServer(Reply(say("hello"))) as server:
        desk.url = server.url
        ended = desk.shell("$CMD -p hi > /dev/full")
    assert ended.code == 1
    assert ended.err.startswith("error: the output cannot be written")


# ------------------------------------------------------------------------------------------------ signals


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_signal_while_the_model_speaks_ends_in_good_order(desk: Desk, number: signal.Signals, code: int):
    with StrictServer(
        OnWire(Reply(say("a long story")), stall_after_events=3), Reply(say("again"))
    ) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--output-format", "json")
        wait_for(lambda: sum(server.bytes_sent) > 0)
        os.kill(process.pid, number)
        ended = finish(process)
        assert ended.code == code
        assert "Traceback" not in ended.err
        assert ended.messages[0]["terminal_reason"] == "aborted_streaming"
        assert desk.run("-p", "go on", "--continue").text == "again\n"
        server.assert_clean()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_a_tool_runs_kills_it_and_leaves_a_valid_session(
    desk: Desk, number: signal.Signals, code: int
):
    child = call("Bash", "t1", command="sleep 1000 & echo $! > pid; echo $$ >> pid; wait")
    with StrictServer(Reply(say("I work."), child), Reply(say("again"))) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--allowed-tools", "Bash")
        wait_for(lambda: len(read_pids(desk)) == 2)
        assert len(running_in(desk)) >= 3  # the program itself, the shell and its child
        os.kill(process.pid, number)
        ended = finish(process, 10)
        assert ended.code == code
        assert "Traceback" not in ended.err
        wait_for(lambda: not running_in(desk), 3)
        assert desk.run("-p", "go on", "--continue").text == "again\n"
        server.assert_clean()


def test_a_terminated_stream_has_no_result(desk: Desk):
    with StrictServer(OnWire(Reply(say("a long story")), stall_after_events=3)) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--output-format", "stream-json")
        wait_for(lambda: sum(server.bytes_sent) > 0)
        os.kill(process.pid, signal.SIGTERM)
        ended = finish(process)
    assert ended.code == 143
    assert "result" not in [message["type"] for message in ended.messages]


def test_a_second_interrupt_ends_at_once_and_loses_nothing(desk: Desk):
    child = call("Bash", "t1", command="trap '' INT TERM; echo $$ > pid; while :; do sleep 1; done")
    with StrictServer(Reply(child), Reply(say("again"))) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--allowed-tools", "Bash")
        wait_for(lambda: len(read_pids(desk)) == 1)
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGINT)
        ended = finish(process, 5)
        assert ended.code == 130
        assert "Traceback" not in ended.err
        assert not running_in(desk)
        assert desk.run("-p", "go on", "--continue").text == "again\n"
        server.assert_clean()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_after_the_work_is_done_does_not_change_the_exit_code(number: signal.Signals):
    script = (
        "import os, sys; from ostinato.cli.program import run_program; code = run_program(['-p', 'x', '--bogus']); "
        f"os.kill(os.getpid(), {int(number)}); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 3)


def test_an_interrupt_while_input_is_awaited_is_quiet(desk: Desk):
    process = desk.start("-p", stdin=subprocess.PIPE)
    wait_for(lambda: is_polling(process.pid))
    os.kill(process.pid, signal.SIGINT)
    ended = finish(process)
    assert (ended.code, ended.out, ended.err) == (130, b"", "")


def test_a_reader_that_stands_still_cannot_keep_a_run_alive(desk: Desk):
    story = Reply(say("x" * 300_000), piece_characters=50_000)
    with StrictServer(story) as server:
        desk.url = server.url
        process = desk.start("-p", "hi", "--output-format", "stream-json", "--include-partial-messages")
        wait_for(lambda: sum(server.bytes_sent) > 100_000)
        os.kill(process.pid, signal.SIGTERM)
        process.wait(timeout=15)
        ended = finish(process)
    assert ended.code == 143


def read_pids(desk: Desk) -> list[int]:
    """As the commands said them; outside their pid namespace these are other processes, or none."""
    path = desk.work / "pid"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def running_in(desk: Desk) -> list[int]:
    """What has the desk's folder as its own; a zombie has none."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and (folder / "cwd").readlink() == desk.work:
                found.append(int(folder.name))
    return found


def is_polling(pid: int) -> bool:
    """Whether the process waits for its standard input: nothing is polled before."""
    try:
        return "poll" in Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False
