"""What is looked for beside the first model call joins the attachments when it is there, and never holds anything up."""

from collections.abc import Sequence

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import AttachmentEvent, Event
from ostinato.loop.deps import Prefetch, no_attachments
from ostinato.loop.query import query
from ostinato.messages import Message, Reminder, attachment_message
from ostinato.ports import CollectAttachments
from ostinato.testing import Gate, Reply, ScriptedModel, call, fake_tool, say, terminal, waits_at

FOUND = attachment_message("memory-1", Reminder("memory", "The tests run with make."))


async def gives(_view: Sequence[Message]) -> Sequence[Message]:
    return (FOUND,)


async def played(scene: Scene, prefetch: Prefetch) -> list[Event]:
    return [event async for event in query(scene.params(), replace(scene.deps(), prefetch=prefetch))]


def attached(events: Sequence[Event]) -> list[Message]:
    return [event.message for event in events if isinstance(event, AttachmentEvent)]


def two_rounds() -> ScriptedModel:
    return ScriptedModel(Reply(call("Look", "t1")), Reply(call("Look", "t2")), Reply(say("done")))


async def test_it_starts_with_the_query_and_its_find_goes_into_the_next_request_once() -> None:
    seen: list[int] = []
    scene = Scene(two_rounds(), [fake_tool("Look")])

    async def prefetch(view: Sequence[Message]) -> CollectAttachments:
        seen.append(len(view))
        return gives

    events = await played(scene, prefetch)
    assert seen == [1]
    assert attached(events) == [FOUND]
    holds = ["run with make" in str(request.messages) for request in scene.model.requests]
    assert holds[0] is False
    assert holds[-1] is True


async def test_what_is_not_there_yet_comes_after_a_later_round() -> None:
    gate = Gate()
    scene = Scene(two_rounds(), [fake_tool("Look", waits_at(gate))])
    is_ready = anyio.Event()

    async def prefetch(_view: Sequence[Message]) -> CollectAttachments:
        await is_ready.wait()
        return gives

    events: list[Event] = []

    async def play() -> None:
        events.extend(await played(scene, prefetch))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play)
        await gate.reached()
        is_ready.set()
        gate.open()
    assert attached(events) == [FOUND]


@pytest.mark.parametrize("rounds", [0, 2])
async def test_one_that_never_ends_holds_nothing_up_and_ends_with_the_query(rounds: int) -> None:
    was_cancelled: list[bool] = []
    replies = [Reply(call("Look", f"t{number}")) for number in range(rounds)]
    scene = Scene(ScriptedModel(*replies, Reply(say("done"))), [fake_tool("Look")])

    async def prefetch(_view: Sequence[Message]) -> CollectAttachments:
        try:
            await anyio.sleep_forever()
        finally:
            was_cancelled.append(True)
        return no_attachments

    events = await played(scene, prefetch)
    assert terminal(events).reason == "completed"
    assert was_cancelled == [True]


async def test_an_abort_ends_it() -> None:
    was_cancelled: list[bool] = []
    gate = Gate()
    scene = Scene(two_rounds(), [fake_tool("Look", waits_at(gate))])

    async def prefetch(_view: Sequence[Message]) -> CollectAttachments:
        try:
            await anyio.sleep_forever()
        finally:
            was_cancelled.append(True)
        return no_attachments

    events: list[Event] = []

    async def play() -> None:
        events.extend(await played(scene, prefetch))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play)
        await gate.reached()
        scene.abort.abort("user")
    assert terminal(events).reason == "aborted_tools"
    assert was_cancelled == [True]


async def test_one_that_fails_costs_nothing() -> None:
    scene = Scene(two_rounds(), [fake_tool("Look")])

    async def prefetch(_view: Sequence[Message]) -> CollectAttachments:
        raise RuntimeError("no memory")

    events = await played(scene, prefetch)
    assert terminal(events).reason == "completed"
    assert attached(events) == []
