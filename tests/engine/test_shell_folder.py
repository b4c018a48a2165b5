"""The folder that a `cd` led to: the next round is judged there and runs there, and rules stay anchored at the project."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.events import ToolEnd, UserEvent
from ostinato.messages import ToolResult
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="needs files in memory"),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "secrets").mkdir()
    (work / "secrets" / "key").write_text("hush\n")
    (work / "a.txt").write_text("inside\n")
    (tmp_path / "a.txt").write_text("outside\n")
    return work


async def outcomes(work: Path, *rounds: tuple[str, ...], **more: Any) -> dict[str, tuple[str, str]]:
    """By command: how its call ended and what it said. Nobody can be asked."""
    calls = {
        f"t{place}-{index}": text for place, texts in enumerate(rounds) for index, text in enumerate(texts)
    }
    replies = [
        Reply(*(call("Bash", f"t{place}-{index}", command=text) for index, text in enumerate(texts)))
        for place, texts in enumerate(rounds)
    ]
    options = Options(
        cwd=work,
        model=ScriptedModel(*replies, Reply(say("done"))),
        environment={"HOME": str(work.parent / "home"), "PATH": "/usr/bin:/bin"},
        **more,
    )
    ended: dict[str, str] = {}
    said: dict[str, str] = {}
    async with open_engine(options) as engine:
        async for event in engine.submit_message("go"):
            if isinstance(event, ToolEnd):
                ended[event.tool_use_id] = event.outcome
            if isinstance(event, UserEvent):
                for block in event.message.content:
                    if isinstance(block, ToolResult):
                        said[block.tool_use_id] = str(block.content)
    return {calls[key]: (ended[key], said[key]) for key in calls}


async def test_the_next_round_is_judged_where_it_runs(work: Path):
    alone = await outcomes(work, ("cat ../a.txt",))
    assert alone["cat ../a.txt"][0] == "denied"
    after = await outcomes(work, ("cd sub",), ("cat ../a.txt", "cat ../../a.txt"))
    assert after["cat ../a.txt"] == ("ok", "inside")
    assert after["cat ../../a.txt"][0] == "denied"


async def test_calls_of_one_round_are_judged_and_run_where_the_round_began(work: Path):
    found = await outcomes(work, ("cd sub", "cat ../a.txt", "cat a.txt"))
    assert found["cat ../a.txt"][0] == "denied"
    assert found["cat a.txt"] == ("ok", "inside")


async def test_a_rule_keeps_its_anchor_after_a_cd(work: Path):
    found = await outcomes(work, ("cd sub",), ("cat ../secrets/key",), disallowed_tools=("Read(secrets/**)",))
    assert found["cat ../secrets/key"][0] == "denied"
    assert "hush" not in found["cat ../secrets/key"][1]


async def test_file_tools_and_searches_stay_where_the_conversation_is(work: Path):
    model = ScriptedModel(
        Reply(call("Bash", "t1", command="cd sub")),
        Reply(call("Read", "t2", file_path="a.txt")),
        Reply(say("done")),
    )
    async with open_engine(Options(cwd=work, model=model, environment={"PATH": "/usr/bin:/bin"})) as engine:
        ends = [event.outcome async for event in engine.submit_message("go") if isinstance(event, ToolEnd)]
    assert ends == ["ok", "ok"]
