"""What each signal does to a conversation, by where it comes."""

import signal

import pytest

from ostinato.cli.line_signals import AGAIN_S, LineSignals
from ostinato.submissions import AbortReason

INT, TERM, HUP, TSTP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP


class Heard:
    """What was done because of signals. `now_s` is what the clock says."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.now_s = 1_000.0
        self.signals = LineSignals(lambda: self.done.append("suspended"), monotonic_s=lambda: self.now_s)

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


async def test_the_second_interrupt_of_a_query_lets_it_end_and_leaves_and_the_third_cuts_it_short():
    heard = Heard()
    with heard.signals.in_query(heard.abort):
        heard.signals.take(INT)
        heard.signals.take(INT)
        assert (heard.signals.cause, heard.signals.exit_code, heard.is_cut) == ("interrupted", 130, False)
        assert heard.signals.scope.deadline < float("inf")
        heard.signals.take(INT)
    assert (heard.done, heard.signals.exit_code, heard.is_cut) == (["aborted: user"], 130, True)


@pytest.mark.parametrize(("later_s", "leaves"), [(0.0, True), (AGAIN_S, True), (AGAIN_S + 0.1, False)])
async def test_an_interrupt_at_the_prompt_soon_after_the_one_that_ended_the_query_leaves(
    later_s: float, *, leaves: bool
):
    heard = Heard()
    with heard.signals.in_query(heard.abort):
        heard.signals.take(INT)
    heard.now_s += later_s
    assert heard.signals.leave_if_again() is leaves
    assert heard.signals.cause == ("interrupted" if leaves else None)


async def test_after_a_query_that_nobody_interrupted_an_interrupt_at_the_prompt_is_the_first():
    heard = Heard()
    with heard.signals.in_query(heard.abort):
        heard.signals.take(INT)
    with heard.signals.in_query(heard.abort):
        pass
    assert not heard.signals.leave_if_again()


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
