"""The view is a pure projection of the log; it is the same live, folded and read back, and no snapshot ever changes."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from tests.conversations import CONVERSATIONS, long_conversation, plain_conversation, prompt

from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    meta_prompt,
    tool_result_message,
)
from ostinato.records import (
    AnyEdit,
    Boundary,
    Edit,
    Fold,
    Record,
    ReplaceResult,
    Retract,
    Snip,
    StripMedia,
    Undo,
)

PICTURE = Image("image/png", "AAAA")


def said(uuid: str, text: str, response: str = "r1") -> AssistantMessage:
    return assistant_fragment(uuid, response, "m", Text(text))


def called(uuid: str, call_id: str, response: str = "r1") -> AssistantMessage:
    return assistant_fragment(uuid, response, "m", ToolUse(call_id, "Bash", {}))


def answered(uuid: str, call_id: str, content: str = "ok") -> UserMessage:
    return tool_result_message(uuid, ToolResult(call_id, content))


def view_of(*records: Record) -> list[Message]:
    return History.empty().extend(records).view()


def uuids(view: Sequence[Message]) -> list[str]:
    return [message.uuid for message in view]


def results_in(view: Sequence[Message]) -> list[tuple[str, str]]:
    return [
        (block.tool_use_id, str(block.content))
        for message in view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    ]


def same(left: History, right: History) -> None:
    assert left.log() == right.log()
    assert left.view() == right.view()
    assert left.tail == right.tail
    assert left.last_response == right.last_response
    assert len(left) == len(left.view()) == len(right)


# ------------------------------------------------------------------------------------------------ properties


@settings(max_examples=400, deadline=None)
@given(records=CONVERSATIONS)
@example(records=[Undo("e1", "e2"), prompt("m1"), Retract("e2", ("m1",))])
@example(records=[prompt("m1"), Retract("e2", ("m1",)), Undo("e3", "e2"), Undo("e4", "e3"), Undo("e5", "e4")])
def test_the_folded_history_is_the_live_one_after_every_record(records: list[Record]):
    live = History.empty()
    for count, record in enumerate(records, 1):
        live = live.append(record)
        if count % 7 == 0:
            same(History.fold(records[:count]), live)
    same(History.fold(records), live)
    assert live.log() == records


@settings(max_examples=150, deadline=None)
@given(records=CONVERSATIONS)
def test_no_snapshot_changes_when_a_later_one_grows(records: list[Record]):
    snapshots = [History.empty()]
    for record in records:
        snapshots.append(snapshots[-1].append(record))
    for count, snapshot in enumerate(snapshots):
        same(snapshot, History.fold(records[:count]))


@settings(max_examples=150, deadline=None)
@given(records=CONVERSATIONS, others=CONVERSATIONS)
def test_branches_of_one_snapshot_do_not_meet(records: list[Record], others: list[Record]):
    trunk = History.empty().extend(records[:10])
    left, right = trunk, trunk
    for one, other in zip(records[10:], others, strict=False):
        left, right = left.append(one), right.append(other)
    length = min(len(records[10:]), len(others))
    same(left, History.empty().extend([*records[:10], *records[10:][:length]]))
    same(right, History.empty().extend([*records[:10], *others[:length]]))
    same(trunk, History.empty().extend(records[:10]))


def made_by(edit: Edit) -> set[str]:
    match edit:
        case Snip():
            return {edit.marker.uuid}
        case Fold() | Boundary():
            return {edit.summary.uuid}
        case _:
            return set()


def named_in(records: Sequence[Record]) -> set[str]:
    """Where edits begin and end."""
    spans = {uuid for r in records if isinstance(r, Snip | Fold) for uuid in (r.first, r.last)}
    return spans | {r.kept_from for r in records if isinstance(r, Boundary)}


@settings(max_examples=150, deadline=None)
@given(records=CONVERSATIONS)
def test_undoing_an_edit_is_never_having_made_it(records: list[Record]):
    edits = [r for r in records if isinstance(r, Edit) and not isinstance(r, Undo)]
    kept = [r for r in records if not isinstance(r, Undo)]
    for edit in [edit for edit in edits if not made_by(edit) & named_in(kept)][:5]:
        undone = History.fold(kept).append(Undo("last", edit.edit_id))
        without = History.fold([r for r in kept if r is not edit])
        assert undone.view() == without.view()
        assert undone.append(Undo("very last", "last")).view() == History.fold(kept).view()


@settings(max_examples=150, deadline=None)
@given(records=CONVERSATIONS)
def test_without_edits_nothing_said_is_lost_and_each_response_is_one_message(records: list[Record]):
    messages = [r for r in records if not isinstance(r, Edit)]
    view = History.fold(messages).view()
    spoken = [m for m in view if isinstance(m, AssistantMessage)]
    assert sum(len(m.content) for m in spoken) == sum(isinstance(m, AssistantMessage) for m in messages)
    answers = [b for m in messages if isinstance(m, UserMessage) for b in m.content]
    assert len(answers) == sum(len(m.content) for m in view if isinstance(m, UserMessage))


@settings(max_examples=100, deadline=None)
@given(records=CONVERSATIONS)
def test_block_ids_name_every_block_or_none(records: list[Record]):
    for message in History.fold(records).view():
        if isinstance(message, UserMessage | AssistantMessage) and message.block_ids:
            assert len(message.block_ids) == len(message.content)


def test_ten_thousand_messages_and_five_hundred_edits_fold_to_the_live_view():
    records = long_conversation(messages=10_000, edits=500, seed=7)
    live = History.empty()
    for record in records:
        live = live.append(record)
    same(History.fold(records), live)
    assert sum(isinstance(r, Undo) for r in records) > 20


def test_appending_shares_what_was_there():
    history = History.empty().extend(plain_conversation(400))
    longer = history.append(prompt("a")).append(prompt("b"))
    assert longer.closed is history.closed
    assert history.closed_length < longer.closed_length


# ------------------------------------------------------------------------------------------------ responses and results


def test_fragments_of_a_response_are_one_message():
    view = view_of(prompt("p"), said("f1", "a"), called("f2", "t1"))
    assert uuids(view) == ["p", "f1"]
    assert view[1] == AssistantMessage("f1", "r1", "m", (Text("a"), ToolUse("t1", "Bash", {})), ("f1", "f2"))


@pytest.mark.parametrize("order", ["abc", "cab", "bca", "cba"])
def test_results_stand_in_the_order_of_their_calls_however_they_arrive(order: str):
    calls = [called(f"f{name}", name) for name in "abc"]
    view = view_of(prompt("p"), *calls, *(answered(f"u{name}", name) for name in order))
    assert results_in(view) == [("a", "ok"), ("b", "ok"), ("c", "ok")]
    assert len(view) == 3


def test_a_result_may_arrive_before_a_later_fragment_of_its_response():
    view = view_of(
        prompt("p"),
        called("f1", "a"),
        answered("u1", "a"),
        called("f2", "b"),
        said("f3", "z"),
        answered("u2", "b"),
    )
    assert [len(m.content) for m in view if isinstance(m, AssistantMessage)] == [3]
    assert results_in(view) == [("a", "ok"), ("b", "ok")]


def test_an_answer_to_an_older_response_does_not_break_the_answers_of_the_newest():
    records = (
        prompt("p"),
        called("f1", "a", "r1"),
        called("f2", "b", "r2"),
        answered("u1", "a"),
        answered("u2", "b"),
    )
    assert sorted(results_in(view_of(*records))) == [("a", "ok"), ("b", "ok")]
    assert results_in(view_of(*records, Retract("e", ("u1",)))) == [("b", "ok")]


def test_a_whole_message_and_a_late_fragment_of_it_can_be_taken_apart_again():
    whole = AssistantMessage("w", "r1", "m", (Text("one"), Text("two")))
    history = History.empty().extend([prompt("p"), whole, said("f", "three")])
    assert [m.text for m in history.view() if isinstance(m, AssistantMessage)] == ["onetwothree"]
    assert [
        m.text for m in history.append(Retract("e", ("f",))).view() if isinstance(m, AssistantMessage)
    ] == ["onetwo"]
    assert uuids(history.append(Retract("e", ("w", "f"))).view()) == ["p"]


# ------------------------------------------------------------------------------------------------ edits


def test_retracting_one_fragment_leaves_the_others_and_their_results():
    records = (prompt("p"), called("f1", "a"), called("f2", "b"), answered("u1", "a"), answered("u2", "b"))
    view = view_of(*records, Retract("e", ("f2", "u2")))
    assert [c.id for m in view if isinstance(m, AssistantMessage) for c in m.tool_uses] == ["a"]
    assert results_in(view) == [("a", "ok")]


def test_the_response_goes_on_after_its_first_fragment_was_retracted():
    view = view_of(prompt("p"), said("f1", "a"), said("f2", "b"), Retract("e", ("f1",)), said("f3", "c"))
    assert [m.text for m in view if isinstance(m, AssistantMessage)] == ["bc"]


def test_a_replaced_result_keeps_its_place_and_its_error_mark():
    failed = tool_result_message("u1", ToolResult("a", "long", is_error=True))
    view = view_of(prompt("p"), called("f1", "a"), failed, ReplaceResult("e", "a", "short"))
    results = view[2]
    assert isinstance(results, UserMessage)
    assert results.content == (ToolResult("a", "short", is_error=True),)


def test_the_later_of_two_edits_on_one_target_wins():
    records = (prompt("p"), called("f1", "a"), answered("u1", "a"))
    edits = (ReplaceResult("e1", "a", "first"), ReplaceResult("e2", "a", "second"))
    assert results_in(view_of(*records, *edits)) == [("a", "second")]
    assert results_in(view_of(*records, *edits, Undo("e3", "e2"))) == [("a", "first")]


def test_a_span_absorbs_the_edits_inside_it_and_gives_them_back_when_undone():
    marker = meta_prompt("s", "snipped", origin="snip")
    records = (
        prompt("p"),
        called("f1", "a"),
        answered("u1", "a"),
        prompt("q"),
        ReplaceResult("e1", "a", "x"),
    )
    snipped = History.empty().extend([*records, Snip("e2", "f1", "u1", marker)])
    assert uuids(snipped.view()) == ["p", "s", "q"]
    assert results_in(snipped.append(Undo("e3", "e2")).view()) == [("a", "x")]


ACCOUNT = meta_prompt("s1", "in short", origin="summary")


def two_rounds_in_short(kind: str) -> History:
    """`p`, then two rounds behind the element `s1`, then `q` and a round."""
    rounds = [*(called(f"f{n}", f"c{n}", f"r{n}") for n in (1,)), answered("u1", "c1")]
    rounds += [called("f2", "c2", "r2"), answered("u2", "c2")]
    history = History.empty().extend([prompt("p"), *rounds, prompt("q")])
    made = {"fold": Fold, "snip": Snip}[kind]("e1", "f1", "u2", ACCOUNT)
    return history.extend([made, called("f3", "c3", "r3"), answered("u3", "c3")])


@pytest.mark.parametrize("kind", ["fold", "snip"])
def test_an_edit_on_top_of_another_holds_when_the_other_is_taken_back(kind: str):
    """It begins or ends where the element stood for what it began or ended with."""
    history, summary = two_rounds_in_short(kind), meta_prompt("s2", "all of it", origin="summary")
    assert uuids(history.view()) == ["p", "s1", "q", "f3", "u3"]
    over: dict[str, tuple[AnyEdit, list[str]]] = {
        "kept from it": (Boundary("e2", summary, "s1"), ["s2", "f1", "u1", "f2", "u2", "q", "f3", "u3"]),
        "from it": (Fold("e2", "s1", "q", summary), ["p", "s2", "f3", "u3"]),
        "up to it": (Snip("e2", "p", "s1", summary), ["s2", "q", "f3", "u3"]),
    }
    for edit, expected in over.values():
        both = history.append(edit)
        undone = both.append(Undo("x", "e1"))
        assert uuids(undone.view()) == expected
        assert undone.append(Undo("y", "x")).view() == both.view()
        assert uuids(undone.append(Undo("y", "e2")).view()) == ["p", "f1", "u1", "f2", "u2", "q", "f3", "u3"]


def test_a_summary_that_began_with_an_earlier_one_holds_when_that_is_taken_back():
    history = History.empty().extend([
        prompt("p"),
        prompt("q"),
        Boundary("e1", ACCOUNT, "q", (prompt("file"),)),
    ])
    second = meta_prompt("s2", "all of it", origin="summary")
    for edit, expected in (
        (Fold("e2", "s1", "q", second), ["s2"]),
        (Boundary("e2", second, "file"), ["s2", "q"]),
    ):
        assert uuids(history.append(edit).append(Undo("x", "e1")).view()) == expected


def test_an_edit_from_after_an_undo_finds_nothing_of_what_was_taken_back():
    history = two_rounds_in_short("fold").append(Undo("x", "e1"))
    stray = history.append(Snip("e2", "s1", "q", meta_prompt("s2", "gone", origin="snip")))
    assert stray.view() == history.view()
    assert History.fold(stray.log()).view() == stray.view()


@pytest.mark.parametrize(
    "edit",
    [
        Snip("e", "p", "nowhere", meta_prompt("s", "s", origin="snip")),
        Fold("e", "q", "p", meta_prompt("s", "s", origin="summary")),
        Boundary("e", meta_prompt("s", "s", origin="summary"), kept_from="nowhere"),
        ReplaceResult("e", "nothing", "x"),
        Retract("e", ("nothing",)),
        StripMedia("e", "p", 9, "note"),
        Undo("e", "nothing"),
        Undo("e", "e"),
    ],
)
def test_an_edit_whose_endpoint_is_missing_is_ignored_and_recorded(edit: Edit):
    history = History.empty().extend([prompt("p"), prompt("q"), edit])  # pyright: ignore[reportArgumentType] each is one of AnyEdit
    assert uuids(history.view()) == ["p", "q"]
    assert history.log()[-1] is edit


def test_a_boundary_keeps_the_tail_and_what_was_restored():
    summary = meta_prompt("s", "so far", origin="summary")
    records = [prompt("p"), said("f1", "a"), prompt("q"), said("f2", "b", "r2")]
    history = History.empty().extend([*records, Boundary("e", summary, "q", (prompt("files"),))])
    assert uuids(history.view()) == ["s", "q", "f2", "files"]
    assert uuids(history.append(Undo("e2", "e")).view()) == ["p", "f1", "q", "f2"]


def test_a_result_finds_its_call_again_after_a_boundary_that_kept_it():
    summary = meta_prompt("s", "so far", origin="summary")
    view = view_of(
        prompt("p"), called("f1", "a"), called("f2", "b"), Boundary("e", summary, "f1"), answered("u", "a")
    )
    assert results_in(view) == [("a", "ok")]
    assert len(view) == 3


def test_stripped_media_becomes_a_note_in_a_prompt_and_in_a_result():
    shown = UserMessage("p", (Text("look"), PICTURE))
    seen = tool_result_message("u", ToolResult("a", (Text("x"), PICTURE)))
    view = view_of(
        shown, called("f", "a"), seen, StripMedia("e1", "p", 1, "gone"), StripMedia("e2", "u", 0, "gone")
    )
    assert view[0] == UserMessage("p", (Text("look"), Text("gone")))
    results = view[2]
    assert isinstance(results, UserMessage)
    assert results.content == (ToolResult("a", (Text("x"), Text("gone"))),)


def test_an_undo_can_itself_be_undone_any_number_of_times():
    history = History.empty().extend([prompt("p"), prompt("q"), Retract("e0", ("p",))])
    for number in range(1, 8):
        history = history.append(Undo(f"e{number}", f"e{number - 1}"))
        assert uuids(history.view()) == (["p", "q"] if number % 2 else ["q"])
        same(History.fold(history.log()), history)


def test_an_undo_of_an_edit_that_does_not_exist_yet_does_not_lie_in_wait_for_it():
    assert uuids(view_of(prompt("p"), Undo("e1", "e2"), Retract("e2", ("p",)))) == []
    assert uuids(History.fold([prompt("p"), Undo("e1", "e2"), Retract("e2", ("p",))]).view()) == []


def test_an_old_snapshot_can_be_appended_to_without_touching_the_new_one():
    base = History.empty().extend([prompt("p"), said("f1", "a")])
    newer = base.append(prompt("q"))
    older = base.append(prompt("x"))
    assert uuids(newer.view()) == ["p", "f1", "q"]
    assert uuids(older.view()) == ["p", "f1", "x"]
