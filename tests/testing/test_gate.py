"""A gate orders coroutines and threads alike."""

import threading

import anyio

from ostinato.testing import Gate


async def test_everybody_waits_until_the_gate_opens() -> None:
    gate, through = Gate(), list[int]()

    async def pass_through(number: int) -> None:
        await gate.wait()
        through.append(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(pass_through, number)
        await gate.reached()
        assert through == []
        gate.open()
    assert sorted(through) == [0, 1, 2]
    await gate.wait()


async def test_a_thread_at_the_gate_is_seen_by_a_coroutine_and_let_go_by_it() -> None:
    gate, passed = Gate(), list[bool]()
    thread = threading.Thread(target=lambda: passed.append(gate.wait_in_thread(5)))
    thread.start()
    with anyio.fail_after(5):
        await gate.reached()
    assert passed == []
    gate.open()
    thread.join(5)
    assert passed == [True]


async def test_a_coroutine_at_the_gate_is_let_go_by_a_thread() -> None:
    gate = Gate()

    def open_it() -> None:
        assert gate.reached_in_thread(5)
        gate.open()

    thread = threading.Thread(target=open_it)
    thread.start()
    with anyio.fail_after(5):
        await gate.wait()
    thread.join(5)


def test_a_thread_does_not_wait_for_ever() -> None:
    gate = Gate()
    assert not gate.wait_in_thread(0)
    assert gate.is_reached
    assert not gate.is_open
    assert Gate.opened().wait_in_thread(0)
