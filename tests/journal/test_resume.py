"""A crash leaves calls open; each gets exactly one answer that says what is known, and none is run again."""

from collections.abc import Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversations import CONVERSATIONS

from ostinato.history import History
from ostinato.journal.resume import NOT_RUN, READ_ONLY_INTERRUPTED, OpenCall, answers, open_calls
from ostinato.messages import (
    AssistantMessage,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.records import (
    Boundary,
    FileIntended,
    Record,
    Retract,
    Snip,
    ToolFinished,
    ToolStarted,
    Undo,
)
from ostinato.testing.counting_ids import CountingIds


def call(name: str, call_id: str, **arguments: str) -> AssistantMessage:
    return assistant_fragment(f"f-{call_id}", "r1", "m", ToolUse(call_id, name, arguments))


def result(call_id: str, content: str = "ok") -> UserMessage:
    return tool_result_message(f"u-{call_id}", ToolResult(call_id, content))


def no_file(path: str) -> str | None:
    return ""


def answered(records: Sequence[Record], hashes: dict[str, str | None] | None = None) -> list[ToolResult]:
    made = answers(
        open_calls(records),
        uuid=CountingIds("new").uuid,
        content_hash=lambda path: (hashes or {}).get(path, ""),
    )
    return [block for message in made for block in message.content if isinstance(block, ToolResult)]


PROMPT = user_prompt("p", "go")


def test_a_call_that_was_not_started_says_that_it_was_not_run():
    assert answered([PROMPT, call("Bash", "a", command="rm x")]) == [ToolResult("a", NOT_RUN, is_error=True)]


def test_a_started_call_that_only_reads_may_be_made_again():
    records = [PROMPT, call("Read", "a"), ToolStarted("a", "Read", is_read_only=True)]
    assert answered(records) == [ToolResult("a", READ_ONLY_INTERRUPTED, is_error=True)]


def test_a_started_call_with_effects_has_an_unknown_outcome_and_says_what_it_was():
    records = [PROMPT, call("Bash", "a", command="make deploy"), ToolStarted("a", "Bash", is_read_only=False)]
    (answer,) = answered(records)
    assert answer.is_error
    assert "unknown" in str(answer.content)
    assert "make deploy" in str(answer.content)


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ("after", "was made"),
        ("before", "was not made"),
        ("third", "unknown"),
        (None, "unknown"),
        ("", "unknown"),
    ],
)
def test_a_file_change_is_judged_by_the_file(now: str | None, says: str):
    records = [
        PROMPT,
        call("Edit", "a", file_path="/x"),
        ToolStarted("a", "Edit", is_read_only=False),
        FileIntended("a", "/x", "before", "after"),
    ]
    (answer,) = answered(records, {"/x": now})
    assert answer.is_error
    assert says in str(answer.content)


def test_a_finished_call_is_not_answered_again():
    records = [
        PROMPT,
        call("Bash", "a"),
        call("Bash", "b"),
        ToolStarted("a", "Bash", is_read_only=False),
        result("a"),
        ToolFinished("a", "ok"),
    ]
    assert [open_call.call.id for open_call in open_calls(records)] == ["b"]


# ------------------------------------------------------------------ ids that come twice


def test_a_call_that_is_written_to_have_ended_twice_has_the_one_result_and_is_not_answered_again():
    ends = [ToolFinished("a", "ok"), ToolFinished("a", "ok"), ToolFinished("a", "error")]
    records = [PROMPT, call("Bash", "a"), ToolStarted("a", "Bash", is_read_only=False), result("a"), *ends]
    assert open_calls(records) == ()
    before = History.fold(records[:-3]).view()
    assert History.fold(records).view() == before


@pytest.mark.parametrize(
    ("ends", "says"), [(("ok",), "had ended (`ok`)"), (("ok", "ok"), "`ok`"), (("ok", "error"), "unknown")]
)
def test_a_call_that_ended_and_lost_its_result_is_answered_once_with_what_is_written_of_it(
    ends: Sequence[Literal["ok", "error"]], says: str
):
    started = ToolStarted("a", "Bash", is_read_only=False)
    (answer,) = answered([PROMPT, call("Bash", "a"), started, *(ToolFinished("a", end) for end in ends)])
    assert answer.is_error
    assert says in str(answer.content)


