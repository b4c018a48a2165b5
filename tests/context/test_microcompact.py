"""Old results give way to a line that says which call it was; calls, texts and errors stay, and nothing comes back by itself."""

from collections.abc import Sequence

import pytest
from tests.context.talks import EMPTY, FACTS, FULL, history, prose, results, round_of, run

from ostinato.context.microcompact import IDLE_S, KEPT_TOKENS, KEPT_WHEN_IDLE, Microcompact
from ostinato.context_pass import PassFacts
from ostinato.messages import Image, Text, ToolResult, ToolUse, assistant_fragment, tool_result_message
from ostinato.records import AnyEdit, ReplaceResult, Undo
from ostinato.testing import CountingIds


def stage() -> Microcompact:
    return Microcompact(CountingIds("e").uuid)


def rounds(count: int, characters: int = 10_000, **given: object):
    return [m for n in range(count) for m in round_of(f"c{n}", prose(characters, f"r{n}"))]


def rounds_from(first: int, last: int):
    return [m for n in range(first, last) for m in round_of(f"c{n}", prose(10_000, f"r{n}"))]


def cleared(of: dict[str, str]) -> list[str]:
    return [call for call, text in of.items() if text.startswith("[Old result, cleared")]


async def test_when_half_of_the_window_is_used_results_before_the_newest_go():
    after, _ = await run(stage(), history(*rounds(40)), FULL)
    shown = results(after)
    gone = cleared(shown)
    assert gone == [f"c{n}" for n in range(len(gone))]
    kept = [text for call, text in shown.items() if call not in gone]
    assert KEPT_TOKENS * 0.8 <= sum(map(len, kept)) / 2.5 <= KEPT_TOKENS
    assert "Read src/c0.py, 10,000 characters" in shown["c0"]


async def test_below_half_and_where_little_would_be_gained_nothing_changes():
    assert (await run(stage(), history(*rounds(40)), EMPTY))[1] == ()
    assert (await run(stage(), history(*rounds(11)), FULL))[1] == ()


async def test_one_that_went_along_decides_as_one_that_begins_with_a_resume():
    went_along, of = stage(), history()
    ids: list[str] = []
    for number in range(60):
        of = of.extend(round_of(f"c{number}", prose(3_000 + 7_000 * (number % 3), f"r{number}")))
        facts = PassFacts(FACTS, 90_000 + 500 * number)
        (of, edits), (_, begun) = await run(went_along, of, facts), await run(stage(), of, facts)
        assert targets(edits) == targets(begun)
        ids += targets(edits)
    assert ids
    assert len(ids) == len(set(ids))


def targets(edits: Sequence[AnyEdit]) -> list[str]:
    return [edit.tool_use_id for edit in edits if isinstance(edit, ReplaceResult)]


async def test_the_record_says_how_a_result_was_replaced_and_what_a_result_says_itself_is_no_sign_of_it():
    says_so = "[Old result, cleared to save room: " + prose(90_000, "a tool's own words")
    _, edits = await run(stage(), history(*round_of("c", says_so), *rounds(40)), FULL)
    assert {edit.how for edit in edits if isinstance(edit, ReplaceResult)} == {"cleared"}
    assert "c" in targets(edits)


@pytest.mark.parametrize(("idle_s", "is_cleared"), [(IDLE_S - 60, False), (IDLE_S + 60, True), (None, False)])
async def test_after_an_hour_the_cache_is_gone_and_old_results_go_with_it(
    idle_s: float | None, is_cleared: bool
):
    after, _ = await run(stage(), history(*rounds(9)), PassFacts(FACTS, 0, idle_s))
    assert cleared(results(after)) == ([f"c{n}" for n in range(9 - KEPT_WHEN_IDLE)] if is_cleared else [])


async def test_errors_short_results_and_tools_that_cannot_be_called_again_stay():
    of = history(
        *round_of("bad", prose(90_000, "e"), is_error=True),
        *round_of("short", "ok"),
        *round_of("other", prose(90_000, "o"), "AskUserQuestion"),
        *rounds(40),
    )
    gone = cleared(results((await run(stage(), of, FULL))[0]))
    assert gone
    assert not {"bad", "short", "other"} & set(gone)


async def test_images_of_old_results_go_too():
    call = assistant_fragment("a", "r", "m", ToolUse("i", "Read", {"file_path": "x.png"}))
    image = tool_result_message("u", ToolResult("i", (Image("image/png", "AAAA"), Text("an image"))))
    after, _ = await run(stage(), history(call, image, *rounds(40)), FULL)
    assert "Read x.png, with images" in results(after)["i"]


async def test_what_was_cleared_stays_cleared_and_comes_back_only_by_undo():
    once, edits = await run(stage(), history(*rounds(40)), FULL)
    assert (await run(stage(), once, FULL))[1] == ()
    first = edits[0]
    assert isinstance(first, ReplaceResult)
    back = once.append(Undo("undo", first.edit_id))
    assert results(back)["c0"] == prose(10_000, "r0")
    more = back.extend(rounds_from(40, 80))
    again, more_edits = await run(stage(), more, FULL)
    assert more_edits
    assert results(again)["c0"] == prose(10_000, "r0")


async def test_a_file_that_holds_the_result_is_still_named():
    of = history(*rounds(40)).append(
        ReplaceResult("s", "c0", prose(2_000, "begins"), stored_as="/kept/c0.txt")
    )
    after, edits = await run(stage(), of, FULL)
    assert "/kept/c0.txt" in results(after)["c0"]
    assert isinstance(edits[0], ReplaceResult)
    assert edits[0].stored_as == "/kept/c0.txt"


@pytest.mark.parametrize("idle_s", [None, IDLE_S + 60])
async def test_what_the_model_has_not_read_yet_stays_however_large_it_is(idle_s: float | None):
    newest = prose(300_000, "new")
    of = history(*rounds(40), *round_of("new", newest))
    shown = results((await run(stage(), of, PassFacts(FACTS, FULL.used_tokens, idle_s)))[0])
    assert shown["new"] == newest
    assert "c0" in cleared(shown)
