"""What was said before is shown in short: bounded, in order, nothing that was only for the model, nothing taken back."""

from collections.abc import Iterable
from typing import Literal

from tests.cli.terminal_screen import TerminalScreen

from ostinato.cli.earlier_talk import MAX_EXCHANGES, MAX_STEPS, MAX_TEXT_LINES, earlier_talk
from ostinato.cli.transcript import Transcript
from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Reminder,
    SystemMessage,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    api_error_message,
    assistant_fragment,
    attachment_message,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.records import Record, Retract, ToolFinished


def shown(records: Iterable[Record], columns: int = 60) -> str:
    transcript = Transcript(has_colour=False, monotonic_s=lambda: 0.0, columns=lambda: columns)
    return earlier_talk(History.empty().extend(tuple(records)), transcript)


def said(uuid: str, text: str) -> Record:
    return assistant_fragment(uuid, f"r-{uuid}", "m", Text(text))


def called(number: int, *, outcome: Literal["ok", "denied"] = "ok", text: str = "fine") -> list[Record]:
    use = ToolUse(f"t{number}", "Bash", {"command": f"echo {number}"})
    result = tool_result_message(f"x{number}", ToolResult(use.id, text, is_error=outcome != "ok"))
    return [
        assistant_fragment(f"c{number}", f"rc{number}", "m", use),
        result,
        ToolFinished(use.id, outcome, 1_500),
    ]


def test_a_new_session_shows_nothing():
    assert shown([]) == ""
    assert shown([SystemMessage("s", "local_command_output", "the cost")]) == ""


def test_exchanges_stand_there_as_they_did():
    text = shown([user_prompt("u1", "one\ntwo"), said("a1", "I **look**."), *called(1), said("a2", "done")])
    assert text == (
        "\n(said before)\n\n> one\n  two\n\nI look.\n\n● Bash(echo 1), 1.5 s\n  │ fine\n\ndone\n"
    ).replace("I look.", "I **look**.")


def test_a_denied_call_is_told_as_denied():
    assert "Bash(echo 1): denied" in shown([user_prompt("u1", "go"), *called(1, outcome="denied")])


def test_only_the_last_few_are_shown_and_the_number_before_is_said():
    records = [
        record
        for number in range(20)
        for record in (user_prompt(f"u{number}", f"prompt {number}"), said(f"a{number}", f"answer {number}"))
    ]
    text = shown(records)
    assert [f"> prompt {number}\n" in text for number in range(20)] == [False] * 17 + [True] * 3
    assert "17 exchanges earlier" in text


def test_however_long_it_was_it_stays_short():
    records: list[Record] = []
    for number in range(10):
        records += [user_prompt(f"u{number}", "line\n" * 10_000), said(f"s{number}", "word " * 100_000)]
        for step in range(50):
            records += called(number * 100 + step, text="out\n" * 1_000)
        records.append(said(f"a{number}", "- item\n" * 10_000))
    text = shown(records)
    assert text.count("\n") < MAX_EXCHANGES * (MAX_STEPS * 12 + MAX_TEXT_LINES + 20)
    assert f"{102 - MAX_STEPS} earlier steps" in text


def test_what_was_only_for_the_model_or_taken_back_is_not_shown():
    text = shown([
        user_prompt("u1", "go"),
        meta_prompt("m1", "meta words", origin="recovery"),
        attachment_message("m2", Reminder("x", "reminder words")),
        assistant_fragment("h1", "r1", "m", Thinking("thought words")),
        said("g1", "withdrawn words"),
        Retract("e1", ("g1",)),
        api_error_message("e2", "m", "error words"),
        said("a1", "the answer"),
    ])
    assert "words" not in text
    assert "the answer" in text


def test_hostile_words_have_no_power():
    hostile = "a\x1b]52;c;ZXZpbA==\x07b\x9b31mc\x1b[2J"
    screen = TerminalScreen(60, 50)
    screen.feed(shown([user_prompt("u1", hostile), said("a1", hostile), *called(1, text=hostile)]))
    assert screen.text.count("abc") == 3


def test_what_an_interrupted_reply_had_said_is_there_and_that_it_was_interrupted():
    records: list[Record] = [
        user_prompt("u1", "tell me"),
        said("a1", "a long sto"),
        meta_prompt("m1", "[The user interrupted here.]", origin="interruption"),
    ]
    text = shown([*records, user_prompt("u2", "go on"), said("a2", "ry")])
    assert "a long sto\n\n(interrupted)\n\n> go on" in text
    assert text.count("(interrupted)") == 1
    assert "(interrupted)" not in shown(records[:2])
    cut = AssistantMessage("a1", "r1", "m", (Text("a long sto"),), is_incomplete=True)
    assert "a long sto\n\n(interrupted)" in shown([records[0], cut, user_prompt("u2", "now this")])
    assert "[The user" not in text
