"""A person chooses what becomes a summary: all up to a message, or all from one on. The rest stays word for word."""

from tests.context.talks import history
from tests.context.test_compaction import (
    FORGETFUL,
    Summariser,
    compaction,
    facts_with,
    text_of,
    work,
)

from ostinato.context.compaction import Compacted, Folded, NotCompacted
from ostinato.context.pipeline import freed_tokens
from ostinato.history import History
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import Undo
from ostinato.testing import SCRIPTED_FACTS


def place_of(of: History, uuid: str) -> int:
    return [message.uuid for message in of].index(uuid)


async def test_up_to_a_message_only_what_is_before_it_is_told_to_the_summariser_and_gone():
    of, summariser = history(*work(0, 20)), Summariser(FORGETFUL)
    at = place_of(of, "q15")
    done = await compaction()(of, facts_with(summariser), trigger="manual", kept_from=at)
    assert isinstance(done, Compacted)
    after = of.append(done.boundary)
    assert after.view()[1:] == of.view()[at:]
    (wanted,) = summariser.asked
    assert not wanted.shares_prefix
    assert "Wish number 14." in wanted.prompt
    assert "Wish number 15." not in wanted.prompt
    assert "The first wish." in text_of(after)
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after)


async def test_from_a_message_on_the_beginning_stays_and_the_rest_is_an_account_with_the_users_words():
    of, summariser = history(*work(0, 20)), Summariser(FORGETFUL)
    at = place_of(of, "q15")
    done = await compaction().fold_from(of, facts_with(summariser), at, instructions="Keep numbers.")
    assert isinstance(done, Folded)
    after = of.append(done.fold)
    assert after.view()[:at] == of.view()[:at]
    assert len(after) == at + 1
    assert freed_tokens(of, after) == done.tokens_before - done.tokens_after > 0
    account = str(after.view()[-1])
    assert "Wish number 15." in account
    assert "Wish number 19." in account
    assert "Wish number 14." not in account
    assert "src/new16.py" in account
    (wanted,) = summariser.asked
    assert wanted.shares_prefix
    assert "Keep numbers." in wanted.prompt
    assert "Wish number 15." in wanted.prompt
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after)


async def test_a_summary_after_that_keeps_all_words_in_their_order():
    of = history(*work(0, 20))
    folded = await compaction().fold_from(of, facts_with(Summariser(FORGETFUL)), place_of(of, "q15"))
    assert isinstance(folded, Folded)
    after = of.append(folded.fold).extend(work(20, 30))
    done = await compaction()(after, facts_with(Summariser(FORGETFUL)), trigger="auto")
    assert isinstance(done, Compacted)
    carried = done.boundary.carried
    numbers = [int(said.split()[-1].rstrip(".")) for said in carried.words if "number" in said]
    assert carried.first_prompt == "The first wish."
    assert numbers == sorted(set(numbers))
    assert 15 in numbers
    assert "src/new16.py" in carried.changed


async def test_a_part_that_would_not_get_shorter_stays():
    of = history(*work(0, 3))
    done = await compaction().fold_from(of, facts_with(Summariser(FORGETFUL)), len(of) - 1)
    assert isinstance(done, NotCompacted)
    assert done.why == "no_gain"


async def test_it_can_be_undone():
    of = history(*work(0, 20))
    done = await compaction().fold_from(of, facts_with(Summariser(FORGETFUL)), place_of(of, "q15"))
    assert isinstance(done, Folded)
    assert of.append(done.fold).append(Undo("u", done.fold.edit_id)).view() == of.view()


async def test_what_an_earlier_summary_carried_outlives_being_folded_itself():
    of = history(*work(0, 20))
    earlier = await compaction()(of, facts_with(Summariser(FORGETFUL)), trigger="manual")
    assert isinstance(earlier, Compacted)
    of = of.append(earlier.boundary).extend(work(20, 30))
    for number in range(3):
        folded = await compaction().fold_from(of, facts_with(Summariser(FORGETFUL)), 0)
        assert isinstance(folded, Folded)
        of = of.append(folded.fold)
        assert len(of) == 1
        assert "The first wish." in text_of(of)
        assert "Wish number 3." in text_of(of)
        assert "src/new2.py" in text_of(of)
        of = of.extend(work(30 + 10 * number, 40 + 10 * number))
    last = await compaction()(of, facts_with(Summariser(FORGETFUL)), trigger="manual")
    assert isinstance(last, Compacted)
    assert last.boundary.carried.first_prompt.startswith("The first wish.")
    assert "src/new2.py" in last.boundary.carried.changed
