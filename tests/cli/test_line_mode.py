"""Line mode on a real pseudo terminal: a conversation whose text streams above a prompt that is always there."""

import pytest
from tests.cli.command import Desk, prompts_of
from tests.cli.line_scene import CTRL_C, CTRL_D, ENTER, UNTIL_GO, conversation, last_prompt
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import Gate, OnWire, Reply, StrictServer, call, say

pytestmark = pytest.mark.process

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07b\x9b31mc\x1b[2J\x1b]0;never ends"


def test_two_prompts_are_one_conversation_and_leaving_restores_the_terminal(desk: Desk):
    with conversation(desk, Reply(say("first answer")), Reply(say("second answer"))) as (terminal, server):
        terminal.type("one" + ENTER)
        terminal.sees("first answer")
        terminal.prompted(1)
        terminal.type("two" + ENTER)
        terminal.sees("second answer")
        terminal.prompted(2)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert terminal.left_nothing()
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
                terminal.prompted(1)
                terminal.type("/exit" + ENTER)
                assert terminal.ended() == 0
        assert len(server.requests[1].body["messages"]) == 3
        assert len(desk.sessions) == 1


def test_slash_commands_are_answered_here(desk: Desk):
    with conversation(desk, Reply(say("answer"))) as (terminal, server):
        for line, shown in [
            ("/help", "/export"),
            ("/status", str(desk.work)),
            ("/nonsense", "no command `/nonsense`"),
            ("/etc/hosts, what is it?", "answer"),
        ]:
            terminal.type(line + ENTER)
            terminal.sees(shown)
        terminal.prompted(1)
        terminal.type("/exit" + ENTER)
        assert terminal.ended() == 0
    assert [prompts_of(request.body)[-1] for request in server.requests] == ["/etc/hosts, what is it?"]


def test_an_error_of_a_query_keeps_the_conversation(desk: Desk):
    with conversation(desk) as (terminal, _):  # it has no answer for anybody
        terminal.type("one" + ENTER)
        terminal.sees("error:")
        terminal.until(lambda: terminal.is_idle)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_hostile_text_from_model_and_tools_does_nothing(desk: Desk):
    """The screen raises for every sequence that is not ours."""
    bash = call("Bash", "b", command=f"printf '%s' '{HOSTILE}'")
    with conversation(desk, Reply(say(HOSTILE), bash), Reply(say(f"{HOSTILE}\nend"))) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.sees("allow?")
        assert r"\u{1b}]52;c" in terminal.text
        assert r"\u{9b}31m" in terminal.text
        terminal.type("y" + ENTER)
        terminal.prompted(1)
        assert terminal.text.count("abc") >= 2
        for sequence in ("\x1b]", "\x9b", "\x1b[2J", "\x1b[31mc", "\x07"):
            assert sequence not in terminal.raw


def test_markdown_is_laid_out_while_it_streams(desk: Desk):
    answer = "# Title\n\nSome **bold** `code`.\n\n- one\n- two\n\n```python\ndef f(): ...\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    with conversation(desk, Reply(say(answer))) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.prompted(1)
        laid_out = "Title\n\nSome bold code.\n\n• one\n• two\n\n  def f(): ...\n\na   b\n─────\n1   2\n"
        assert laid_out in terminal.text
        assert terminal.screen.has_colour


def test_without_colour_no_colour_comes(desk: Desk):
    with conversation(desk, Reply(say("# Title\n\n`code` **b**")), NO_COLOR="1") as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.prompted(1)
        assert "# Title\n\n`code` **b**\n" in terminal.text
        assert "\x1b[3" not in terminal.raw


def test_an_unfinished_block_is_seen_before_it_is_complete_and_stands_there_once_after(desk: Desk):
    cut = OnWire(Reply(say("a **bold** beginning")), stall_after_events=5)
    with conversation(desk, cut) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.sees("a bold")
        terminal.until(lambda: "\nworking, " in terminal.screen.bottom)
        terminal.type(CTRL_C)
        terminal.sees("(interrupted)")
        terminal.prompted(1)
        assert terminal.text.count("a bold") == 1


def test_while_a_summary_is_written_that_is_what_it_says_and_works_afterwards(desk: Desk):
    small = '{"models": {"opus": {"contextWindow": 20000, "maxOutputTokens": 4000}}}'
    gate = Gate()
    summary = Reply(say("<summary>The user said hi, and numbers were printed.</summary>"), holds={3: gate})
    printed = [Reply(call("Bash", f"t{number}", command="seq 1 3500")) for number in range(2)]
    flags = ("--model", "opus", "--settings", small, "--allowed-tools", "Bash")
    with conversation(desk, *printed, summary, Reply(say("the end")), flags=flags) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.until(lambda: "\nsummarising, " in terminal.screen.bottom)
        terminal.sees("Summarising")
        gate.open()
        terminal.prompted(1)
        terminal.sees("the end")
        assert "summarising, " not in terminal.text


def test_tools_that_run_are_seen_with_what_they_wrote_last_and_then_as_done(desk: Desk):
    first = call("Bash", "t1", command=f"echo one; {UNTIL_GO}")
    with conversation(
        desk,
        Reply(first),
        Reply(say("the end")),
        flags=("--allowed-tools", "Bash"),
    ) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.sees("s │ one")
        (desk.work / "go").touch()
        terminal.prompted(1)
        assert "s │ one" not in terminal.text
        assert terminal.text.count("● Bash(echo one;") == 1
        assert "  │ one\n" in terminal.text


@pytest.mark.parametrize("columns", [20, 40, 79])
def test_a_small_terminal_loses_nothing(desk: Desk, columns: int):
    words = " ".join(f"word{number}" for number in range(60))
    with conversation(
        desk,
        Reply(say(words), call("Glob", "g", pattern="*" * 100)),
        Reply(say("the end")),
        columns=columns,
        rows=8,
    ) as (terminal, _):
        terminal.type("x" * 50 + ENTER)
        terminal.prompted(1)
        shown = terminal.text.split()
        assert [word for word in shown if word.startswith("word")] == words.split()
        assert terminal.text.count("working") == 0


def test_a_terminal_that_can_only_print_works_too(desk: Desk):
    asked = Reply(say("# Title"), call("Bash", "t1", command="touch x"))
    with StrictServer(asked, Reply(say("the end"))) as server:
        desk.url = server.url
        with PseudoTerminal(desk, term="dumb") as terminal:
            terminal.sees(">")
            terminal.type("one\\" + "\n" + "two\n")
            terminal.sees("allow?")
            terminal.type("y\n")
            terminal.sees("the end")
            terminal.sees("tokens in")
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
            assert terminal.left_nothing()
            assert "\x1b" not in terminal.raw
        assert (desk.work / "x").exists()
        assert prompts_of(server.requests[0].body)[-1] == "one\ntwo"


def test_the_size_may_change_while_it_works(desk: Desk):
    with conversation(
        desk,
        Reply(call("Bash", "t1", command=UNTIL_GO)),
        Reply(say("the end " * 20)),
        flags=("--allowed-tools", "Bash"),
        columns=100,
    ) as (terminal, _):
        terminal.type("hi" + ENTER)
        terminal.until((desk.work / "started").exists)
        terminal.resize(40, 12)
        (desk.work / "go").touch()
        terminal.prompted(1)
        assert "the end the end the end the end the end\n" in terminal.text
