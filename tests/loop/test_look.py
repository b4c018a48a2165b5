"""A look at a call before somebody is asked about it: what it says ends the call, what goes wrong with it changes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.events import ToolEnd
from ostinato.loop.access import Touched
from ostinato.loop.look import LOOK_S
from ostinato.messages import ToolResult, ToolUse, UserMessage
from ostinato.ports import Allowed, Futile, PermissionQuery
from ostinato.records import FileIntended, PermissionDecided, ToolStarted
from ostinato.testing import ALLOWED, Gate, Reply, ScriptedModel, call, fake_tool, say, waits_at
from ostinato.tool import Access, LookAhead, Tool, ToolContext


class Asks:
    """A gate that asks about every call that is not known to be in vain, and always hears yes."""

    def __init__(self, *, is_patient: bool = False) -> None:
        self.asked: list[str] = []
        self._is_patient = is_patient

    async def decide(self, query: PermissionQuery) -> Allowed | Futile:
        look = query.cannot_succeed
        why = None if look is None else await look(is_patient=self._is_patient)
        if why is not None:
            return Futile(why)
        self.asked.append(query.tool_use_id)
        return ALLOWED


class Look:
    """Says that every call is in vain, and remembers which it was shown."""

    def __init__(self, says: object = "in vain") -> None:
        self.seen: list[str] = []
        self._says = says

    async def __call__(self, _input: Mapping[str, Any], context: ToolContext) -> str | None:
        self.seen.append(context.tool_use_id)
        if isinstance(self._says, BaseException):
            raise self._says
        return cast("str | None", self._says)


def looking(look: LookAhead, name: str = "Change", **more: Any) -> Tool:
    return replace(fake_tool(name, **more), cannot_succeed=look)


def scene_of(asks: Asks, tools: list[Tool], *calls: ToolUse, **more: Any) -> Scene:
    return Scene(ScriptedModel(Reply(*calls), Reply(say("done"))), tools, asks, **more)


def results_in(scene: Scene) -> list[ToolResult]:
    messages = [message for message in scene.view if isinstance(message, UserMessage)]
    return [block for message in messages for block in message.content if isinstance(block, ToolResult)]


def ends(scene: Scene) -> list[str]:
    return [event.outcome for event in scene.events if isinstance(event, ToolEnd)]


async def test_what_is_known_to_be_in_vain_is_an_error_that_nobody_decided():
    asks, look = Asks(), Look("there is no such file")
    scene = scene_of(asks, [looking(look)], call("Change", "t1"))
    await scene.play()
    assert results_in(scene) == [ToolResult("t1", "there is no such file", is_error=True)]
    assert (ends(scene), scene.terminal.denials, asks.asked) == (["error"], (), [])
    assert not [one for one in scene.journal.records if isinstance(one, PermissionDecided | ToolStarted)]
    assert scene.is_same_on_disk


async def test_a_tool_without_a_look_is_asked_about_at_once():
    queries: list[PermissionQuery] = []

    class Remembers(Asks):
        async def decide(self, query: PermissionQuery) -> Allowed | Futile:
            queries.append(query)
            return await super().decide(query)

    await scene_of(Remembers(), [fake_tool("Change")], call("Change", "t1")).play()
    assert [query.cannot_succeed for query in queries] == [None]


NOTHING: list[object] = [None, "", 3, b"in vain", ValueError("broken"), OSError(13, "no"), SystemExit(3)]


@pytest.mark.parametrize("says", NOTHING, ids=repr)
async def test_a_look_that_fails_or_says_nothing_leaves_the_question_to_the_person(says: object):
    asks = Asks()
    scene = scene_of(asks, [looking(Look(says))], call("Change", "t1"))
    await scene.play()
    assert (asks.asked, ends(scene)) == (["t1"], ["ok"])


async def hangs(_input: object, _context: object) -> None:
    await anyio.sleep_forever()


async def test_a_look_that_hangs_is_given_up_and_the_question_is_put():
    asks = Asks()
    scene = scene_of(asks, [looking(hangs)], call("Change", "t1"))

    async def time_passes() -> None:
        await scene.clock.until_sleeping()
        await anyio.wait_all_tasks_blocked()
        scene.clock.advance(LOOK_S / 2)
        await anyio.wait_all_tasks_blocked()
        assert asks.asked == []
        scene.clock.advance(LOOK_S / 2)
        await anyio.wait_all_tasks_blocked()
        scene.abort.abort("user")  # it is over by now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(time_passes)
        await scene.play()
    assert (asks.asked, ends(scene)) == (["t1"], ["ok"])


async def test_an_abort_ends_a_look():
    scene = scene_of(Asks(), [looking(hangs)], call("Change", "t1"))

    async def abort() -> None:
        await scene.clock.until_sleeping()
        scene.abort.abort("user")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(abort)
        await scene.play()
    assert (ends(scene), scene.terminal.reason) == (["cancelled"], "aborted_tools")


async def test_a_look_changes_no_file(tmp_path: Path):
    async def changes(_input: object, context: ToolContext) -> str:
        await context.workspace.replace_file(tmp_path / "a", b"changed")
        return "in vain"

    asks = Asks()
    scene = scene_of(asks, [looking(changes)], call("Change", "t1", writes=["a"]), folder=tmp_path)
    await scene.play()
    assert not (tmp_path / "a").exists()
    assert asks.asked == ["t1"]
    assert not [one for one in scene.journal.records if isinstance(one, FileIntended)]


async def behind_another(asks: Asks, look: Look, second: ToolUse) -> tuple[list[str], list[str]]:
    """Which calls were looked at, and which were asked about, while a change of the file `a` before them still runs."""
    gate = Gate()
    scene = scene_of(
        asks,
        [fake_tool("First", waits_at(gate)), looking(look)],
        call("First", "first", writes=["a"]),
        second,
    )
    noted: list[tuple[list[str], list[str]]] = []

    async def note() -> None:
        await gate.reached()
        await anyio.wait_all_tasks_blocked()
        noted.append((list(look.seen), list(asks.asked)))
        gate.open()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(note)
        await scene.play()
    return noted[0]


async def test_a_call_that_has_to_wait_for_another_is_not_looked_at_before_a_person_is_asked():
    """The other may be what lets it succeed, and whoever is there to be asked does not wait for it."""
    asks, look = Asks(), Look()
    assert await behind_another(asks, look, call("Change", "t1", writes=["a"])) == ([], ["first", "t1"])
    assert look.seen == []


async def test_where_nobody_waits_for_the_question_it_is_looked_at_after_the_other():
    asks, look = Asks(is_patient=True), Look()
    assert await behind_another(asks, look, call("Change", "t1", writes=["a"])) == ([], ["first"])
    assert (look.seen, asks.asked) == (["t1"], ["first"])


@pytest.mark.parametrize("given", [{"writes": ["b"]}, {"touches_nothing": True}])
async def test_what_has_to_wait_for_nobody_is_looked_at_at_once(given: dict[str, Any]):
    asks, look = Asks(), Look()
    assert await behind_another(asks, look, call("Change", "t1", **given)) == (["t1"], ["first"])


async def test_work_that_goes_on_after_its_call_is_in_the_way_of_a_look():
    asks, look = Asks(), Look(None)
    scene = scene_of(asks, [looking(look)], call("Change", "t1", writes=["a"]), folder=Path("/"))
    runs_on = anyio.Event()
    runs_on_access = Access(writes=(Path("/a"),))
    scene.still_running.add(Touched(runs_on_access), runs_on, scene.clock.monotonic_s())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.play)
        await anyio.wait_all_tasks_blocked()
        assert (look.seen, asks.asked) == ([], ["t1"])
        runs_on.set()
