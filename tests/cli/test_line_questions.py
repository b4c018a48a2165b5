"""The question of line mode: it shows what would run, takes only a typed answer, and what is remembered is what was shown."""

from typing import Any

import pytest
from tests.cli.command import Desk
from tests.cli.line_scene import CTRL_C, CTRL_D, ENTER, UNTIL_GO, conversation, results_of, sent
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import Reply, StrictServer, call, say

pytestmark = pytest.mark.process


def asks(desk: Desk, answers: str, *calls: Any) -> tuple[list[str], str]:
    """The results of a query that asks, and gets the next of these answers as often as it asks; and the screen."""
    with conversation(desk, Reply(*calls), Reply(say("the end"))) as (terminal, server):
        terminal.type("go" + ENTER)
        for number, answer in enumerate(answers.split("|"), 1):
            terminal.sees("allow?", number)
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
    results, screen = asks(desk, "yes please||nothing|n", call("Bash", "t1", command="touch x"))
    assert screen.count("allow?") == 4
    assert not (desk.work / "x").exists()
    assert len(results) == 1


def test_the_question_shows_where_a_path_leads(desk: Desk):
    (desk.root / "elsewhere").mkdir()
    (desk.work / "link").symlink_to(desk.root / "elsewhere")
    _, screen = asks(desk, "n", call("Write", "t1", file_path="link/x.txt", content="new"))
    assert str(desk.root / "elsewhere" / "x.txt") in screen


def test_a_command_shows_where_its_links_lead_and_always_through_a_link_is_asked_once(desk: Desk):
    outside = desk.root / "outside.txt"
    outside.write_text("old")
    (desk.work / "notes.txt").symlink_to(outside)
    calls = [call("Bash", f"t{number}", command="echo hi > notes.txt") for number in (1, 2)]
    results, screen = asks(desk, "c", *calls)
    assert f"notes.txt, which leads to {outside}" in screen
    assert screen.count("The model asks") == 1
    assert len(results) == 2
    assert outside.read_text() == "hi\n"


def test_what_led_to_the_call_stands_before_the_question(desk: Desk):
    asked = (say("this is why I want to do it"), call("Bash", "t1", command="touch x"))
    _, screen = asks(desk, "n", *asked)
    assert screen.index("this is why I want to do it") < screen.index("The model asks")


def answered_once(desk: Desk, letter: str) -> bool:
    """Whether a later conversation still asks, when the first of two alike calls was answered so and the third is another."""
    first, same, other = (
        call("Bash", f"t{number}", command=command)
        for number, command in enumerate(["git commit -m a", "git commit -m b", "git push"])
    )
    turns = [
        Reply(first),
        Reply(same),
        Reply(other),
        Reply(say("the end")),
        Reply(first),
        Reply(say("the end")),
    ]
    with StrictServer(*turns) as server:
        desk.url = server.url
        with PseudoTerminal(desk) as terminal:
            terminal.prompted()
            terminal.type("go" + ENTER)
            terminal.sees("allow?")
            assert "Bash(git commit:*)" in terminal.text
            terminal.type(letter + ENTER)
            terminal.sees("allow?", 2)
            assert len(server.requests) == 3
            terminal.type("n" + ENTER)
            terminal.prompted(1)
            terminal.type(CTRL_D)
            assert terminal.ended() == 0
        with PseudoTerminal(desk, "--continue", "again") as terminal:
            terminal.until(lambda: "allow?" in terminal.text or terminal.text.count("tokens in") > 0)
            return "allow?" in terminal.text


def test_yes_for_the_conversation_holds_for_what_was_shown_and_dies_with_it(desk: Desk):
    assert answered_once(desk, "c")


def test_always_is_written_to_the_file_that_was_shown(desk: Desk):
    assert not answered_once(desk, "a")
    assert "Bash(git commit:*)" in (desk.work / ".ostinato" / "settings.local.json").read_text()


def test_always_is_not_offered_where_no_rule_could_be_shown(desk: Desk):
    _, screen = asks(desk, "a|c|n", call("Bash", "t1", command='eval "$(cat x)"'))
    assert "always" not in screen
    assert screen.count("allow?") == 3


def test_what_was_typed_before_the_question_does_not_answer_it(desk: Desk):
    replies = [Reply(call("Bash", "t1", command=UNTIL_GO)), Reply(call("Bash", "t2", command="touch x"))]
    with conversation(desk, *replies, Reply(say("the end")), Reply(say("really"))) as (terminal, server):
        terminal.type("go" + ENTER)
        terminal.sees("allow?")
        terminal.type("y" + ENTER)
        terminal.until((desk.work / "started").exists)
        terminal.type("y" + ENTER + "y")
        terminal.sees("queued: y")
        (desk.work / "go").touch()
        terminal.sees("allow?", 2)
        terminal.type("n" + ENTER)
        terminal.prompted(1)
        assert terminal.screen.cursor_line == "> y"
    assert not (desk.work / "x").exists()
    assert "this message:\\ny\\n" in sent(server, 1)


def test_a_long_command_is_shown_whole_and_nothing_in_it_is_hidden(desk: Desk):
    lines = [f"echo {number}" for number in range(80)]
    _, screen = asks(desk, "n", call("Bash", "t1", command="\n".join(lines) + "\u202e; rm -rf x"))
    assert all(f"  │ {line}\n" in screen for line in lines[:-1])
    assert "echo 79\\u{202e}; rm -rf x" in screen


def test_ctrl_c_at_the_question_is_no_and_ends_the_query(desk: Desk):
    with conversation(desk, Reply(call("Bash", "t1", command="touch x")), Reply(say("still here"))) as (
        terminal,
        server,
    ):
        terminal.type("go" + ENTER)
        terminal.sees("allow?")
        terminal.type(CTRL_C)
        terminal.prompted(1)
        terminal.type("and now?" + ENTER)
        terminal.sees("still here")
    assert not (desk.work / "x").exists()
    server.assert_clean()
