"""What a person sees: the answer as data, tools and endings as talk; text of others is shown and never acts."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.cli.events import MODEL, denial, ended, ran, refused, reply

from ostinato.cli.json_output import JsonOutput
from ostinato.cli.live import LiveView
from ostinato.cli.shown import Renderer
from ostinato.cli.text_output import TextOutput
from ostinato.cli.tool_lines import described
from ostinato.errors import ModelError
from ostinato.events import (
    AssistantEvent,
    Event,
    RequestStart,
    Result,
    StreamEvent,
    SystemEvent,
    TextDelta,
    Tombstone,
)
from ostinato.loop.attempt_notices import retry_notice
from ostinato.messages import SystemMessage, ToolUse, api_error_message, notice_message
from ostinato.testing import call, say, think

READ = call("Read", "t1", file_path="src/a.py")
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-old\x1b[31m\n+new\n"
MARKUP = ["[/dim]", "[bold", "a[0]", "[=x", "[link=https://x]", "[/]", "\\[", ":warning:", "<b>", "%s", "{0}"]


def play(renderer: Renderer, events: Iterable[Event]) -> tuple[str, str]:
    """Everything on standard output and everything on standard error."""
    shown = [renderer.begin(), *(renderer.show(event) for event in events)]
    return b"".join(one.out for one in shown).decode(), "".join(one.talk for one in shown)


def text_output(*, is_verbose: bool = False, is_terminal: bool = False) -> TextOutput:
    return TextOutput(is_verbose=is_verbose, is_terminal=is_terminal, resume_hint="go on with X")


def live(*, has_colour: bool = False) -> LiveView:
    return LiveView(has_colour=has_colour, monotonic_s=lambda: 1.0)


WORK = [
    *reply(1, say("I look."), READ),
    *ran(READ, "text"),
    *reply(2, think("hm"), say("It is"), say(" fine.")),
]


def test_text_is_the_last_response_alone():
    assert play(text_output(), [*WORK, ended(responses=2)]) == ("It is fine.\n", "")


def test_text_that_ends_a_line_gets_no_second_end():
    assert play(text_output(), [*reply(1, say("a\n")), ended()])[0] == "a\n"


def test_no_answer_is_no_line():
    assert play(text_output(), [*reply(1, think("hm")), ended()]) == ("", "")


def test_retracted_text_is_no_answer():
    events = [*reply(1, say("half")), Tombstone("msg_1/0"), *reply(2, say("whole")), ended()]
    assert play(text_output(), events)[0] == "whole\n"
    assert play(text_output(), [*reply(1, say("half")), Tombstone("msg_1/0"), ended()])[0] == ""


def test_data_stays_as_it_is_but_a_terminal_is_protected():
    events = [*reply(1, say("a\x1b[31mb")), ended()]
    assert play(text_output(), events)[0] == "a\x1b[31mb\n"
    assert play(text_output(is_terminal=True), events)[0] == "ab\n"


def test_verbose_tells_tools_with_their_main_argument_and_time():
    _, talk = play(text_output(is_verbose=True), [*WORK, ended(responses=2)])
    assert talk == "→ Read(src/a.py)\n← Read(src/a.py): done, 1.2 s\n"


@pytest.mark.parametrize(
    "reason", ["aborted_streaming", "aborted_tools", "refused", "hook_stopped", "blocking_limit"]
)
def test_every_early_end_is_told_and_has_no_answer(reason: str):
    out, talk = play(text_output(), [*reply(1, say("a")), ended(reason)])  # pyright: ignore[reportArgumentType] - parametrised
    assert out == ""
    assert talk.startswith("error: ")


@pytest.mark.parametrize("reason", ["max_turns", "budget_exhausted"])
def test_what_was_said_before_a_limit_ended_the_work_is_printed(reason: str):
    out, talk = play(text_output(), [*reply(1, say("so far"), READ), *ran(READ, "x"), ended(reason)])  # pyright: ignore[reportArgumentType] - parametrised
    assert out == "so far\n"
    assert talk.startswith("error: ")


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_reply_that_a_limit_cuts_is_printed_as_far_as_it_came(cut: int):
    answer = reply(2, say("one. "), say("It is fine."))
    events = [*reply(1, say("I look."), READ), *ran(READ, "x"), *answer[:cut]]
    streamed = "".join(
        event.event.text
        for event in answer[:cut]
        if isinstance(event, StreamEvent) and isinstance(event.event, TextDelta)
    )
    out, _ = play(text_output(), [*events, ended("budget_exhausted")])
    assert out == f"{streamed or 'I look.'}\n"


def waits(attempt: int) -> SystemEvent:
    error = ModelError("cannot reach it", kind="connection", retry=True)
    return SystemEvent(retry_notice(f"n{attempt}", error, 1.5, attempt=attempt, max_retries=9))


@pytest.mark.parametrize("renderer", [text_output(), JsonOutput(is_verbose=False, resume_hint="")])
def test_each_wait_before_a_retry_and_each_warning_is_told_in_a_line(renderer: Renderer):
    warning = SystemEvent(notice_message("w", "budget_warning", "81 % is used\x1b[31m", level="warning"))
    info = SystemEvent(notice_message("i", "model_note", "nothing much"))
    _, talk = play(renderer, [waits(2), waits(3), warning, info])
    first, second, third = talk.splitlines()
    assert first.startswith("note: cannot reach it")
    assert ("1.5 s" in first, "attempt 2 of 10" in first, "attempt 3 of 10" in second) == (True, True, True)
    assert third == "note: 81 % is used\\u{1b}[31m"


def test_a_limit_that_comes_while_a_call_is_made_again_names_what_failed():
    late = ended("budget_exhausted", error="the time is over")

    def error(*events: Event) -> str:
        lines = play(text_output(), [*events, late])[1].splitlines()
        return next(line for line in lines if line.startswith("error: "))

    assert "cannot reach it" in error(waits(2))
    assert "cannot reach it" not in error(waits(2), *reply(1, say("a")))


def test_an_error_is_told_with_its_hint_and_not_as_the_answer():
    note = AssistantEvent(api_error_message("n", "m", "overloaded\n\nhint: wait"))
    events = [note, ended("model_error", error="overloaded\x1b[31m", hint="wait", error_kind="overloaded")]
    assert play(text_output(), events) == ("", "error: overloaded\\u{1b}[31m\n\nhint: wait\n")


def test_a_cut_answer_is_printed_and_the_cut_is_told():
    note = AssistantEvent(api_error_message("n", "m", "cut at 10 tokens"))
    assert play(text_output(), [*reply(1, say("half")), note, ended()]) == (
        "half\n",
        "note: cut at 10 tokens\n",
    )


@pytest.mark.parametrize("is_error", [True, False])
@pytest.mark.parametrize("is_verbose", [True, False])
def test_what_the_program_answers_itself_is_said_once(is_error: bool, is_verbose: bool):
    text = "the answer\n"
    message = SystemMessage("s", "local_command_output", text, "error" if is_error else "info")
    result = Result("error_during_execution" if is_error else "success", "session", "r", text=text)
    shown = play(text_output(is_verbose=is_verbose), [SystemEvent(message), result])
    assert shown == (("", text) if is_error else (text, ""))


def test_denied_calls_are_listed():
    write = call("Write", "w", file_path="x", content="y")
    events = [*reply(1, write), *refused(write), *reply(2, say("no")), ended(denials=[denial(write)])]
    assert play(text_output(), events) == ("no\n", "denied: Write(x) (nobody can be asked)\n")


# ------------------------------------------------------------------------------------------------ live


def test_live_shows_text_tools_and_cost_in_order():
    out, talk = play(live(), [*WORK, ended(responses=2)])
    assert talk == ""
    assert out.splitlines() == [
        "I look.",
        "→ Read(src/a.py)",
        "← Read(src/a.py): done, 1.2 s",
        "It is",
        " fine.",
        "(200 tokens in, 40 out, 0.0 s)",
    ]


def test_where_no_tokens_are_known_none_are_counted():
    out, _ = play(live(), [ended(responses=0)])
    assert out.splitlines()[-1] == "(0.0 s)"


def test_a_reply_that_did_not_stream_is_shown_once():
    whole = [event for event in reply(1, say("hello")) if isinstance(event, AssistantEvent)]
    assert play(live(), [*whole, ended()])[0].splitlines()[0] == "hello"
    assert play(live(), [*reply(1, say("hello")), ended()])[0].count("hello") == 1


def test_diffs_are_shown_with_colours_of_our_own_only():
    edit = call("Edit", "e", file_path="x.py")
    events = [*reply(1, edit), *ran(edit, "edited", {"path": "x.py", "diff": DIFF}), ended()]
    plain, coloured = play(live(), events)[0], play(live(has_colour=True), events)[0]
    assert "-old\n+new\n" in plain
    assert "\x1b" not in plain
    assert "\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n" in coloured


@pytest.mark.parametrize("text", MARKUP)
def test_markup_in_anything_is_shown_as_it_is(text: str):
    bash = call("Bash", "b", command=text)
    events = [*reply(1, say(text), bash), *ran(bash, text, {"diff": f"+{text}"}), ended()]
    lines = play(live(has_colour=False), events)[0].splitlines()
    assert lines[:4] == [text, f"→ Bash({text})", f"← Bash({text}): done, 1.2 s", f"+{text}"]


@pytest.mark.parametrize("piece_end", range(1, 12))
def test_a_sequence_split_over_deltas_never_reaches_the_screen(piece_end: int):
    text = "a" * piece_end + "\x1b]52;c;ZXZpbA==\x07b\x9b31mc"
    out, _ = play(live(), [*reply(1, say(text)), ended()])
    assert out.splitlines()[0] == "a" * piece_end + "bc"


def test_a_withdrawn_reply_is_said_to_be():
    events = [*reply(1, say("half")), Tombstone("msg_1/0"), *reply(2, say("whole")), ended()]
    assert play(live(), events)[0].splitlines()[1].startswith("(the reply above")


def test_a_reply_of_which_nothing_stands_there_is_not_called_withdrawn():
    events = [*reply(1, say("whole")), RequestStart(MODEL, 1), Tombstone("msg_2/0"), ended()]
    assert "withdrawn" not in play(live(), events)[0]
    several = [*reply(1, say("half")), Tombstone("msg_1/0"), Tombstone("msg_1/1"), ended()]
    assert play(live(), several)[0].count("withdrawn") == 1


NAMED: list[tuple[dict[str, Any], str]] = [
    (
        {"questions": [{"question": "Which colour?", "options": []}, {"question": "Why?"}]},
        "Which colour? Why?",
    ),
    ({"questions": "odd"}, '{"questions":"odd"}'),
    ({"todos": [{}]}, "1 step"),
    ({"todos": []}, "0 steps"),
    ({"todos": "odd"}, '{"todos":"odd"}'),
    ({}, ""),
]


@pytest.mark.parametrize(
    ("given", "shown"),
    NAMED,
)
def test_a_call_without_a_file_or_command_is_named_by_what_a_person_can_read(
    given: dict[str, Any], shown: str
):
    assert described(ToolUse("t", "Tool", given)) == f"Tool({shown})"
