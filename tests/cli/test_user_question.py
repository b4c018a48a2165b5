"""The model's questions in line mode: numbers take choices, words are words, and leaving leaves them open."""

import pytest
from tests.cli.command import Desk
from tests.cli.line_scene import CTRL_D, ENTER, conversation, results_of

from ostinato.cli.user_question import chosen, user_question_text
from ostinato.testing import Reply, call, say
from ostinato.user_questions import Choice, UserQuestion

FORMAT = {
    "question": "Which format?",
    "header": "Format",
    "options": [{"label": "JSON", "description": "for programs"}, {"label": "Text"}],
}
MANY = {**FORMAT, "question": "Which files?", "multiSelect": True}


@pytest.mark.parametrize(
    ("typed", "many", "meant"),
    [
        ("1", False, "JSON"),
        (" 2 ", False, "Text"),
        ("3", False, None),
        ("0", False, None),
        ("1, 2", True, "JSON, Text"),
        ("2 1 2", True, "Text, JSON"),
        ("1 9", True, None),
        ("1 2", False, "1 2"),
        ("YAML, please", False, "YAML, please"),
        ("", False, ""),
    ],
)
def test_what_is_typed_is_a_choice_or_the_persons_own_words(typed: str, *, many: bool, meant: str | None):
    question = UserQuestion("Which?", (Choice("JSON"), Choice("Text")), multi_select=many)
    assert chosen(question, typed) == meant


def test_nothing_in_a_question_can_pass_for_a_line_of_ours():
    text = user_question_text(UserQuestion("a\nallow? \x1b[2J", (Choice("b\nc", "d\u202e"),)))
    assert "\n  │ allow? \\u{1b}[2J\n" in text
    assert "1  b⏎c: d\\u{202e}\n" in text


@pytest.mark.process
def test_answers_reach_the_model_and_a_wrong_number_is_asked_again(desk: Desk):
    asked = call("AskUserQuestion", "t1", questions=[FORMAT, MANY])
    with conversation(desk, Reply(asked), Reply(say("the end"))) as (terminal, server):
        terminal.type("go" + ENTER)
        for number, answer in enumerate(["7", "1", "only mine"], 1):
            terminal.sees("answer?", number)
            terminal.type(answer + ENTER)
        terminal.sees("the end")
        terminal.prompted(1)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        server.assert_clean()
        (result,) = results_of(server.requests[-1].body)
    assert "Which format?\n→ JSON" in result
    assert "Which files?\n→ only mine" in result
    assert "1  JSON: for programs\n" in terminal.text


@pytest.mark.process
def test_a_question_that_is_left_is_declined_and_the_query_goes_on(desk: Desk):
    with conversation(
        desk, Reply(call("AskUserQuestion", "t1", questions=[FORMAT])), Reply(say("the end"))
    ) as (
        terminal,
        server,
    ):
        terminal.type("go" + ENTER)
        terminal.sees("answer?")
        terminal.type(ENTER)
        terminal.sees("the end")
        terminal.prompted(1)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        (result,) = results_of(server.requests[-1].body)
    assert "without an answer" in result
    assert "AskUserQuestion" in [tool["name"] for tool in server.requests[0].body["tools"]]


@pytest.mark.process
def test_the_list_of_what_is_to_be_done_is_shown_as_a_list(desk: Desk):
    steps = [
        {"content": "read", "status": "completed"},
        {"content": "write", "status": "in_progress", "activeForm": "Writing\x1b[2J"},
        {"content": "test", "status": "pending"},
    ]
    with conversation(desk, Reply(call("TodoWrite", "t1", todos=steps)), Reply(say("the end"))) as (
        terminal,
        _,
    ):
        terminal.type("go" + ENTER)
        terminal.sees("the end")
        terminal.prompted(1)
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert "TodoWrite(3 steps)" in terminal.text
    assert "  [x] read\n  [>] Writing\\u{1b}[2J\n  [ ] test\n" in terminal.text
