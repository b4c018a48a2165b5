"""A conversation that goes on shows what was said before: the last of it, in short, as it stood there."""

import pytest
from tests.cli.command import Desk
from tests.cli.line_scene import CTRL_D, ENTER
from tests.cli.pseudo_terminal import PseudoTerminal

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
