"""The editor on keys from a pipe: a question is answered by what is typed after it, and the draft survives everything."""

import os
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input

from ostinato.cli.editor import Editor
from ostinato.cli.input_history import UnkeptHistory
from ostinato.cli.prompt_line import Gesture
from ostinato.cli.terminal_outbox import TerminalOutbox

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


class Idle:
    """Implements `Deeds`: what was done."""

    def __init__(self) -> None:
        self.is_busy = False
        self.done: list[str] = []
        self.queued: list[str] = []

    def interrupt(self) -> None:
        self.done.append("interrupted")

    def send_now(self, text: str) -> None:
        self.done.append(f"sent now: {text}")

    def leave_afterwards(self) -> None:
        self.done.append("leave afterwards")

    def take_back(self) -> str | None:
        return self.queued.pop() if self.queued else None

    def suspend(self) -> None:
        self.done.append("suspended")


class Desk:
    """An editor, its keys, and what it handed on."""

    def __init__(self, keys: PipeInput, output: int) -> None:
        self.keys = keys
        self.deeds = Idle()
        self.taken: list[str | Gesture] = []
        self.is_read = anyio.Event()
        self.is_read.set()
        self.editor = Editor(
            TerminalOutbox(output),
            self.deeds,
            lambda _columns, _rows: [""],
            history=UnkeptHistory,
            term="xterm",
            has_colour=False,
            until_read=self.until_read,
        )

    async def until_read(self) -> None:
        await self.is_read.wait()

    async def until(self, *taken: str | Gesture) -> None:
        with anyio.fail_after(10):
            while self.taken != list(taken):
                await anyio.lowlevel.checkpoint()


@contextmanager
def a_desk() -> Generator[Desk, None, None]:
    output = os.open(os.devnull, os.O_WRONLY)
    with create_pipe_input() as keys, create_app_session(input=keys):
        yield Desk(keys, output)
    os.close(output)


async def test_what_was_typed_before_a_question_does_not_answer_it_and_comes_afterwards():
    with a_desk() as desk:
        answers: list[str | None] = []

        async def ask() -> None:
            answers.append(await desk.editor.ask("allow? "))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.editor.run, desk.taken.append)
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("y\ry\r")  # it waits in the terminal when the question is put
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            desk.keys.send_text("n\r")
            await desk.until("y", "y")
            assert answers == ["n"]
            desk.editor.leave()


async def test_what_is_typed_before_the_question_can_be_read_does_not_answer_it_and_comes_afterwards():
    with a_desk() as desk:
        desk.is_read = anyio.Event()
        answers: list[str | None] = []

        async def ask() -> None:
            answers.append(await desk.editor.ask("allow? "))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.editor.run, desk.taken.append)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("y\r\x1b[200~two\nlines\x1b[201~\rhal")
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            desk.is_read.set()
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("n\r")
            await desk.until("y", "two\nlines")
            assert answers == ["n"]
            desk.keys.send_text("f\r")
            await desk.until("y", "two\nlines", "half")
            desk.editor.leave()


async def test_ctrl_c_leaves_a_question_that_nobody_has_read_yet():
    with a_desk() as desk:
        desk.is_read = anyio.Event()
        answers: list[str | None] = ["none so far"]

        async def ask() -> None:
            answers.append(await desk.editor.ask("allow? "))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.editor.run, desk.taken.append)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("y\x03")
            with anyio.fail_after(10):
                while answers[-1] is not None:
                    await anyio.lowlevel.checkpoint()
            assert desk.deeds.done == ["interrupted"]
            desk.editor.leave()


async def test_a_question_that_is_withdrawn_leaves_the_draft_as_it_was():
    with a_desk() as desk:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.editor.run, desk.taken.append)
            desk.keys.send_text("a draft")
            await anyio.wait_all_tasks_blocked()
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as asking:
                    asking.start_soon(desk.editor.ask, "allow? ")
                    await anyio.wait_all_tasks_blocked()
                    desk.keys.send_text("y")
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("!\r")
            await desk.until("a draft!")
            desk.editor.leave()


async def test_ctrl_d_leaves_only_while_nothing_works():
    with a_desk() as desk:
        async with anyio.create_task_group() as tasks:
            desk.deeds.is_busy = True
            tasks.start_soon(desk.editor.run, desk.taken.append)
            desk.keys.send_text("\x04still here\r")
            await desk.until("still here")
            assert desk.deeds.done == ["leave afterwards"]
            desk.deeds.is_busy = False
            desk.keys.send_text("\x04")
            await desk.until("still here", Gesture.END)


async def test_whoever_leaves_between_two_texts_has_left():
    with a_desk() as desk:

        def take(typed: str | Gesture) -> None:
            desk.taken.append(typed)
            desk.editor.leave()

        desk.keys.send_text("one\rtwo\r")
        with anyio.fail_after(10):
            await desk.editor.run(take)
        assert desk.taken == ["one"]


async def test_a_question_that_is_put_between_two_texts_is_put():
    with a_desk() as desk:
        answers: list[str | None] = []

        async def ask() -> None:
            answers.append(await desk.editor.ask("allow? "))

        async with anyio.create_task_group() as tasks:

            def take(typed: str | Gesture) -> None:
                desk.taken.append(typed)
                if typed == "one":
                    tasks.start_soon(ask)

            tasks.start_soon(desk.editor.run, take)
            desk.keys.send_text("one\r")
            await desk.until("one")
            await anyio.wait_all_tasks_blocked()
            desk.keys.send_text("y\r")
            with anyio.fail_after(10):
                while not answers:
                    await anyio.lowlevel.checkpoint()
            assert answers == ["y"]
            desk.editor.leave()


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_question_to_somebody_who_left_gets_no_answer_and_waits_for_none(is_first: bool):
    with a_desk() as desk, anyio.fail_after(10):
        answers: list[str | None] = []

        async def ask() -> None:
            answers.append(await desk.editor.ask("allow? "))

        async with anyio.create_task_group() as tasks:
            if is_first:
                tasks.start_soon(desk.editor.run, desk.taken.append)
                tasks.start_soon(ask)
                await anyio.wait_all_tasks_blocked()
                desk.editor.leave()
            else:
                desk.keys.send_text("\x04")
                await desk.editor.run(desk.taken.append)
                tasks.start_soon(ask)
        assert answers == [None]


async def test_up_on_an_empty_line_takes_back_what_waits_and_then_goes_through_what_was_sent():
    with a_desk() as desk:
        desk.deeds.queued = ["waiting"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.editor.run, desk.taken.append)
            desk.keys.send_text("first\r\x1b[A!\r")
            await desk.until("first", "waiting!")
            desk.keys.send_text("\x1b[A\x1b[A\r")
            await desk.until("first", "waiting!", "first")
            desk.editor.leave()
