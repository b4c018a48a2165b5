"""What leads to a call stands on the screen before the question about it, and old calls take no room."""

from typing import Any, cast

import anyio

from ostinato.cli.screen import MAX_KNOWN_CALLS, Screen


def a_screen() -> Screen:
    nothing = cast("Any", None)  # neither the outbox nor the line is asked for what was shown
    return Screen(nothing, nothing)


async def test_a_question_waits_until_its_call_is_shown():
    screen, order = a_screen(), list[str]()

    async def ask() -> None:
        await screen.until_shown("t1")
        order.append("asked")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        order.append("shown")
        screen.has_shown(["t1"])
    assert order == ["shown", "asked"]


async def test_a_long_conversation_forgets_the_calls_of_old_replies_and_knows_the_newest():
    screen = a_screen()
    screen.has_shown(f"t{number}" for number in range(3 * MAX_KNOWN_CALLS))
    assert len(screen._shown_calls) == MAX_KNOWN_CALLS
    with anyio.fail_after(0.5):
        await screen.until_shown(f"t{3 * MAX_KNOWN_CALLS - 1}")
