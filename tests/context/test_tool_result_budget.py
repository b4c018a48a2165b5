"""No result and no round fills the window; what was decided once is never decided otherwise."""

from tests.context.talks import EMPTY, history, prose, reply, results, round_of, round_of_many, run

from ostinato.context.tool_result_budget import (
    MAX_ROUND_CHARACTERS,
    PREVIEW_BYTES,
    ToolResultBudget,
    stored_text,
)
from ostinato.history import History
from ostinato.messages import user_prompt
from ostinato.records import ReplaceResult
from ostinato.testing import CountingIds


class Shelf:
    """Keeps results in memory; `is_full` refuses."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.kept: dict[str, str] = {}
        self._is_full = is_full

    async def store(self, call_id: str, text: str) -> str | None:
        if self._is_full:
            return None
        self.kept[call_id] = text
        return f"/kept/{call_id}.txt"


def limit_of(name: str) -> int | None:
    return {"Read": None, "Bash": 30_000}.get(name, 50_000)


def budget(shelf: Shelf) -> ToolResultBudget:
    return ToolResultBudget(CountingIds("e").uuid, shelf.store, limit_of)


async def test_a_result_above_its_tools_limit_is_kept_whole_elsewhere_and_shown_by_its_beginning():
    shelf, text = Shelf(), prose(30_001, "line")
    after, edits = await run(budget(shelf), history(*round_of("c", text, "Bash", command="x")), EMPTY)
    assert shelf.kept == {"c": text}
    assert [type(edit) for edit in edits] == [ReplaceResult]
    shown = results(after)["c"]
    assert "/kept/c.txt" in shown
    assert "30,001" in shown
    assert len(shown) < PREVIEW_BYTES + 400
    assert text[:1_000] in shown


async def test_a_result_at_its_limit_and_one_of_a_tool_that_bounds_itself_stay():
    at_limit = history(
        *round_of("c", prose(30_000, "x"), "Bash", command="x"), *round_of("d", prose(190_000, "y"))
    )
    assert (await run(budget(Shelf()), at_limit, EMPTY))[1] == []


async def test_of_a_round_that_is_too_long_together_the_longest_go_first_until_it_fits():
    texts = [prose(80_000, "a"), prose(81_000, "b"), prose(45_000, "c")]
    many = round_of_many(texts, "Fetch")
    stage = ToolResultBudget(CountingIds("e").uuid, (shelf := Shelf()).store, lambda _name: 100_000)
    after, _ = await run(stage, history(*many), EMPTY)
    assert set(shelf.kept) == {"c1"}
    assert sum(map(len, results(after).values())) <= MAX_ROUND_CHARACTERS


async def test_what_a_reply_has_followed_is_never_touched_again():
    old = round_of("c", prose(90_000, "old"), "Bash", command="x")
    assert (await run(budget(Shelf()), history(*old, reply("a2", "I see.")), EMPTY))[1] == ()


async def test_results_before_a_new_prompt_that_no_model_has_read_yet_still_count_as_fresh():
    of = history(*round_of("c", prose(90_000, "old"), "Bash", command="x")).append(
        user_prompt("p2", "Go on.")
    )
    after, edits = await run(budget(Shelf()), of, EMPTY)
    assert len(edits) == 1
    assert after.view()[-1] == of.view()[-1]


async def test_asked_again_it_decides_nothing_new_and_the_same_round_gives_the_same_bytes():
    of = history(*round_of("c", prose(90_000, "x"), "Bash", command="x"))
    once, edits = await run(budget(Shelf()), of, EMPTY)
    assert (await run(budget(Shelf()), once, EMPTY))[1] == []
    again, same = await run(budget(Shelf()), of, EMPTY)
    assert list(same) == list(edits)
    assert again.view() == once.view() == History.fold(once.log()).view()


async def test_where_nothing_can_be_kept_the_result_stays_as_it_is():
    of = history(*round_of("c", prose(90_000, "x"), "Bash", command="x"))
    assert (await run(budget(Shelf(is_full=True)), of, EMPTY))[1] == []


async def test_the_same_result_again_is_named_and_not_repeated():
    text = prose(3_000, "status")
    of = history(*round_of("c1", text, "Bash", command="make"), *round_of("c2", text, "Bash", command="make"))
    stage, shelf = budget(Shelf()), Shelf()
    after, _ = await run(budget(shelf), of, EMPTY)
    assert results(after)["c1"] == text
    assert "Bash make" in results(after)["c2"]
    assert shelf.kept == {"c2": text}
    third = after.extend(round_of("c3", text, "Bash", command="make"))
    assert "Bash make" in results((await run(stage, third, EMPTY))[0])["c3"]


async def test_a_result_that_was_cleared_since_is_shown_again_and_not_named():
    text = prose(3_000, "status")
    first = history(*round_of("c1", text, "Read", file_path="a")).append(
        ReplaceResult("e1", "c1", "[cleared]")
    )
    after, _ = await run(budget(Shelf()), first.extend(round_of("c2", text, "Read", file_path="a")), EMPTY)
    assert results(after) == {"c1": "[cleared]", "c2": text}


async def test_short_results_errors_and_other_text_of_the_same_length_are_no_repetition():
    short, same_length = prose(200, "s"), (prose(3_000, "a"), prose(3_000, "b"))
    of = history(
        *round_of("c1", short),
        *round_of("c2", short),
        *round_of("c3", same_length[0]),
        *round_of("c4", same_length[1]),
    )
    assert (await run(budget(Shelf()), of, EMPTY))[1] == []
    failed = history(
        *round_of("c1", prose(3_000, "e"), is_error=True), *round_of("c2", prose(3_000, "e"), is_error=True)
    )
    assert (await run(budget(Shelf()), failed, EMPTY))[1] == []


def test_the_preview_ends_at_a_line_where_one_ends_late_enough_and_never_inside_a_character():
    lines = stored_text("x" * 1_500 + "\n" + "y" * 9_000, "/p")
    assert "x" * 1_500 in lines
    assert "y" not in lines.partition("begins:]")[2]
    assert "�" not in stored_text("é" * 9_000, "/p")
    assert "é" * (PREVIEW_BYTES // 2) in stored_text("é" * 9_000, "/p")
