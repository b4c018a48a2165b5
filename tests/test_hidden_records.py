"""What a boundary hid leaves memory; the view, and all that may still happen to it, stay as they were."""

from hypothesis import given
from tests.conversations import CONVERSATIONS

from ostinato.hidden_records import without_hidden
from ostinato.history import History
from ostinato.messages import (
    Message,
    ToolResult,
    ToolUse,
    assistant_fragment,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.records import Boundary, Edit, Fold, PermissionDecided, Record, ReplaceResult, ToolStarted, Undo


def rounds(first: int, last: int) -> list[Message]:
    return [
        message
        for n in range(first, last)
        for message in (
            assistant_fragment(f"a{n}", f"r{n}", "m", ToolUse(f"c{n}", "Read", {"file_path": f"f{n}"})),
            tool_result_message(f"t{n}", ToolResult(f"c{n}", f"result {n}")),
        )
    ]


def summary(uuid: str) -> Message:
    return meta_prompt(uuid, "what was done", origin="summary")


def boundary(number: int, kept_from: str, *restored: Message) -> Boundary:
    made = meta_prompt(f"sum{number}", "what was done", origin="summary")
    return Boundary(f"b{number}", made, kept_from, restored)


def talk() -> History:
    return History.empty().extend([user_prompt("p", "go"), *rounds(0, 100)])


def test_hidden_messages_and_facts_are_gone_and_the_view_is_the_same():
    of = talk().append(ToolStarted("c1", "Read", is_read_only=True)).append(boundary(1, "a98"))
    kept = without_hidden(of)
    assert kept.view() == of.view()
    assert len(kept.log()) == 1 + 4 + 1
    assert [m.uuid for m in kept.view()] == ["sum1", "a98", "t98", "a99", "t99"]
    assert History.fold(kept.log()).view() == kept.view()


def test_however_many_facts_stand_between_messages_nothing_stays_that_came_before_what_is_shown():
    log = History.empty()
    for message in talk():
        facts = [ToolStarted(f"{message.uuid}-{n}", "Read", is_read_only=True) for n in range(5)]
        log = log.extend([message, *facts])
    kept = without_hidden(log.append(boundary(1, "a98")))
    first = kept.log()[0]
    assert isinstance(first, Message)
    assert first.uuid == "a98"
    assert len(kept.log()) == 4 * 6 + 1


def test_the_messages_of_the_view_are_the_same_objects():
    of = talk().append(boundary(1, "a98"))
    assert all(one is other for one, other in zip(of, without_hidden(of), strict=True))


def test_what_nothing_hides_stays_and_a_second_time_changes_nothing():
    of = talk()
    assert without_hidden(of) is of
    kept = without_hidden(of.append(boundary(1, "a98")))
    assert without_hidden(kept) is kept


def test_edits_of_what_stayed_are_kept_and_can_be_undone():
    edited = talk().append(ReplaceResult("e", "c99", "short"))
    folded = edited.append(Fold("f", "a96", "t97", meta_prompt("fold", "in short", origin="summary")))
    kept = without_hidden(folded.append(boundary(1, "fold")))
    assert [m.uuid for m in kept.view()][:2] == ["sum1", "fold"]
    assert "short" in str(kept.view()[-1])
    for edit in ("e", "f"):
        assert kept.can_undo(edit)
        assert kept.append(Undo("u", edit)).view() != kept.view()
    assert "a96" in {m.uuid for m in kept.append(Undo("u", "f")).view()}


def test_of_a_chain_of_boundaries_the_newest_counts():
    of = talk()
    for number in range(1, 5):
        of = without_hidden(of.append(boundary(number, "", summary(f"again{number}"))))
        of = of.extend(rounds(1000 * number, 1000 * number + 50))
    assert len(of.log()) == 1 + 100
    assert History.fold(of.log()).view() == of.view()


def test_denials_are_remembered():
    denied = PermissionDecided("c1", "Bash", "deny", "Bash(rm)", "settings")
    of = talk().append(denied).append(boundary(1, "a98"))
    assert denied in without_hidden(of).log()


@given(CONVERSATIONS)
def test_whatever_was_said_the_shorter_log_folds_to_the_same_view(records: list[Record]):
    of = History.fold(records)
    kept = without_hidden(of)
    assert kept.view() == of.view()
    assert History.fold(kept.log()).view() == of.view()


@given(CONVERSATIONS, CONVERSATIONS)
def test_whatever_comes_after_it_the_view_goes_on_alike(records: list[Record], more: list[Record]):
    of = History.fold(records)
    kept = without_hidden(of)
    made = {record.edit_id for record in records if isinstance(record, Edit)}
    plain = [one for one in more if not (isinstance(one, Undo) and one.target in made)]
    assert kept.extend(plain).view() == of.extend(plain).view()
