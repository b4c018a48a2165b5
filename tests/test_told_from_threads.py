"""A thread tells an event loop what it has to say and goes on, whether anybody listens or not."""

import threading

import anyio
import pytest
from anyio import to_thread

from ostinato.told_from_threads import told_from_threads


async def test_what_threads_tell_is_heard_on_the_loop_in_order():
    heard: list[tuple[str, int]] = []

    def hear(word: str) -> None:
        heard.append((word, threading.get_ident()))

    tell = told_from_threads(hear)

    def work() -> None:
        for word in ("first", "second"):
            tell(word)

    await to_thread.run_sync(work)
    with anyio.fail_after(10):
        while len(heard) < 2:
            await anyio.lowlevel.checkpoint()
    assert heard == [("first", threading.get_ident()), ("second", threading.get_ident())]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_does_not_listen_any_more_keeps_no_thread(backend: str):
    may_tell, has_told = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    async def main() -> bool:
        tell = told_from_threads(lambda: None)

        def work() -> None:
            may_tell.wait(10)
            tell()
            has_told.set()

        threads.append(threading.Thread(target=work, daemon=True))
        threads[0].start()
        may_tell.set()
        return has_told.wait(10)  # the loop stands still here, and ends

    assert anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_is_over_is_told_in_vain(backend: str):
    async def main() -> object:
        return told_from_threads(lambda: pytest.fail("nobody is there"))

    tell = anyio.run(main, backend=backend)
    assert callable(tell)
    tell()


async def test_what_fails_in_hearing_hurts_neither_thread_nor_loop(caplog: pytest.LogCaptureFixture):
    def hear() -> None:
        raise ValueError("deaf")

    tell = told_from_threads(hear)
    await to_thread.run_sync(tell)
    with anyio.fail_after(10):
        while not caplog.records:
            await anyio.lowlevel.checkpoint()
    assert "deaf" in caplog.text
