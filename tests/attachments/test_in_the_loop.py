"""Collectors at work in a query: what they add stands behind the results, comes once, and leaves earlier requests as they were."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from tests.attachments.folders import places, put
from tests.attachments.views import SeenLog
from tests.loop.scene import Scene

from ostinato.attachments.changed_files import ChangedFiles
from ostinato.attachments.collect import CollectTogether, NamedCollector
from ostinato.attachments.date_change import DateChange
from ostinato.attachments.load_instructions import load_instructions
from ostinato.attachments.nested_instructions import NestedInstructions
from ostinato.loop.deps import Deps
from ostinato.loop.query import events_of
from ostinato.loop.run import Run
from ostinato.messages import ToolResult
from ostinato.ports import RequestMessage
from ostinato.testing import FakeClock, FakeWorkspace, Reply, ScriptedModel, call, say
from ostinato.tools.read import read_tool

DAY_S = 86_400


def with_collectors(deps: Deps, root: Path, clock: FakeClock) -> Deps:
    where = places(root)
    nested = NestedInstructions(load_instructions(where), where, FakeWorkspace(where.cwd), deps.ids)
    changed = ChangedFiles(SeenLog(), deps.ids, may_read=lambda _path: True)
    day = DateChange(FakeClock().now().date(), clock, deps.ids)
    collectors = [
        NamedCollector("nested instructions", nested, nested.at_once),
        NamedCollector("changed files", changed, changed.at_once),
        NamedCollector("date", day, day.at_once),
    ]
    return replace(deps, collect_attachments=CollectTogether(collectors, clock))


def last_result(messages: Sequence[RequestMessage]) -> str:
    (block,) = messages[-1].content
    assert isinstance(block, ToolResult)
    return str(block.content)


async def test_reminders_stand_behind_the_results_and_come_once(tmp_path: Path):
    put(tmp_path, {"project/web/AGENTS.md": "web words", "project/web/a.css": "a", "project/web/b.css": "b"})
    reads = [Reply(call("Read", f"t-{name}", file_path=f"web/{name}.css")) for name in "ab"]
    scene = Scene(ScriptedModel(*reads, Reply(say("done"))), tools=[read_tool()], folder=tmp_path / "project")
    clock = FakeClock()
    clock.advance(DAY_S)
    async for event in events_of(Run(scene.params(), with_collectors(scene.deps(), tmp_path, clock))):
        scene.events.append(event)
    first, second, third = (request.messages for request in scene.model.requests)
    assert last_result(second).index("1\ta") < last_result(second).index("web words")
    assert clock.now().date().isoformat() in last_result(second)
    assert "<system-reminder>" not in last_result(third)
    assert list(third[: len(second)]) == list(second)
    assert list(second[: len(first)]) == list(first)
    assert scene.terminal.reason == "completed"