def again(call_id: str) -> AssistantMessage:
    """Another call of the same id, in a later reply."""
    return assistant_fragment("f2", "r2", "m", ToolUse(call_id, "Edit", {"file_path": "/x"}))


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_what_an_earlier_call_of_the_same_id_did_is_not_taken_for_the_later_one(is_taken_back: bool):
    records: list[Record] = [
        PROMPT,
        call("Edit", "a", file_path="/x"),
        ToolStarted("a", "Edit", is_read_only=False),
        FileIntended("a", "/x", "before", "after"),
        result("a"),
        ToolFinished("a", "ok"),
    ]
    if is_taken_back:
        records.append(Retract("e", ("f-a", "u-a")))
    (answer,) = answered([*records, again("a")], {"/x": "after"})
    assert answer == ToolResult("a", NOT_RUN, is_error=True)


def test_a_later_call_of_the_same_id_is_judged_by_its_own_files():
    earlier = FileIntended("a", "/x", "first", "second")
    own = FileIntended("a", "/x", "second", "third")
    started = ToolStarted("a", "Edit", is_read_only=False)
    records = [PROMPT, call("Edit", "a"), started, earlier, result("a"), ToolFinished("a", "ok")]
    (answer,) = answered([*records, again("a"), started, own], {"/x": "second"})
    assert "was not made" in str(answer.content)
    assert "unknown" not in str(answer.content)
    assert "was made:" not in str(answer.content)


def test_answers_stand_in_the_order_of_their_calls_among_the_results_that_were_kept():
    records: list[Record] = [PROMPT, call("A", "a"), call("B", "b"), call("C", "c"), result("b")]
    made = answers(open_calls(records), uuid=CountingIds("new").uuid, content_hash=no_file)
    view = History.fold([*records, *made]).view()
    results = view[2]
    assert isinstance(results, UserMessage)
    assert [b.tool_use_id for b in results.content if isinstance(b, ToolResult)] == ["a", "b", "c"]


def test_retracted_and_summarised_calls_are_not_open():
    marker = meta_prompt("s", "summary", origin="summary")
    records = [PROMPT, call("Bash", "a"), ToolStarted("a", "Bash", is_read_only=False)]
    for edit in (Retract("e", ("f-a",)), Boundary("e", marker), Snip("e", "f-a", "f-a", marker)):
        assert open_calls([*records, edit]) == ()
        assert len(open_calls([*records, edit, Undo("e2", "e")])) == 1


def test_a_response_that_broke_off_keeps_its_text_and_its_calls_are_answered():
    broken = AssistantMessage("f2", "r1", "m", (Text("and then"),), ("f2",), is_incomplete=True)
    records = [PROMPT, call("Bash", "a"), broken]
    assert open_calls(records) == (OpenCall(ToolUse("a", "Bash", {})),)


def test_a_conversation_without_open_calls_needs_nothing():
    assert open_calls([]) == ()
    assert open_calls([PROMPT, assistant_fragment("f", "r1", "m", Text("hi"))]) == ()
    assert open_calls([PROMPT, call("Bash", "a"), result("a"), user_prompt("q", "more")]) == ()


@settings(max_examples=200, deadline=None)
@given(records=CONVERSATIONS, cut=st.integers(0, 60))
def test_after_resuming_anywhere_the_newest_response_is_answered_once_and_resuming_again_adds_nothing(
    records: list[Record], cut: int
):
    kept = records[:cut]
    made = answers(open_calls(kept), uuid=CountingIds("new").uuid, content_hash=no_file)
    resumed = History.fold([*kept, *made])
    assert open_calls(resumed.log()) == ()
    if resumed.tail and isinstance(resumed.tail[0], AssistantMessage):
        given_ids = {b.tool_use_id for m in made for b in m.content if isinstance(b, ToolResult)}
        held = [
            b.tool_use_id
            for m in resumed.tail
            if isinstance(m, UserMessage)
            for b in m.content
            if isinstance(b, ToolResult)
        ]
        assert all(held.count(call_id) == 1 for call_id in given_ids)
        assert {c.id for c in resumed.tail[0].tool_uses} <= set(held)
