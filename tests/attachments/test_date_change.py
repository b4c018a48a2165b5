"""The date is told when it differs from the one told last, once, and a resume changes nothing about that."""

from datetime import timedelta

from tests.attachments.views import keys

from ostinato.attachments.date_change import DateChange
from ostinato.messages import Message
from ostinato.testing import CountingIds, FakeClock

DAY_S = 86_400


async def test_the_same_day_says_nothing():
    clock = FakeClock()
    assert await DateChange(clock.now().date(), clock, CountingIds())([]) == ()


async def test_each_new_date_is_told_once_also_after_a_resume():
    clock = FakeClock()
    first = clock.now().date()
    view: list[Message] = []
    told: list[str] = []
    for _ in range(3):
        clock.advance(DAY_S)
        for _ in range(2):
            resumed = DateChange(first, clock, CountingIds())
            found = await resumed(view)
            view.extend(found)
            told += keys(found)
    assert told == [(first + timedelta(days=n)).isoformat() for n in (1, 2, 3)]


async def test_what_was_said_last_counts_and_not_the_date_of_the_start():
    clock = FakeClock()
    first = clock.now().date()
    clock.advance(DAY_S)
    view = list(await DateChange(first, clock, CountingIds())([]))
    today = clock.now().date()
    clock.advance(-DAY_S)
    assert keys(await DateChange(today, clock, CountingIds())(view)) == [first.isoformat()]


async def test_a_rewind_that_takes_the_reminder_away_brings_it_back():
    clock = FakeClock()
    clock.advance(DAY_S)
    yesterday = list(await DateChange(FakeClock().now().date(), clock, CountingIds())([]))
    clock.advance(DAY_S)
    collect = DateChange(clock.now().date(), clock, CountingIds())
    assert [len(await collect(yesterday)) for _ in range(2)] == [1, 1]
