"""Line mode on a real pseudo terminal: a conversation that asks, can be interrupted, and leaves the terminal as it found it."""

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Desk, prompts_of
from tests.cli.pseudo_terminal import STOPPED, PseudoTerminal

from ostinato.testing import OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07b\x9b31mc\x1b[2J\x1b]0;never ends"
CTRL_C, CTRL_D, CTRL_Z, ENTER, ALT_ENTER = "\x03", "\x04", "\x1a", "\r", "\x1b\r"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def results_of(body: dict[str, Any]) -> list[str]:
    """The texts of the tool results in a request."""
    return [
        str(part["content"])
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]


def last_prompt(server: StrictServer) -> str:
    return prompts_of(server.requests[-1].body)[-1]


# ------------------------------------------------------------------------------------------------ a conversation


def test_two_prompts_are_one_conversation_and_leaving_restores_the_terminal(desk: Desk):
    with StrictServer(Reply(say("first answer")), Reply(say("second answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("one" + ENTER)
            terminal.sees("first answer")
            terminal.prompted(1)
            terminal.type("two" + ENTER)
            terminal.sees("second answer")
            terminal.prompted(2)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
            assert terminal.modes == terminal.modes_before
            assert f"--resume {desk.sessions[0].stem}" in terminal.text
        first, second = (request.body["messages"] for request in server.requests)
        assert second[1]["role"] == "assistant"
        assert (len(first), len(second), last_prompt(server)) == (1, 3, "two")
        server.assert_clean()


def test_a_prompt_on_the_command_line_is_the_first_and_continue_goes_on(desk: Desk):
    with StrictServer(Reply(say("first answer")), Reply(say("second answer"))) as server:
        desk.url = server.url
        for flags, answer in (((), "first answer"), (("--continue",), "second answer")):
            with PseudoTerminal(desk, *flags, "do it") as terminal:
                terminal.sees(answer)
                terminal.prompted()
                terminal.type("/exit" + ENTER)
                assert terminal.ended() == 0
        assert len(server.requests[1].body["messages"]) == 3
        assert len(desk.sessions) == 1


@pytest.mark.parametrize("between", [ALT_ENTER, "\\" + ENTER], ids=["alt-enter", "backslash"])
def test_a_prompt_may_have_several_lines(desk: Desk, between: str):
    with StrictServer(Reply(say("answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type(f"one{between}two{ENTER}")
            terminal.sees("answer")
        assert last_prompt(server) == "one\ntwo"


def test_what_is_pasted_stays_one_prompt(desk: Desk):
    with StrictServer(Reply(say("answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("\x1b[200~one\r/exit\rtwo\x1b[201~" + ENTER)
            terminal.sees("answer")
        assert last_prompt(server) == "one\n/exit\ntwo"


def test_what_is_typed_while_a_query_runs_waits_for_the_next_prompt(desk: Desk):
    slow = Reply(call("Bash", "t1", command="touch started; while [ ! -e go ]; do read -t 0.01 < <(:); done"))
    with StrictServer(slow, Reply(say("first answer")), Reply(say("second answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, "--allowed-tools", "Bash") as terminal:
            terminal.prompted()
            terminal.type("one" + ENTER)
            terminal.until((desk.work / "started").exists)
            terminal.type("typed early" + ENTER)
            (desk.work / "go").touch()
            terminal.sees("second answer")
        assert last_prompt(server) == "typed early"


def test_an_interrupt_does_not_throw_away_what_was_typed(desk: Desk):
    stuck = OnWire(Reply(say("a long beginning of an answer")), stall_after_events=5)
    with StrictServer(stuck, Reply(say("second answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("one" + ENTER)
            terminal.sees("a long")
            terminal.type("typed early" + CTRL_C)
            terminal.prompted(1)
            terminal.type(", sent late" + ENTER)
            terminal.sees("second answer")
        assert last_prompt(server) == "typed early, sent late"


def test_history_is_kept_for_its_owner_only_and_recalled(desk: Desk):
    with StrictServer(Reply(say("answer")), Reply(say("again"))) as server:
        desk.url = server.url
        for typed, answer in (("remember me" + ENTER, "answer"), ("\x1b[A" + ENTER, "again")):
            with PseudoTerminal(desk) as terminal:
                terminal.prompted()
                terminal.type(typed)
                terminal.sees(answer)
                terminal.prompted(1)
                terminal.type(CTRL_D)
                assert terminal.ended() == 0
        assert last_prompt(server) == "remember me"
    assert stat.S_IMODE((desk.home / ".ostinato" / "history").stat().st_mode) == 0o600


def test_a_session_that_is_not_kept_leaves_no_history(desk: Desk):
    with StrictServer(Reply(say("answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, "--no-session-persistence") as terminal:
            terminal.prompted()
            terminal.type("a secret" + ENTER)
            terminal.sees("answer")
            terminal.prompted(1)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
            assert "--resume" not in terminal.text
    assert [path for path in desk.home.rglob("*") if path.is_file()] == []


# ------------------------------------------------------------------------------------------------ what is not for the model


def test_slash_commands_are_answered_here(desk: Desk):
    with StrictServer(Reply(say("answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            for number, (line, shown) in enumerate(
                [
                    ("/help", "Alt-Enter"),
                    ("/status", str(desk.work)),
                    ("/nonsense", "no command /nonsense"),
                    ("/cost", "0 tokens in"),
                    ("/etc/hosts, what is it?", "answer"),
                    ("/cost", "100 tokens in"),
                ],
                1,
            ):
                terminal.prompted(number)
                terminal.type(line + ENTER)
                terminal.sees(shown)
        assert [prompts_of(request.body)[-1] for request in server.requests] == ["/etc/hosts, what is it?"]


def test_an_error_of_a_query_keeps_the_conversation(desk: Desk):
    with PseudoTerminal(desk) as terminal:  # nobody serves at its address
        terminal.prompted()
        terminal.type("one" + ENTER)
        terminal.sees("error:")
        terminal.prompted(1)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_hostile_text_from_model_and_tools_does_nothing(desk: Desk):
    bash = call("Bash", "b", command=f"printf '%s' '{HOSTILE}'")
    with StrictServer(Reply(say(HOSTILE), bash), Reply(say(f"{HOSTILE}\nend"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("hi" + ENTER)
            terminal.sees("allow?")
            assert r"\u{1b}]52;c" in terminal.text
            assert r"\u{9b}31m" in terminal.text
            terminal.type("y" + ENTER)
            terminal.sees("end\n")
            terminal.prompted(1)
            for sequence in ("\x1b]", "\x9b", "\x1b[2J", "\x1b[31mc", "\x07"):
                assert sequence not in terminal.raw


# ------------------------------------------------------------------------------------------------ the question


def asks(desk: Desk, answer: str, *calls: Any) -> tuple[list[str], str]:
    """The results of a query that asks once and gets this answer, and the screen."""
    with StrictServer(Reply(*calls), Reply(say("the end"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("go" + ENTER)
            terminal.sees("allow?")
            terminal.type(answer + ENTER)
            terminal.sees("the end")
            terminal.prompted(1)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
            server.assert_clean()
            return results_of(server.requests[-1].body), terminal.text


def test_yes_runs_the_call_that_was_shown(desk: Desk):
    command = "echo made >\\\n made.txt"
    _, screen = asks(desk, "y", call("Bash", "t1", command=command))
    assert (desk.work / "made.txt").read_text() == "made\n"
    assert "│ echo made >\\\n  │  made.txt\n" in screen


def test_no_runs_nothing_and_tells_the_reason(desk: Desk):
    results, _ = asks(desk, "n use the other file", call("Bash", "t1", command="touch made.txt"))
    assert not (desk.work / "made.txt").exists()
    assert "use the other file" in results[0]


def test_what_is_no_answer_is_asked_again(desk: Desk):
    results, screen = asks(
        desk, f"yes please{ENTER}{ENTER}nothing{ENTER}n", call("Bash", "t1", command="touch x")
    )
    assert screen.count("allow?") == 4
    assert not (desk.work / "x").exists()
    assert len(results) == 1


def test_the_question_shows_where_a_path_leads(desk: Desk):
    (desk.root / "elsewhere").mkdir()
    (desk.work / "link").symlink_to(desk.root / "elsewhere")
    _, screen = asks(desk, "n", call("Write", "t1", file_path="link/x.txt", content="new"))
    assert str(desk.root / "elsewhere" / "x.txt") in screen


def test_what_led_to_the_call_stands_before_the_question(desk: Desk):
    asked = (say("this is why I want to do it"), call("Bash", "t1", command="touch x"))
    _, screen = asks(desk, "n", *asked)
    assert screen.index("this is why I want to do it") < screen.index("The model asks")


def test_always_holds_for_what_was_shown_and_dies_with_the_conversation(desk: Desk):
    first, same, other = (
        call("Bash", f"t{number}", command=command)
        for number, command in enumerate(["git commit -m a", "git commit -m b", "git push"])
    )
    with StrictServer(Reply(first), Reply(same), Reply(other), Reply(say("the end")), Reply(first)) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("go" + ENTER)
            terminal.sees("allow?")
            assert "Bash(git commit:*)" in terminal.text
            terminal.type("a" + ENTER)
            terminal.sees("allow?", 2)
            assert len(server.requests) == 3
            terminal.type("n" + ENTER)
            terminal.sees("the end")
            terminal.prompted(1)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
        with PseudoTerminal(desk, "--continue", "again") as terminal:
            terminal.sees("allow?")


def test_always_is_not_offered_where_no_rule_could_be_shown(desk: Desk):
    _, screen = asks(desk, f"a{ENTER}n", call("Bash", "t1", command='eval "$(cat x)"'))
    assert "always" not in screen
    assert screen.count("allow?") == 2


def test_what_was_typed_before_the_question_does_not_answer_it(desk: Desk):
    go = "touch started; while [ ! -e go ]; do read -t 0.01 < <(:); done"
    replies = [Reply(call("Bash", "t1", command=go)), Reply(call("Bash", "t2", command="touch x"))]
    with StrictServer(*replies, Reply(say("the end")), Reply(say("really"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("go" + ENTER)
            terminal.sees("allow?")
            terminal.type("y" + ENTER)
            terminal.until((desk.work / "started").exists)
            terminal.type("y" + ENTER)
            (desk.work / "go").touch()
            terminal.sees("allow?", 2)
            terminal.type("n" + ENTER)
            terminal.sees("really")
        assert not (desk.work / "x").exists()
        assert last_prompt(server) == "y"


def test_ctrl_c_at_the_question_is_no_and_ends_the_query(desk: Desk):
    with StrictServer(Reply(call("Bash", "t1", command="touch x")), Reply(say("still here"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("go" + ENTER)
            terminal.sees("allow?")
            terminal.type(CTRL_C)
            terminal.prompted(1)
            terminal.type("and now?" + ENTER)
            terminal.sees("still here")
        assert not (desk.work / "x").exists()
        server.assert_clean()


# ------------------------------------------------------------------------------------------------ leaving and stopping


def test_ctrl_c_ends_the_query_and_keeps_the_conversation(desk: Desk):
    stuck = OnWire(Reply(say("a long beginning of an answer")), stall_after_events=5)
    with StrictServer(stuck, Reply(say("still here"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("one" + ENTER)
            terminal.sees("a long")
            terminal.type(CTRL_C)
            terminal.sees("interrupted")
            terminal.prompted(1)
            terminal.type("two" + ENTER)
            terminal.sees("still here")
        assert "one" in prompts_of(server.requests[-1].body)
        server.assert_clean()


def test_ctrl_c_at_the_empty_prompt_says_how_to_leave_and_twice_leaves(desk: Desk):
    with PseudoTerminal(desk) as terminal:
        terminal.prompted()
        terminal.type("half a line")
        terminal.sees("half a line")
        terminal.type(CTRL_C)
        terminal.type(CTRL_C)
        terminal.sees("Ctrl-D leaves)")
        terminal.prompted(1)
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        assert terminal.modes == terminal.modes_before


def at_the_prompt(terminal: PseudoTerminal) -> None:
    terminal.prompted()


def in_a_query(terminal: PseudoTerminal) -> None:
    terminal.prompted()
    terminal.type("one" + ENTER)
    terminal.sees("a long")


def at_a_question(terminal: PseudoTerminal) -> None:
    terminal.prompted()
    terminal.type("one" + ENTER)
    terminal.sees("allow?")


def turn_for(place: Callable[[PseudoTerminal], None]) -> Reply | OnWire:
    if place is at_a_question:
        return Reply(call("Bash", "t1", command="touch x"))
    return OnWire(Reply(say("a long beginning of an answer")), stall_after_events=5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("place", [at_the_prompt, in_a_query, at_a_question])
def test_a_termination_leaves_at_once_with_the_terminal_as_it_was(
    desk: Desk, place: Callable[[PseudoTerminal], None], number: int
):
    with StrictServer(turn_for(place)) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            place(terminal)
            os.kill(terminal.process.pid, number)
            assert terminal.ended() == 143
            assert terminal.modes == terminal.modes_before
            assert terminal.raw.count("\x1b[?2004l") >= terminal.raw.count("\x1b[?2004h")


@pytest.mark.parametrize("place", [at_the_prompt, in_a_query, at_a_question])
def test_a_terminal_that_goes_away_ends_it(desk: Desk, place: Callable[[PseudoTerminal], None]):
    with StrictServer(turn_for(place)) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            place(terminal)
            assert terminal.hang_up() in {0, 1, 143}
    assert not (desk.work / "x").exists()


@pytest.mark.parametrize("place", [at_the_prompt, in_a_query, at_a_question])
def test_ctrl_z_stops_with_the_terminal_as_it_was_and_goes_on(
    desk: Desk, place: Callable[[PseudoTerminal], None]
):
    with StrictServer(turn_for(place)) as server:
        desk.url = server.url
        with PseudoTerminal(desk, has_shell=True) as terminal:
            place(terminal)
            for number in (1, 2):
                terminal.type(CTRL_Z)
                terminal.sees(STOPPED, number)
            assert f"{STOPPED}False" not in terminal.text
            if place is not at_the_prompt:
                terminal.type(CTRL_C)
                terminal.sees("interrupted")
            terminal.type("/status" + ENTER)
            terminal.sees("mode     default")
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
            assert terminal.modes == terminal.modes_before


def test_ctrl_c_again_and_again_leaves_from_anywhere(desk: Desk):
    deaf = call("Bash", "t1", command="touch started; trap '' INT TERM; while :; do read -t 1 < <(:); done")
    with StrictServer(Reply(deaf)) as server:
        desk.url = server.url
        with PseudoTerminal(desk, "--allowed-tools", "Bash") as terminal:
            terminal.prompted()
            terminal.type("one" + ENTER)
            terminal.until((desk.work / "started").exists)
            terminal.until(lambda: terminal.type(CTRL_C) or terminal.process.poll() is not None)
            assert terminal.ended() in {0, 130}
            assert terminal.modes == terminal.modes_before


def test_output_formats_for_programs_are_refused(desk: Desk):
    with PseudoTerminal(desk, "--output-format", "json") as terminal:
        assert terminal.ended() == 2
        assert "-p" in terminal.text
