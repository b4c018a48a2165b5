"""A process of its own in which somebody types while a query goes on for ever; its parent kills it.

It says on stdout, one a line, which texts `put` has accepted.
"""

import sys
from pathlib import Path

import anyio

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.ports import ModelRequest
from ostinato.testing import Reply, ScriptedModel, call, fake_tool


def options(folder: Path, model: ScriptedModel, *, resume: str | None) -> Options:
    return Options(
        cwd=folder,
        model=model,
        environment={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        extra_tools=(fake_tool("Look"),),
        allowed_tools=("Look",),
        session_id=None if resume else "typed",
        resume=resume,
    )


async def type_on(engine: QueryEngine, number: int) -> None:
    while True:
        text = f"/word{number}" if number % 5 == 0 else f"word{number}"
        engine.queue.put(text, priority="later" if number % 7 == 0 else "next", uuid=text)
        print(text, flush=True)
        number += 1
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()


async def main(folder: Path, resume: str | None, first: int) -> None:
    def script(_request: ModelRequest, number: int) -> Reply:
        return Reply(call("Look", f"t{first}_{number}"))

    async with (
        open_engine(options(folder, ScriptedModel(script=script), resume=resume)) as engine,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(type_on, engine, first)
        async for _ in engine.submit_message("go"):
            pass


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2] or None, int(sys.argv[3]))
