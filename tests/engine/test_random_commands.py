"""Whole conversations with random commands, timeouts and aborts: every call has one result, every query its end, and processes,
descriptors, threads and temporary files are as before.

`OSTINATO_RANDOM_SCRIPTS=500` runs more commands, with other seeds than the usual one.
"""

import os
import random
import sys
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel
import pytest
from tests.sandbox.test_random_scripts import COUNT, LAST, PIECES, Machine

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.events import Event, Result, Terminal
from ostinato.messages import AssistantMessage, ToolResult, ToolUse, UserMessage
from ostinato.ports import ModelRequest
from ostinato.submissions import AbortReason
from ostinato.testing import Reply, ScriptedModel, Turn, say

QUERIES: Final = 4
"""In one conversation."""

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(60 + 2 * COUNT),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc"),
]


def command(chance: random.Random, number: int) -> ToolUse:
    script = "".join(chance.choices(PIECES, k=chance.randint(0, 4))) + chance.choice(LAST)
    arguments: dict[str, object] = {"command": script, "timeout": chance.choice((50, 150, 300))}
    if chance.random() < 0.2:
        arguments["run_in_background"] = True
    return ToolUse(f"t{number}", "Bash", arguments)


class RandomModel:
    """Asks for up to three commands in each query, then is done. `calls` counts them."""

    def __init__(self, chance: random.Random) -> None:
        self.calls = 0
        self._chance = chance
        self.model = ScriptedModel(script=self._turn)

    def _turn(self, request: ModelRequest, _number: int) -> Turn:
        is_prompt = not any(isinstance(block, ToolResult) for block in request.messages[-1].content)
        if not is_prompt:
            return Reply(say("done"))
        commands = [command(self._chance, self.calls + place) for place in range(self._chance.randint(1, 3))]
        self.calls += len(commands)
        return Reply(*commands)


def options(folder: Path, model: ScriptedModel, environment: dict[str, str]) -> Options:
    return Options(cwd=folder, model=model, environment=environment, permission_mode="bypassPermissions")


def paired(engine: QueryEngine) -> bool:
    view = engine.history.view()
    asked = [call.id for one in view if isinstance(one, AssistantMessage) for call in one.tool_uses]
    answered = [
        block.tool_use_id
        for one in view
        if isinstance(one, UserMessage)
        for block in one.content
        if isinstance(block, ToolResult)
    ]
    return asked == answered and len(set(asked)) == len(asked)


async def interrupted(seconds: float, engine: QueryEngine, reason: AbortReason) -> None:
    await anyio.sleep(seconds)  # real time, as the commands are real
    engine.interrupt(reason)


async def one_query(chance: random.Random, engine: QueryEngine) -> None:
    reason: AbortReason | None = chance.choice((None, None, "user", "interrupt", "terminated"))
    is_left = chance.random() < 0.2
    seen: list[Event] = []
    after_s = chance.choice((0.0, 0.01, 0.05, 0.2))
    events = engine.submit_message("go")
    async with anyio.create_task_group() as tasks:
        if reason is not None and not is_left:
            tasks.start_soon(interrupted, after_s, engine, reason)
        with anyio.move_on_after(after_s if is_left else None):
            seen.extend([event async for event in events])
    await events.aclose()
    if not is_left:
        assert len([event for event in seen if isinstance(event, Terminal)]) == 1
        assert isinstance(seen[-1], Result)
    assert paired(engine)


async def conversation(chance: random.Random, folder: Path, environment: dict[str, str]) -> int:
    model = RandomModel(chance)
    async with open_engine(options(folder, model.model, environment)) as engine:
        for _ in range(QUERIES):
            await one_query(chance, engine)
    return model.calls


async def test_nothing_is_left_of_conversations_with_random_commands_and_ends(tmp_path: Path):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OSTINATO_HOME": str(tmp_path / "home"),
        "OSTINATO_TEST": os.urandom(8).hex(),
    }
    folder = tmp_path / "work"
    folder.mkdir()
    await conversation(random.Random(1), folder, environment)  # what lives as long as the process
    machine = Machine(environment, folder)  # long outputs go to the session's folder: here nothing may be
    seed = 7 if COUNT == 24 else int.from_bytes(os.urandom(4), "big")
    done = number = 0
    while done < COUNT:
        try:
            done += await conversation(random.Random(f"{seed} {number}"), folder, environment)
            with anyio.fail_after(5):
                while machine.left():
                    await anyio.lowlevel.checkpoint()
        except BaseException as error:
            error.add_note(f"seed {seed}, conversation {number}")
            raise
        number += 1
