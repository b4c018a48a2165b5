"""Finished spans become short accounts in good time; the user's words, rules and the newest rounds stay; it can be undone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.context.talks import FACTS, history, prose, reply, results, round_of
from tests.context.test_pipeline import KINDS, talk

from ostinato.context.carried import carried_on
from ostinato.context.collapse import MAX_SHARE, Collapse
from ostinato.context.pipeline import Pipeline, freed_tokens
from ostinato.context.reactive import message_tokens
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import Message, Reminder, attachment_message, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import QuerySource
from ostinato.records import Boundary, Fold, Undo
from ostinato.testing import CountingIds
from ostinato.window_limits import auto_compact_tokens, collapse_commit_tokens, collapse_staging_tokens

STAGING = PassFacts(FACTS, collapse_staging_tokens(FACTS))
DUE = PassFacts(FACTS, collapse_commit_tokens(FACTS))


def stage() -> Collapse:
    return Collapse(CountingIds("e").uuid)


def work(rounds: int = 60) -> list[Message]:
    """Rounds of 4,000 tokens: first those that look, then those that change something."""
    looking = [m for n in range(rounds // 2) for m in round_of(f"l{n}", prose(10_000, f"l{n}"))]
    changing = [
        m
        for n in range(rounds // 2)
        for m in round_of(
            f"w{n}", prose(10_000, f"w{n}"), "Edit", file_path=f"w{n}.py", old_string="a", new_string="b"
        )
    ]
    return [*looking, user_prompt("p2", "Never touch b.py."), *changing, reply("s", "Nearly done.")]


async def committed(of: History, facts: PassFacts = DUE, by: Collapse | None = None) -> tuple[History, int]:
    edits = await (by or stage())(of, facts)
    assert all(isinstance(edit, Fold) for edit in edits)
    return of.extend(edits), len(edits)


async def test_nothing_is_put_in_place_before_compaction_is_near():
    for used in (0, STAGING.used_tokens, DUE.used_tokens - 1):
        assert (await committed(history(*work()), PassFacts(FACTS, used)))[1] == 0


async def test_near_it_enough_is_freed_that_the_beginning_stays_for_a_while():
    before = history(*work())
    after, count = await committed(before)
    freed = freed_tokens(before, after)
    assert count > 1
    assert DUE.used_tokens - freed < 0.75 * auto_compact_tokens(FACTS)
    assert DUE.used_tokens - freed > 0.65 * auto_compact_tokens(FACTS)
    assert len(results(after)) < len(results(before))


async def test_what_only_looked_goes_before_what_changed_something():
    after, _ = await committed(history(*work()))
    kept = results(after)
    assert all(f"w{n}" in kept for n in range(30))
    assert not all(f"l{n}" in kept for n in range(30))


async def test_the_users_words_the_newest_rounds_and_rules_that_were_read_stay():
    rule = attachment_message("rule", Reminder("nested_instructions", "Tabs, never spaces.", "k"))
    of = history(*work(20), rule, *work(40))
    edits = await stage().drain(of)
    after = of.extend(edits)
    shown = str(after.view())
    for expected in ("The first wish.", "Never touch b.py.", "Tabs, never spaces.", "Nearly done."):
        assert expected in shown
    assert after.view()[-2:] == of.view()[-2:]


async def test_an_old_offer_to_hide_rounds_keeps_no_part_from_being_told_in_short():
    offer = attachment_message("offer", Reminder("snip", "These may be hidden: …", "5"))
    of = history(*work(20), offer, *work(40)[-30:])
    after = of.extend(await stage().drain(of))
    assert offer.uuid not in {message.uuid for message in after}


async def test_an_account_names_what_was_done_and_what_went_wrong():
    failed = round_of("bad", "no rule to make target", "Bash", is_error=True, command="make all")
    changed = round_of("w", prose(30_000, "w"), "Edit", file_path="src/w.py", old_string="a", new_string="b")
    of = history(reply("s1", "I take the second way."), *failed, *changed, *work(10))
    after = of.extend(await stage().drain(of))
    account = str(after.view()[1])
    for expected in ("I take the second way.", "make all", "no rule to make target", "src/w.py"):
        assert expected in account


async def test_a_fold_can_be_undone_and_is_then_left_alone():
    before = history(*work())
    by = stage()
    after, count = await committed(before, by=by)
    assert count
    folds = [record for record in after.log() if isinstance(record, Fold)]
    back = after.append(Undo("u", folds[0].edit_id))
    assert folds[0].first in {message.uuid for message in back}
    again = back.extend(await by.drain(back))
    assert folds[0].first in {message.uuid for message in again}


async def test_a_drain_takes_everything_and_the_next_finds_nothing():
    of, by = history(*work()), stage()
    after = of.extend(await by.drain(of))
    assert freed_tokens(of, after) > 0.8 * sum(map(message_tokens, of))
    assert list(await by.drain(after)) == []
    assert list(await stage().drain(after)) == []


async def test_a_resumed_conversation_stages_the_same_spans():
    of = history(*work())
    first = [(f.first, f.last) for f in await stage().drain(of)]
    second = [(f.first, f.last) for f in await stage().drain(History.fold(of.log()))]
    assert first == second


async def test_files_of_a_folded_span_are_known_to_the_next_summary():
    of = history(*work())
    after = of.extend(await stage().drain(of))
    carried = carried_on(after, after.view()[:-1], 200_000)
    assert "w3.py" in carried.changed
    assert "src/l3.py" in carried.read


async def test_a_compaction_of_its_own_is_not_collapsed():
    inside = replace(DUE, source=QuerySource("compact"))
    assert (await committed(history(*work()), inside))[1] == 0


async def test_what_a_compaction_hid_is_not_staged_any_more():
    of, by = history(*work()), stage()
    await by(of, STAGING)
    summary = user_prompt("sum", "In short.")
    after = of.append(Boundary("b", summary, of.view()[-3].uuid))
    assert list(await by.drain(after)) == []


@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
async def test_a_short_conversation_has_nothing_to_collapse(rounds: int):
    of = history(*(m for n in range(rounds) for m in round_of(f"c{n}", "short")))
    assert list(await stage().drain(of)) == []


@settings(deadline=None)
@given(KINDS, st.integers(0, 200_000), st.booleans())
async def test_whatever_was_said_the_request_is_legal_shorter_and_the_log_folds_to_the_view(
    plan: list[tuple[str, int]], used: int, is_drain: bool
):
    before, by = talk(plan), stage()
    edits = await (
        by.drain(before) if is_drain else Pipeline({"collapse": by})(before, PassFacts(FACTS, used))
    )
    after = before.extend(edits)
    assert freed_tokens(before, after) >= 0
    Normaliser(FACTS, strict=True).request_messages(after)
    assert History.fold(after.log()).view() == after.view()
    wishes = [m for m in before if isinstance(m, type(user_prompt("", ""))) and m.origin == "prompt"]
    assert all(any(m is wish for m in after) for wish in wishes)
    for fold in edits:
        assert isinstance(fold, Fold)
        ids = [m.uuid for m in before]
        part = before.view()[ids.index(fold.first) : ids.index(fold.last) + 1]
        assert message_tokens(fold.summary) <= MAX_SHARE * sum(map(message_tokens, part))
