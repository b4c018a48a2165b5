"""What goes to the terminal goes in order and never blocks: a terminal that takes nothing makes only its writers wait."""

import os
from collections.abc import Iterator

import anyio
import pytest

from ostinato.cli.output import OutputClosed
from ostinato.cli.terminal_outbox import MAX_WAITING_BYTES, TerminalOutbox

BIG = "x" * (MAX_WAITING_BYTES * 3)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue


async def test_everything_arrives_in_order_however_slow_the_reader(pipe: tuple[int, int]):
    reading, writing = pipe
    outbox, parts = TerminalOutbox(writing), list[bytes]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        outbox.put(BIG)
        outbox.put("the end")
        while not parts or not parts[-1].endswith(b"end"):
            await anyio.wait_readable(reading)
            parts.append(os.read(reading, 65_536))
        await outbox.caught_up()
        tasks.cancel_scope.cancel()
    assert b"".join(parts) == f"{BIG}the end".encode()


async def test_who_writes_too_much_waits_until_it_is_taken(pipe: tuple[int, int]):
    reading, writing = pipe
    outbox, is_done = TerminalOutbox(writing), anyio.Event()

    async def write() -> None:
        outbox.put(BIG)
        await outbox.caught_up()
        is_done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(outbox.run)
        tasks.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        assert not is_done.is_set()
        while not is_done.is_set():
            await anyio.wait_readable(reading)
            os.read(reading, 65_536)
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_a_terminal_that_is_gone_is_told_to_who_waits(pipe: tuple[int, int]):
    reading, writing = pipe
    outbox = TerminalOutbox(writing)
    os.close(reading)
    outbox.put("x")
    with pytest.raises(OutputClosed):
        await outbox.caught_up()
    outbox.put("more")


async def test_a_batch_goes_out_together(pipe: tuple[int, int]):
    reading, writing = pipe
    outbox = TerminalOutbox(writing)
    os.set_blocking(reading, False)
    outbox.begin_batch()
    outbox.put("one")
    outbox.put("two")
    with pytest.raises(BlockingIOError):
        os.read(reading, 10)
    outbox.end_batch()
    assert os.read(reading, 10) == b"onetwo"
