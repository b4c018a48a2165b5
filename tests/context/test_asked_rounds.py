"""The model asks for old rounds to be hidden: they go whole, in one edit a span; words, the newest rounds, and what the user brought
back stay; a resumed conversation carries the wish out as well.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.context.talks import FACTS, history, prose, reply, round_of, run
from tests.context.test_pipeline import KINDS, talk
from tests.context.test_snip import calls

from ostinato.context.asked_rounds import AskedRounds
from ostinato.context.carried import carried_on
from ostinato.context.pipeline import Pipeline, freed_tokens
from ostinato.context.snip import SnipStage
from ostinato.context_pass import PassFacts
from ostinato.hideable_rounds import HideableRounds, Offer, round_name
from ostinato.history import History
from ostinato.messages import Message, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import Boundary, Snip, Undo
from ostinato.testing import CountingIds

HALF = PassFacts(FACTS, used_tokens=110_000)


def reading(call_id: str, characters: int = 40_000) -> list[Message]:
    return round_of(call_id, prose(characters, call_id))


def asking(call_id: str, *of: str, is_error: bool = False) -> list[Message]:
    """A call of the tool that names the rounds of these calls, and its answer."""
    names = [round_name(f"a-{one}") for one in of]
    return round_of(call_id, "hidden from the next request on", "Snip", is_error=is_error, rounds=names)


WORK = [m for n in range(6) for m in reading(f"c{n}")]


async def hidden(of: History, facts: PassFacts = HALF) -> tuple[History, list[Snip]]:
    after, edits = await run(AskedRounds(CountingIds("e").uuid, HideableRounds()), of, facts)
    assert all(isinstance(edit, Snip) and edit.is_asked for edit in edits)
    Normaliser(FACTS, strict=True).request_messages(after)
    return after, [edit for edit in edits if isinstance(edit, Snip)]


async def test_rounds_that_the_model_names_go_whole_and_one_line_says_which_they_were():
    after, edits = await hidden(history(*WORK, *asking("s", "c0", "c1", "c3")))
    assert calls(after) == ["c2", "c4", "c5", "s"]
    assert len(edits) == 2
    assert "Read src/c0.py; Read src/c1.py" in str(after.view()[1])


@pytest.mark.parametrize("asked", [asking("s", "c4", "c5"), asking("s", "c0", is_error=True), asking("s")])
async def test_what_was_refused_unnamed_or_is_among_the_newest_stays(asked: list[Message]):
    after, _ = await hidden(history(*WORK, *asked))
    assert "c5" in calls(after)
    assert {"c0", "c1", "c2", "c3"} <= set(calls(after))


async def test_the_newest_two_rounds_stay_whoever_names_them():
    after, edits = await hidden(history(*WORK, *asking("s", "c0", "c5", "s")))
    assert len(edits) == 1
    assert calls(after)[-2:] == ["c5", "s"]


async def test_words_of_the_user_between_two_hidden_rounds_stay():
    of = history(*reading("c0"), user_prompt("p2", "Never touch b.py."), *WORK[2:], *asking("s", "c0", "c1"))
    after, edits = await hidden(of)
    assert len(edits) == 2
    assert "Never touch b.py." in str(after.view())
    assert "The first wish." in str(after.view()[0])


async def test_a_wish_is_carried_out_once_and_not_again_after_the_user_took_it_back():
    stage = AskedRounds(CountingIds("e").uuid, HideableRounds())
    before = history(*WORK, *asking("s", "c0"))
    after, edits = await run(stage, before, HALF)
    assert len(edits) == 1
    assert list((await run(stage, after, HALF))[1]) == []
    assert (await hidden(after))[1] == []
    back = after.append(Undo("u", edits[0].edit_id))
    assert "c0" in calls(back)
    assert (await hidden(back))[1] == []
    assert list((await run(stage, back, HALF))[1]) == []


async def test_an_edit_that_never_came_to_be_written_is_made_again():
    stage = AskedRounds(CountingIds("e").uuid, HideableRounds())
    of = history(*WORK, *asking("s", "c0"))
    assert len(await stage(of, HALF)) == 1
    assert len(await stage(of, HALF)) == 1


async def test_a_resumed_conversation_carries_out_what_was_asked_before_the_end():
    of = history(*WORK, *asking("s", "c0", "c1"))
    after, edits = await hidden(History.fold(of.log()))
    assert len(edits) == 1
    again = History.fold(after.log())
    assert again.view() == after.view()


async def test_files_of_hidden_rounds_are_known_to_the_next_summary():
    changed = round_of("w", prose(9_000, "w"), "Edit", file_path="w.py", old_string="a", new_string="b")
    after, _ = await hidden(history(*changed, *WORK, *asking("s", "w", "c0")))
    assert carried_on(after, after.view()[:-2], 200_000).changed == ("w.py",)
    assert "src/c0.py" in carried_on(after, after.view()[:-2], 200_000).read


async def offered(stage: SnipStage, hideable: HideableRounds, of: History, used_tokens: int) -> Offer | None:
    """What a pass brings to be told."""
    hideable.offer = None
    await stage(of, replace(HALF, used_tokens=used_tokens))
    return hideable.offer


async def test_what_may_go_is_offered_once_for_each_tenth_and_only_if_it_would_pay():
    hideable = HideableRounds()
    stage = SnipStage(CountingIds("e").uuid, hideable)
    of = history(*WORK, reply("s", "Going on."))
    assert await offered(stage, hideable, of, 20_000) is None
    first = await offered(stage, hideable, of, 110_000)
    assert first is not None
    assert [one.name for one in first.rounds] == [round_name(f"a-c{n}") for n in range(4)]
    assert await offered(stage, hideable, of, 111_000) is None
    second = await offered(stage, hideable, of, 130_000)
    assert second is not None
    assert second.key != first.key
    little = history(*(m for n in range(6) for m in reading(f"c{n}", 4_000)))
    assert await offered(SnipStage(CountingIds("e").uuid, hideable), hideable, little, 110_000) is None


async def test_two_rounds_of_one_name_cannot_be_named():
    twice = history(*WORK, *WORK, *asking("s", "c0"))
    assert not await AskedRounds(CountingIds("e").uuid, HideableRounds())(twice, HALF)


async def test_what_a_summary_hid_is_not_looked_for():
    of = history(*WORK, *asking("s", "c0"), *reading("n1"), *reading("n2"))
    summarised = of.append(Boundary("b", user_prompt("sum", "In short."), of.view()[-6].uuid))
    assert (await hidden(summarised))[1] == []


def asked_talk(plan: Sequence[tuple[str, int]], wanted: Sequence[int]) -> History:
    names = [f"c{number % max(1, len(plan))}" for number in wanted]
    return talk(plan).extend(asking("asked", *names))


@given(KINDS, st.lists(st.integers(0, 40), max_size=8), st.integers(0, 200_000))
async def test_whatever_is_asked_for_the_request_is_legal_shorter_and_holds_every_word(
    plan: list[tuple[str, int]], wanted: list[int], used: int
):
    before = asked_talk(plan, wanted)
    facts = PassFacts(FACTS, used)
    edits = await Pipeline({"snip": SnipStage(CountingIds("e").uuid, HideableRounds())})(before, facts)
    after = before.extend(edits)
    assert freed_tokens(before, after) >= 0
    Normaliser(FACTS, strict=True).request_messages(after)
    assert History.fold(after.log()).view() == after.view()
    said = [m for m in before if isinstance(m, type(user_prompt("", ""))) and m.origin == "prompt"]
    assert all(any(m is one for m in after) for one in said)
    assert after.view()[-2:] == before.view()[-2:]
