"""What each signal does to a conversation, by where it comes."""

import signal

import pytest

from ostinato.cli.line_signals import LineSignals
from ostinato.submissions import AbortReason

INT, TERM, HUP, TSTP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP


class Heard:
    """What was done because of signals."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.signals = LineSignals(lambda: self.done.append("suspended"))

    def abort(self, reason: AbortReason) -> None:
        self.done.append(f"aborted: {reason}")

    def leave(self) -> None:
        self.done.append("left the prompt")

    def told(self) -> None:
        self.done.append("told the prompt")

    @property
    def is_cut(self) -> bool:
        return self.signals.scope.cancel_called


async def test_the_first_interrupt_of_each_query_ends_only_that_query():
    heard = Heard()
    for _ in range(2):
        with heard.signals.in_query(heard.abort):
            heard.signals.take(INT)
    assert heard.done == ["aborted: user", "aborted: user"]
    assert (heard.signals.cause, heard.is_cut) == (None, False)


async def test_the_second_interrupt_of_a_query_leaves():
    heard = Heard()
    with heard.signals.in_query(heard.abort):
        heard.signals.take(INT)
        heard.signals.take(INT)
    assert (heard.signals.exit_code, heard.is_cut) == (130, True)


async def test_an_interrupt_while_only_the_prompt_waits_is_for_the_prompt_to_judge():
    heard = Heard()
    with heard.signals.at_prompt(heard.leave, heard.told):
        heard.signals.take(INT)
    assert (heard.done, heard.signals.cause, heard.is_cut) == (["told the prompt"], None, False)


@pytest.mark.parametrize("number", [INT, TERM, HUP])
async def test_while_it_opens_or_closes_every_signal_ends_it(number: int):
    heard = Heard()
    heard.signals.take(number)
    assert (heard.signals.exit_code, heard.is_cut) == (130 if number == INT else 143, True)


@pytest.mark.parametrize("number", [TERM, HUP])
async def test_a_termination_lets_the_query_or_the_prompt_end_first_and_is_not_patient_twice(number: int):
    for place, done in (("in_query", "aborted: terminated"), ("at_prompt", "left the prompt")):
        heard = Heard()
        with (
            heard.signals.in_query(heard.abort)
            if place == "in_query"
            else heard.signals.at_prompt(heard.leave, heard.told)
        ):
            heard.signals.take(number)
            assert (heard.done, heard.signals.exit_code, heard.is_cut) == ([done], 143, False)
            heard.signals.take(number)
            assert heard.is_cut


async def test_a_stop_is_no_end():
    heard = Heard()
    with heard.signals.in_query(heard.abort):
        heard.signals.take(TSTP)
    assert (heard.done, heard.signals.cause, heard.is_cut) == (["suspended"], None, False)
