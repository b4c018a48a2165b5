"""Rounds that later ones repeat go whole; the user's words, what was said, errors and the newest rounds stay."""

from collections.abc import Sequence

import pytest
from tests.context.talks import EMPTY, FACTS, FULL, history, prose, reply, round_of, run

from ostinato.context.snip import RedundantRounds
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Message,
    Text,
    ToolUse,
    UserMessage,
    assistant_fragment,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import AnyEdit, ReplaceResult, Snip, Undo
from ostinato.testing import CountingIds


def stage() -> RedundantRounds:
    return RedundantRounds(CountingIds("e").uuid)


def reading(call_id: str, path: str = "a.py", *, is_error: bool = False) -> list[Message]:
    return round_of(call_id, prose(80_000, call_id), is_error=is_error, file_path=path)


NEWEST = [*reading("n1", "x.py"), *reading("n2", "y.py")]


def calls(of: History) -> list[str]:
    return [call.id for message in of for call in getattr(message, "tool_uses", ())]


async def test_a_file_that_was_read_again_later_need_not_stand_there_twice():
    of = history(*reading("c1"), *reading("c2"), *reading("c3"), reply("s", "I see."), *NEWEST)
    after, edits = await run(stage(), of, FULL)
    assert [type(edit) for edit in edits] == [Snip]
    assert calls(after) == ["c3", "n1", "n2"]
    marker = after.view()[1]
    assert isinstance(marker, UserMessage)
    assert marker.origin == "snip"
    assert "Read a.py" in str(marker)
    Normaliser(FACTS, strict=True).request_messages(after)


async def test_it_waits_until_the_window_is_well_filled_and_the_gain_pays():
    of = history(*reading("c1"), *reading("c2"), *reading("c3"), *NEWEST)
    assert (await run(stage(), of, EMPTY))[1] == ()
    little = history(
        *round_of("c1", "short", file_path="a"), *round_of("c2", "short", file_path="a"), *NEWEST
    )
    assert (await run(stage(), little, FULL))[1] == ()


async def test_what_the_last_two_rounds_repeat_goes_but_they_themselves_stay():
    of = history(*reading("c1"), *reading("c2"), *reading("c3"), *reading("c4"))
    assert calls((await run(stage(), of, FULL))[0]) == ["c3", "c4"]


async def test_rounds_that_say_or_do_something_stay():
    talking: list[Message] = [reply_with_call("c1"), *reading("c1")[1:]]
    doing = round_of("c2", prose(60_000, "o"), "Bash", command="make")
    of = history(*talking, *doing, *reading("c3"), *doing_again(), *NEWEST)
    assert (await run(stage(), of, FULL))[1] == ()


def reply_with_call(call_id: str) -> Message:
    call = ToolUse(call_id, "Read", {"file_path": "a.py"})
    return AssistantMessage("a-say", "r-say", "m", (Text("Let me explain."), call), ("a-say", "a-say"))


def doing_again() -> list[Message]:
    return round_of("c9", prose(60_000, "o"), "Bash", command="make")


async def test_a_later_look_that_failed_or_whose_result_was_shortened_makes_nothing_superfluous():
    failed = history(*reading("c1"), *reading("c2", is_error=True), *NEWEST)
    assert (await run(stage(), failed, FULL))[1] == ()
    shortened = history(*reading("c1"), *reading("c2"), *NEWEST).append(ReplaceResult("e", "c2", "cleared"))
    assert (await run(stage(), shortened, FULL))[1] == ()


async def test_the_first_prompt_and_every_other_prompt_stay():
    of = history(
        *reading("c1"), user_prompt("p2", "Never touch b.py."), *reading("c2"), *reading("c3"), *NEWEST
    )
    after, edits = await run(stage(), of, FULL)
    assert len(edits) == 2
    shown = str(after.view())
    assert "The first wish." in shown
    assert "Never touch b.py." in shown


async def test_done_twice_nothing_more_goes_and_the_log_folds_to_the_same_view():
    of = history(*reading("c1"), *reading("c2"), *reading("c3"), *NEWEST)
    once, _ = await run(stage(), of, FULL)
    assert (await run(stage(), once, FULL))[1] == ()
    assert History.fold(once.log()).view() == once.view()


async def test_a_call_without_its_result_is_no_round():
    lone = assistant_fragment("a-open", "r-open", "m", ToolUse("open", "Read", {"file_path": "a.py"}))
    of = history(lone, user_prompt("p2", "What now?"), *reading("c2"), *reading("c3"), *NEWEST)
    assert "open" in calls((await run(stage(), of, FULL))[0])


async def test_rounds_that_were_brought_back_are_not_hidden_again():
    of = history(*reading("c1"), *reading("c2"), *reading("c3"), *NEWEST)
    once, edits = await run(stage(), of, FULL)
    back = once.append(Undo("u", edits[0].edit_id))
    assert calls(back) == calls(of)
    assert (await run(stage(), back, FULL))[1] == ()


@pytest.mark.parametrize(
    "paths", ["aabacbdaabcdabab", "abcabcabcabcabcd", "aaaaaaaaaaaaaaaa", "abcdefgaebgfdcab"]
)
async def test_one_that_went_along_decides_as_one_that_begins_with_a_resume(paths: str):
    went_along, of = stage(), history()
    hidden = 0
    for number, path in enumerate(paths):
        of = of.extend(round_of(f"c{number}", prose(30_000, f"{number}"), file_path=path))
        facts = PassFacts(FACTS, 120_000 + 100 * number)
        begun = await stage()(History.fold(of.log()), facts)
        of, edits = await run(went_along, of, facts)
        assert spans_of(edits) == spans_of(begun)
        hidden += len(edits)
    assert hidden


def spans_of(edits: Sequence[AnyEdit]) -> list[tuple[str, str]]:
    return [(edit.first, edit.last) for edit in edits if isinstance(edit, Snip)]
