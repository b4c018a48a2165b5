"""A query as it stays on the screen: in order, each thing once, and no text of others with any power over the terminal."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.events import MODEL, ended, ran, refused, reply
from tests.cli.terminal_screen import TerminalScreen

from ostinato.cli.transcript import WITHDRAWN, Transcript
from ostinato.events import (
    AssistantEvent,
    AttachmentEvent,
    BlockStart,
    Event,
    RequestStart,
    ResponseUsage,
    Result,
    StreamEvent,
    SystemEvent,
    TextDelta,
    Tombstone,
    ToolEnd,
    ToolOutput,
    ToolStart,
    UserEvent,
)
from ostinato.messages import (
    ProviderState,
    QueuedCommand,
    ServerBlock,
    SystemMessage,
    Text,
    ToolResult,
    Usage,
    assistant_fragment,
    attachment_message,
    tool_result_message,
)
from ostinato.testing import call, say

PIECES = st.sampled_from([
    *("\x1b", "[2J", "\x1b[2J", "\x1b]0;t\x07", "\x1b]52;c;x", "\x1bP1;1|", "\x9b31m", "\x9d", "\x90"),
    *("\r", "\x08", "\x0b", "\x0c", "\x7f", "\x85", "\u202e", "\u2028", "\x00", "\x07", "&#27;", "&#x9b;"),
    *("```\n", "```sh\n", "# ", "- ", "| a |\n|-|\n", "**", "`", "\n", "\n\n", "> ", "[x](\x1b[31m)"),
    *("word ", "中文", "e\u0301", "👩\u200d👧", "\u200b", "\t", "x" * 90),
])
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def transcript(*, columns: int = 60, has_colour: bool = True, now_s: float = 0.0) -> Transcript:
    return Transcript(has_colour=has_colour, monotonic_s=lambda: now_s, columns=lambda: columns)


def shown(*events: Event) -> str:
    script = transcript(has_colour=False)
    return "".join(map(script.take, events))


def deltas(*texts: str) -> list[Event]:
    return [StreamEvent(BlockStart(0, "text")), *(StreamEvent(TextDelta(0, text)) for text in texts)]


@settings(deadline=None)
@given(text=TEXTS, columns=st.integers(min_value=2, max_value=70))
def test_nothing_but_our_own_sequences_reaches_the_terminal_wherever_the_text_is_cut(text: str, columns: int):
    """The screen raises for any other sequence or control character."""
    one = call("Bash", "t1", command=text)
    result = tool_result_message("r", ToolResult("t1", text), display={"diff": text})
    events: list[Event] = [
        *deltas(*text),
        AssistantEvent(assistant_fragment("a", "m", MODEL, Text(text))),
        AssistantEvent(assistant_fragment("b", "m", MODEL, one)),
        ToolStart("t1", "Bash", {"command": text}),
        *(ToolOutput("t1", "Bash", character) for character in text),
        ToolEnd("t1", "Bash", "error", 5),
        UserEvent(result),
        ToolStart("t2", text or "x", {text: text}),
        ToolEnd("t2", text or "x", "ok", 5),
        UserEvent(tool_result_message("r2", ToolResult("t2", text, is_error=True))),
        SystemEvent(SystemMessage("s", "note", text)),
        AttachmentEvent(attachment_message("q", QueuedCommand(text))),
        ended("model_error", error=text, hint=text),
    ]
    script, screen = transcript(columns=columns), TerminalScreen(columns, 40)
    screen.feed(script.prompt(text))
    for event in events:
        screen.feed(script.take(event))
        for line in script.live_lines(columns, 12):
            assert "\n" not in line
            screen.feed(f"{line}\r\n")


@settings(deadline=None)
@given(text=TEXTS, columns=st.integers(min_value=20, max_value=60))
def test_no_live_line_is_wider_than_the_terminal(text: str, columns: int):
    script = transcript(columns=columns)
    for event in (*deltas(text), ToolStart("t1", "Bash", {"command": text}), ToolOutput("t1", "Bash", text)):
        script.take(event)
    lines = script.live_lines(columns, 12)
    assert len(lines) <= 12
    assert all(cell_len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= columns for line in lines)


def test_a_streamed_text_stands_there_once():
    assert shown(*reply(1, say("one\n\ntwo"))).count("two") == 1


def test_a_text_that_did_not_stream_is_shown_whole():
    message = assistant_fragment("a", "m", MODEL, Text("one\n\ntwo"))
    assert shown(AssistantEvent(message)) == "\none\n\ntwo\n"


def test_what_the_provider_searched_is_told_between_what_was_said():
    state = ProviderState("anthropic", "m", "{}")
    searched = ServerBlock("call", "s1", "searched the web: bells\x1b[2J", state)
    found = ServerBlock("result", "s1", "found 2 pages\nA – https://a.example/", state)
    blocks = [
        AssistantEvent(assistant_fragment(str(number), "m", MODEL, one))
        for number, one in enumerate((searched, found))
    ]
    screen = shown(
        *deltas("let me see"),
        AssistantEvent(assistant_fragment("a", "m", MODEL, Text("let me see"))),
        *blocks,
    )
    assert screen.split("\n") == ["", "let me see", "", "searched the web: bells", "found 2 pages", ""]


def test_what_was_cut_off_stays_and_is_called_withdrawn():
    screen = shown(*deltas("half a sen"), Tombstone("a"), *reply(2, say("whole")))
    assert screen == f"\nhalf a sen\n\n{WITHDRAWN}\nwhole\n"


def test_a_text_that_breaks_off_without_an_end_is_not_lost():
    assert "half a sen" in shown(*deltas("half a sen"), ended("model_error", error="gone"))


def test_the_result_of_a_tool_waits_until_the_text_around_it_is_whole():
    one = call("Bash", "t1", command="ls")
    events = [*ran(one, "listed"), *deltas("```\n" + "code\n" * 20)]
    screen = shown(*events[:2], *events[3:], events[2], *reply(1, say("after")))
    assert "  code\n" * 20 in screen
    assert screen.index("listed") > screen.rindex("code")


def test_parallel_tools_keep_their_results_under_their_own_lines():
    first, second = call("Bash", "t1", command="one"), call("Bash", "t2", command="two")
    start1, end1, result1 = ran(first, "from one")
    start2, end2, result2 = ran(second, "from two")
    screen = shown(start1, start2, end2, end1, result1, result2)
    assert screen == ("\n● Bash(one), 1.2 s\n  │ from one\n● Bash(two), 1.2 s\n  │ from two\n")


def test_ten_tools_are_shown_while_they_run_and_the_others_counted():
    script = transcript(has_colour=False, now_s=7.0)
    for number in range(14):
        script.take(ToolStart(f"t{number}", "Bash", {"command": f"c{number}"}))
    lines = script.live_lines(60, 40)
    assert len(lines) == 10
    assert lines[0] == "● Bash(c0) 0 s"
    assert lines[-1] == "  … 5 more"


def test_what_a_tool_wrote_last_is_what_a_terminal_would_show_last():
    script = transcript(has_colour=False)
    script.take(ToolStart("t1", "Bash", {"command": "pip"}))
    for text in ("start\n", "10 %\r2", "0 %", "\r"):
        script.take(ToolOutput("t1", "Bash", text))
    assert script.live_lines(60, 10) == ["● Bash(pip) 0 s │ 20 %"]


def test_long_output_is_folded_with_a_count_and_read_files_are_only_counted():
    text = "\n".join(f"line {number}" for number in range(100))
    bash = shown(*ran(call("Bash", "t1", command="x"), text))
    assert "  │ line 2\n  │ … 92 more lines\n  │ line 95\n" in bash
    assert shown(*ran(call("Read", "t1", file_path="x"), text)) == "\n● Read(x), 1.2 s (100 lines)\n"
    part = shown(*ran(call("Read", "t1", file_path="x"), text, display={"is_incomplete": True}))
    assert part == "\n● Read(x), 1.2 s (100 lines, not all)\n"


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
def test_a_command_in_the_background_is_named_and_its_output_shown_as_any_commands(name: str):
    text = "[bash_1: running for 3 s]\n" + "\n".join(f"line {number}" for number in range(100))
    screen = shown(*ran(call(name, "t1", task_id="bash_1", block=True), text))
    assert screen.startswith(f"\n● {name}(bash_1), 1.2 s\n  │ [bash_1: running for 3 s]\n  │ line 0\n")
    assert "  │ line 1\n  │ … 93 more lines\n  │ line 95\n" in screen


def test_a_diff_is_shown_in_place_of_the_result_and_folded():
    diff = "--- a\n+++ b\n" + "+new\n" * 100
    screen = shown(*ran(call("Write", "t1", file_path="x"), "written", {"diff": diff}))
    assert screen.count("+new") == 58
    assert "… 42 more lines" in screen
    assert "written" not in screen


@pytest.mark.parametrize("outcome", ["denied", "cancelled", "timed_out", "error"])
def test_a_call_that_did_not_end_well_says_so_and_what_it_was_about(outcome: str):
    one = call("Bash", "t1", command="rm x")
    screen = shown(*reply(1, one), *refused(one))
    assert "Bash(rm x): denied" in screen


def test_a_query_that_ends_in_the_middle_leaves_no_tool_running():
    script = transcript(has_colour=False)
    script.take(ToolStart("t1", "Bash", {"command": "x"}))
    assert "Bash(x): no result" in script.take(ended("aborted_tools"))
    assert script.live_lines(60, 10) == []


def test_what_was_queued_stands_there_when_the_model_takes_it_up():
    assert shown(AttachmentEvent(attachment_message("q", QueuedCommand("and\nthis")))) == "\n> and\n  this\n"


@pytest.mark.parametrize("markup", ["[/dim]", "[bold", "a[0]", "[link=x]", "[/]", ":warning:"])
def test_nothing_is_markup(markup: str):
    assert markup in shown(*reply(1, say(markup)))
    assert markup in shown(*ran(call("Bash", "t1", command=markup), "x"))
    assert markup in shown(*ran(call("Bash", "t1", command="x"), markup))


def test_what_a_person_sent_stands_there_in_short_where_it_is_a_whole_file():
    pasted = "\n".join(f"line {number}" for number in range(20_000)) + "\n" + "x" * 100_000
    text = transcript(has_colour=False).prompt(pasted)
    assert text.count("\n") < 50
    assert len(text) < 5_000
    assert text.startswith("\n> line 0\n  line 1\n")
    assert "more lines\n" in text
    assert transcript(has_colour=False).prompt("a\nb") == "\n> a\n  b\n"


# ------------------------------------------------------------------ a reply that is withdrawn, or gone on with


def asked() -> Event:
    return RequestStart(MODEL, 1)


def stopped(reason: str) -> Event:
    return ResponseUsage("m", MODEL, Usage(), reason)


def text_block(*texts: str) -> list[Event]:
    whole = assistant_fragment("a", "m", MODEL, Text("".join(texts)))
    return [*deltas(*texts), AssistantEvent(whole)]


def test_what_nobody_saw_is_not_called_withdrawn():
    thought = StreamEvent(BlockStart(0, "thinking"))
    assert WITHDRAWN not in shown(*text_block("answer"), asked(), thought, Tombstone("a"))
    assert WITHDRAWN not in shown(asked(), Tombstone("a"), *reply(2, say("whole")))


def test_a_reply_in_several_messages_is_called_withdrawn_once():
    screen = shown(asked(), *text_block("one"), *text_block("two"), *[Tombstone(uuid) for uuid in "abc"])
    assert screen.count(WITHDRAWN) == 1
    assert screen.index("two") < screen.index(WITHDRAWN)


def test_calls_of_a_withdrawn_reply_are_listed_no_more():
    one = call("Glob", "t1", pattern="*")
    start, end, result = ran(one, "a.py")
    wanted = AssistantEvent(assistant_fragment("b", "m", MODEL, call("Look", "t2")))
    over = ended("model_error", error="gone")
    for events in ((wanted, start, Tombstone("b"), end), (wanted, start, end, Tombstone("b"))):
        assert "Glob" not in shown(asked(), *events, ToolEnd("t2", "Look", "cancelled", 0), over)
    again = (start, end, result)
    assert shown(asked(), start, Tombstone("b"), end, asked(), *again, over).count("Glob") == 1


CODE = "```py\nx = 12\n```"


@pytest.mark.parametrize("reason", ["max_tokens", "pause_turn", "model_context_window_exceeded"])
@pytest.mark.parametrize("cut", range(1, len(CODE)))
def test_a_text_that_goes_on_after_a_cut_is_drawn_as_one(cut: int, reason: str):
    thought = StreamEvent(BlockStart(0, "thinking"))
    meant = shown(*text_block(f"look\n{CODE}\nend"), stopped("end_turn"), ended())
    parts = [text_block(f"look\n{CODE[:cut]}"), text_block(f"{CODE[cut:]}\nend")]
    screen = shown(
        asked(), *parts[0], stopped(reason), asked(), thought, *parts[1], stopped("end_turn"), ended()
    )
    assert screen.split() == meant.split()
    if not CODE[:cut].endswith("\n"):
        assert screen == meant


def test_a_cut_text_that_nothing_goes_on_with_is_shown():
    for end in (ended(), Tombstone("a"), SystemEvent(SystemMessage("s", "note", "told"))):
        assert "half a sen" in shown(*text_block("half a sen"), stopped("max_tokens"), end)
    calls = [
        StreamEvent(BlockStart(0, "tool_use", "t1", "Bash")),
        *ran(call("Bash", "t1", command="ls"), "x"),
    ]
    screen = shown(*text_block("half a sen"), stopped("max_tokens"), asked(), *calls)
    assert screen.index("half a sen") < screen.index("Bash")


def test_a_text_is_finished_when_its_reply_is():
    assert shown(*text_block("one"), stopped("end_turn")) == "\none\n"
    assert shown(*text_block("one"), stopped("")) == "\none\n"


@pytest.mark.parametrize(("left", "is_told"), [(None, False), (12, True), (0, True)])
def test_the_line_below_an_answer_says_when_a_summary_is_near(left: int | None, is_told: bool):
    result = Result("success", "s", "u", terminal_reason="completed", turn_count=1, context_left_percent=left)
    assert (f"{left} %" in shown(result)) is is_told
