"""A conversation that goes on shows what was said before: the last of it, in short, as it stood there."""

from collections.abc import Callable

import pytest
from tests.cli.command import Desk
from tests.cli.line_scene import CTRL_C, CTRL_D, ENTER, UP, conversation, stuck
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.cli.exit_codes import TERMINATED, USAGE
from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process


def test_what_was_said_stands_above_the_prompt_with_the_tools_and_how_much_came_before(desk: Desk):
    bash = call("Bash", "t1", command="echo m''ade")
    replies = [Reply(say(f"answer {number}")) for number in range(4)]
    with StrictServer(*replies, Reply(say("I **look**."), bash), Reply(say("the end"))) as server:
        desk.url = server.url
        for number in range(5):
            assert (
                desk.run("-p", f"prompt {number}", "--allowed-tools", "Bash", *["--continue"][:number]).code
                == 0
            )
    for flags in (("--continue",), ("--resume", desk.sessions[0].stem)):
        with PseudoTerminal(desk, *flags) as terminal:
            terminal.sees("the end")
            terminal.until(lambda: terminal.is_idle)
            text = terminal.text
            assert ["answer 1" in text, "answer 2" in text, "prompt 1" in text] == [False, True, False]
            assert "2 exchanges earlier" in text
            shown = "> prompt 4\n\nI look.\n\n● Bash(echo m''ade)"
            assert shown in text
            assert "  │ made\n\nthe end\n" in text
            terminal.type(CTRL_D)
            assert terminal.ended() == 0


def test_resume_in_a_conversation_shows_it_too_and_clear_shows_nothing(desk: Desk):
    with StrictServer(Reply(say("answer one")), Reply(say("answer two"))) as server:
        desk.url = server.url
        assert desk.run("-p", "remember 42").code == 0
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            assert "answer one" not in terminal.text
            terminal.type("/resume 1" + ENTER)
            terminal.sees("> remember 42\n\nanswer one\n")
            terminal.until(lambda: terminal.is_idle)
            terminal.type("/clear" + ENTER)
            terminal.sees("can be resumed")
            terminal.until(lambda: terminal.is_idle)
            assert terminal.text.count("answer one") == 1


def test_what_waited_when_the_session_was_killed_is_told_and_comes_back_line_by_line(desk: Desk):
    with conversation(desk, stuck()) as (terminal, _):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        for line in ("two", "/cost", "!echo th''ree"):
            terminal.type(line + ENTER)
            terminal.sees(f"queued: {line}")
    with StrictServer(Reply(say("answer two"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, "--continue") as terminal:
            terminal.sees("3 prompts were waiting")
            terminal.until(lambda: terminal.screen.cursor_line == "> two")
            assert server.requests == []
            terminal.type(ENTER)
            terminal.sees("answer two")
            terminal.until(lambda: terminal.screen.cursor_line == "> /cost")
            terminal.type(CTRL_C + "/status" + ENTER)
            terminal.sees("sandbox   none")
            terminal.until(lambda: terminal.screen.cursor_line == "> !echo th''ree")
            assert "three" not in terminal.text
            terminal.type(CTRL_C + CTRL_D)
            assert terminal.ended() == 0
            server.assert_clean()


def test_what_waited_and_was_not_sent_is_told_at_the_end(desk: Desk):
    with conversation(desk, stuck()) as (terminal, _):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        for line in ("two", "three"):
            terminal.type(line + ENTER)
            terminal.sees(f"queued: {line}")
    with PseudoTerminal(desk, "--continue") as terminal:
        terminal.until(lambda: terminal.screen.cursor_line == "> two")
        terminal.type(CTRL_C + CTRL_D)
        assert terminal.ended() == 0
        assert "not sent: three" in terminal.text


def waits_and_is_not_sent(desk: Desk, text: str, *flags: str) -> None:
    """A further run of the session has it as the draft."""
    with StrictServer() as server:
        desk.url = server.url
        with PseudoTerminal(desk, *(flags or ("--continue",))) as terminal:
            terminal.sees("1 prompt was waiting")
            terminal.until(lambda: terminal.screen.cursor_line == f"> {text}")
            terminal.type(CTRL_C + CTRL_D)
            assert terminal.ended() == 0
    assert server.requests == []


def hang_up(terminal: PseudoTerminal) -> None:
    terminal.hang_up()


def terminate(terminal: PseudoTerminal) -> None:
    terminal.process.terminate()
    assert terminal.ended() == TERMINATED
    assert "not sent: half a thought" in terminal.text
    assert "--resume" in terminal.text


@pytest.mark.parametrize(("end", "is_working"), [(hang_up, True), (terminate, False)])
def test_a_draft_outlives_a_signal_and_a_terminal_that_goes_away(
    desk: Desk, end: Callable[[PseudoTerminal], None], is_working: bool
):
    with conversation(desk, stuck()) as (terminal, _):
        if is_working:
            terminal.type("one" + ENTER)
            terminal.sees("a long")
        terminal.type("half a thought")
        terminal.until(lambda: terminal.screen.cursor_line == "> half a thought")
        end(terminal)
    waits_and_is_not_sent(desk, "half a thought")
    if not is_working:  # a session in which nothing was said, and nothing waits any more
        assert desk.run("--continue", "-p", "x").code == USAGE


def test_a_terminal_that_can_only_print_keeps_what_waits_until_something_is_sent(desk: Desk):
    with StrictServer(Reply(say("answer"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, term="dumb") as terminal:
            terminal.sees(">")
            terminal.type("half\\\n")
            terminal.sees("half")
            terminal.process.terminate()
            assert terminal.ended() == TERMINATED
            assert "not sent: half" in terminal.text
        for typed in (CTRL_D, "go\n" + CTRL_D):
            with PseudoTerminal(desk, "--continue", term="dumb") as terminal:
                terminal.sees("not sent: half")
                terminal.sees("\n>")  # an end of input that comes before the prompt is none to it
                terminal.type(typed)
                assert terminal.ended() == 0
        with PseudoTerminal(desk, "--continue", term="dumb") as terminal:
            terminal.sees("answer")
            terminal.sees("\n>")
            assert "half" not in terminal.text


def test_what_was_taken_back_to_be_edited_outlives_a_kill_until_it_is_dropped(desk: Desk):
    with conversation(desk, stuck()) as (terminal, _):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        terminal.type("two" + ENTER)
        terminal.sees("queued: two")
        terminal.type(UP)
        terminal.until(lambda: terminal.screen.cursor_line == "> two")
    waits_and_is_not_sent(desk, "two")
    with conversation(desk, flags=("--continue",)) as (terminal, _):  # it was dropped there
        assert "waiting" not in terminal.text


def test_what_waited_in_a_session_comes_back_with_resume_too_and_is_not_sent(desk: Desk):
    with conversation(desk, stuck()) as (terminal, _):
        terminal.type("one" + ENTER)
        terminal.sees("a long")
        terminal.type("two" + ENTER)
        terminal.sees("queued: two")
    with StrictServer(Reply(say("mine"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("/resume 1" + ENTER)
            terminal.sees("1 prompt was waiting")
            terminal.until(lambda: terminal.screen.cursor_line == "> two")
            assert server.requests == []
