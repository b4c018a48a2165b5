"""Collectors run side by side, fail alone, share one deadline, and their finds come in a fixed order."""

import logging
from collections.abc import Sequence

import anyio
import pytest

from ostinato.attachments.collect import CollectTogether, NamedCollector
from ostinato.messages import Message, Reminder, attachment_message
from ostinato.ports import CollectAttachments
from ostinato.testing import FakeClock

NOTES = [attachment_message(name, Reminder(name, name)) for name in "abc"]


def finds(
    *messages: Message, after: anyio.Event | None = None, sets: anyio.Event | None = None
) -> CollectAttachments:
    async def collect(view: Sequence[Message]) -> Sequence[Message]:
        if sets is not None:
            sets.set()
        if after is not None:
            await after.wait()
        return messages

    return collect


def fails(error: Exception) -> CollectAttachments:
    async def collect(view: Sequence[Message]) -> Sequence[Message]:
        raise error

    return collect


def together(clock: FakeClock, *collectors: CollectAttachments) -> CollectTogether:
    return CollectTogether([NamedCollector(f"c{n}", one) for n, one in enumerate(collectors)], clock)


async def test_finds_come_in_the_order_of_the_collectors_and_not_of_their_ends():
    gate = anyio.Event()
    collect = together(FakeClock(), finds(NOTES[0], after=gate), finds(NOTES[1], sets=gate), finds(NOTES[2]))
    assert await collect([]) == NOTES


async def test_one_that_fails_costs_only_its_own_and_one_line_of_log(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    group = ExceptionGroup("two", [ValueError("x"), KeyError("y")])
    collect = together(FakeClock(), fails(RuntimeError("broken")), finds(NOTES[1]), fails(group))
    assert await collect([]) == [NOTES[1]]
    assert sorted(record.getMessage().split(" failed")[0] for record in caplog.records) == [
        "the collector c0",
        "the collector c2",
    ]


async def test_at_the_deadline_the_late_one_is_left_out_and_the_others_stay(caplog: pytest.LogCaptureFixture):
    clock, never = FakeClock(), anyio.Event()
    collect = together(clock, finds(NOTES[0]), finds(NOTES[1], after=never), finds(NOTES[2]))
    found: list[Message] = []

    async def run() -> None:
        found.extend(await collect([]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await clock.until_sleeping()
        await anyio.wait_all_tasks_blocked()
        clock.advance(0.999)
        await anyio.wait_all_tasks_blocked()
        assert found == []
        clock.advance(0.001)
    assert found == [NOTES[0], NOTES[2]]
    assert [record.getMessage().endswith("c1") for record in caplog.records] == [True]


class AtOnce:
    """Finds without waiting, and counts how often it is asked the long way."""

    def __init__(self, *found: Message, error: Exception | None = None) -> None:
        self.asked = 0
        self._found = found
        self._error = error

    def at_once(self, view: Sequence[Message]) -> Sequence[Message] | None:
        if self._error is not None:
            raise self._error
        return self._found

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        self.asked += 1
        return ()


async def test_what_is_found_at_once_stands_in_its_place_and_is_not_asked_again():
    first, last = AtOnce(NOTES[0]), AtOnce(NOTES[2])
    between = NamedCollector("slow", finds(NOTES[1]))
    named = [
        NamedCollector("first", first, first.at_once),
        between,
        NamedCollector("last", last, last.at_once),
    ]
    assert await CollectTogether(named, FakeClock())([]) == NOTES
    assert first.asked == last.asked == 0


async def test_where_all_is_found_at_once_no_clock_is_started(caplog: pytest.LogCaptureFixture):
    clock = FakeClock()
    broken, found = AtOnce(error=ValueError("x")), AtOnce(NOTES[1])
    named = [NamedCollector("broken", broken, broken.at_once), NamedCollector("found", found, found.at_once)]
    assert await CollectTogether(named, clock)([]) == [NOTES[1]]
    assert clock.slept == []
    assert [record.getMessage().split(" failed")[0] for record in caplog.records] == ["the collector broken"]


async def test_without_collectors_nothing_is_waited_for():
    clock = FakeClock()
    assert await CollectTogether([], clock)([]) == []
    assert clock.slept == []


async def test_when_all_have_ended_the_deadline_is_not_waited_for():
    clock = FakeClock()
    assert await together(clock, finds(NOTES[0]))([]) == [NOTES[0]]
    assert clock.sleepers == 0


async def test_cancelling_the_call_cancels_all_collectors():
    started, never = anyio.Event(), anyio.Event()
    collect = together(FakeClock(), finds(after=never, sets=started))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collect, NOTES)
            await started.wait()
            scope.cancel()
    assert scope.cancelled_caught
