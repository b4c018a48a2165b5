"""The hand-over between a run and its consumer: order, room, and nothing lost when a waiting consumer is cancelled."""

import anyio
import pytest

from ostinato.loop.channel import Channel


async def settled() -> None:
    await anyio.wait_all_tasks_blocked()


async def test_a_waiting_consumer_gets_each_batch_in_order_and_then_the_end() -> None:
    channel, got = Channel[int](), list[int]()

    async def consume() -> None:
        while (batch := await channel.receive()) is not None:
            got.extend(batch)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        for number in range(5):
            await settled()  # each finds the consumer waiting
            await channel.send((number,))
        await settled()
        channel.close(5)
    assert got == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("is_sent_first", [False, True])
async def test_a_cancelled_receive_loses_nothing_and_leaves_no_wake_behind(is_sent_first: bool) -> None:
    """Cancelled before a batch came, and in the same turn in which it came."""
    channel, got = Channel[int](), list[object]()

    async def consume() -> None:
        got.append(await channel.receive())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await settled()
        if is_sent_first:
            await channel.send((1,))
        tasks.cancel_scope.cancel()
    if not is_sent_first:
        await channel.send((1,))
    if not got:  # where the batch was there, one event loop still lets the consumer have it
        await consume()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        await settled()  # an empty channel waits, whatever woke it before: else this would never be reached
        tasks.cancel_scope.cancel()
    assert got == [(1,)]


async def test_a_consumer_that_takes_without_waiting_leaves_no_wake_behind() -> None:
    channel = Channel[int]()
    for number in range(3):
        await channel.send((number,))
        assert await channel.receive() == (number,)
    turns = list[object]()
    async with anyio.create_task_group() as tasks:

        async def consume() -> None:
            turns.append(await channel.receive())

        tasks.start_soon(consume)
        await settled()
        assert not turns
        channel.close(9)
    assert turns == [(9,)]


async def test_a_full_channel_holds_the_sender_until_what_was_taken_is_done_with() -> None:
    channel, sent = Channel[int](capacity=1), list[int]()

    async def produce() -> None:
        for number in range(3):
            await channel.send((number,))
            sent.append(number)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(produce)
        await settled()
        assert sent == [0]
        assert await channel.receive() == (0,)
        await settled()
        assert sent == [0], "the batch is still being worked on"
        assert await channel.receive() == (1,)
        assert await channel.receive() == (2,)
    assert sent == [0, 1, 2]
