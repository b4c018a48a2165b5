"""Snip takes only names of rounds that may be hidden, says what will be, and is asked of nobody."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ostinato.attachments.snip_offer import SnipOffer
from ostinato.deferred_tools import schema_tokens
from ostinato.hideable_rounds import HideableRound, HideableRounds, Offer
from ostinato.messages import AttachmentMessage, Reminder
from ostinato.testing import CountingIds, tool_context
from ostinato.tool import ToolOutcome
from ostinato.tools.snip import snip_tool

ROUNDS = (HideableRound("aaaaaa", "Read a.py", 9_000), HideableRound("bbbbbb", "Bash make", 4_000))


def hideable(*rounds: HideableRound, least: int = 0) -> HideableRounds:
    made = HideableRounds()
    made.look = lambda: rounds
    made.least_tokens = least
    return made


async def called(of: HideableRounds, names: Sequence[str]) -> ToolOutcome:
    outcome = await snip_tool(of).call({"rounds": list(names)}, tool_context(Path("/")))
    assert isinstance(outcome, ToolOutcome)
    return outcome


async def test_what_will_be_hidden_is_named_with_its_size():
    outcome = await called(hideable(*ROUNDS), ["aaaaaa", "bbbbbb"])
    assert not outcome.is_error
    assert all(part in str(outcome.content) for part in ("Read a.py", "Bash make", "13,000"))


@pytest.mark.parametrize("names", [["zzzzzz"], ["aaaaaa", "zzzzzz"], []])
async def test_a_name_that_is_not_there_hides_nothing_and_those_that_are_get_listed(names: list[str]):
    outcome = await called(hideable(*ROUNDS), names)
    assert outcome.is_error
    assert "bbbbbb" in str(outcome.content)


async def test_too_little_is_refused_since_a_changed_beginning_must_pay():
    assert (await called(hideable(*ROUNDS, least=10_000), ["aaaaaa"])).is_error
    assert not (await called(hideable(*ROUNDS, least=10_000), ["aaaaaa", "bbbbbb"])).is_error


async def test_a_young_conversation_has_nothing_to_hide():
    assert (await called(HideableRounds(), ["aaaaaa"])).is_error


def test_it_takes_few_tokens_of_each_request_and_is_asked_of_nobody():
    tool = snip_tool(HideableRounds())
    assert schema_tokens([tool]) <= 80
    assert tool.is_read_only({})


async def test_an_offer_is_made_once_and_not_while_the_view_still_holds_it():
    of = hideable(*ROUNDS)
    offers = SnipOffer(of, CountingIds())
    assert await offers(()) == ()
    of.offer = Offer("5", ROUNDS)
    (told,) = await offers(())
    assert isinstance(told, AttachmentMessage)
    assert isinstance(told.attachment, Reminder)
    assert all(one.name in told.attachment.text for one in ROUNDS)
    assert await offers(()) == ()
    of.offer = Offer("5", ROUNDS)
    assert await offers((told,)) == ()
