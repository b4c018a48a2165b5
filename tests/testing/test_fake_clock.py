"""Virtual time passes only when told, or as fast as it is slept."""

import anyio

from ostinato.testing import CountingIds, FakeClock


async def test_a_sleeper_wakes_when_its_time_has_come_and_not_before() -> None:
    clock = FakeClock()
    woken: list[str] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async with anyio.create_task_group() as group:
        group.start_soon(sleep, "late", 10.0)
        group.start_soon(sleep, "early", 5.0)
        await clock.until_sleeping(2)
        clock.advance(7)
        while not woken:
            await anyio.lowlevel.checkpoint()
        assert woken == ["early"]
        clock.advance(3)
    assert woken == ["early", "late"]
    assert clock.monotonic_s() == 10


async def test_with_auto_advance_a_sleep_moves_the_clock_itself() -> None:
    clock = FakeClock(auto_advance=True)
    before = clock.now()
    await clock.sleep(3600)
    assert clock.slept == [3600]
    assert (clock.now() - before).total_seconds() == 3600


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 10.0)
        await clock.until_sleeping()
        group.cancel_scope.cancel()
    assert clock.sleepers == 0


def test_ids_count_up() -> None:
    ids = CountingIds("m")
    assert [ids.uuid(), ids.uuid()] == ["m-1", "m-2"]
