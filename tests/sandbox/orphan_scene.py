"""A process with an engine in it that starts a tree of every sort of child and then ends it in the way it is told to.

`python -m tests.sandbox.orphan_scene TREE END FOLDER MARK`: prints `ready` when all children are there, `over` when the end has
been reached; then it waits for its standard input to be closed, so that nobody takes its own exit for the end.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Final

import anyio

from ostinato.engine.assemble import start_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.events import ToolStart
from ostinato.processes import background_task_id
from ostinato.testing import Reply, ScriptedModel, call, say

CHILDREN: Final = """
sleep MARK.1 >/dev/null 2>&1 &
setsid sleep MARK.2 &
(setsid setsid sleep MARK.3 >/dev/null 2>&1 &)
nohup sleep MARK.4 >/dev/null 2>&1 &
(trap '' TERM INT HUP; exec sleep MARK.5) &
setsid -f sleep MARK.6 </dev/null >/dev/null 2>&1
(setsid -f bash -c "trap '' TERM; while :; do sleep MARK.7; done" >/dev/null 2>&1 &)
sleep 0.05
env -i /usr/bin/setsid -f /bin/sleep MARK.8 >/dev/null 2>&1
touch ready
"""
COUNT: Final = 8
HIDES: Final = (
    "(ulimit -S -R unlimited; exec env -i /usr/bin/setsid -f /bin/sleep MARK.0 >/dev/null 2>&1); touch ready"
)
"""Neither session nor parent, environment or mark lead to this one."""
STAYS: Final = f"{CHILDREN}\ntrap '' TERM; while :; do sleep MARK.9; done"


def scripted(tree: str, end: str, mark: str) -> ScriptedModel:
    leaves, stays = CHILDREN.replace("MARK", mark), STAYS.replace("MARK", mark)
    match tree:
        case "waited for":
            more = {"timeout": 4000} if end == "timeout" else {}
            return ScriptedModel(Reply(call("Bash", "t1", command=stays, **more)), Reply(say("done")))
        case "in the background":
            started = Reply(call("Bash", "t1", command=stays, run_in_background=True))
            stop = Reply(call("TaskStop", "t2", task_id=background_task_id("t1")))
            return ScriptedModel(started, Reply(say("done")), stop, Reply(say("done")))
        case "hidden":
            return ScriptedModel(
                Reply(call("Bash", "t1", command=HIDES.replace("MARK", mark))), Reply(say("done"))
            )
        case _:
            return ScriptedModel(Reply(call("Bash", "t1", command=leaves)), Reply(say("done")))


async def until_ready(folder: Path) -> None:
    while not await anyio.Path(folder / "ready").exists():  # ruff: ignore[async-busy-wait] - a file tells no event
        await anyio.sleep(0.01)
    sys.stdout.write("ready\n")
    sys.stdout.flush()


async def talk(engine: QueryEngine, tree: str, end: str, folder: Path) -> None:
    async for event in engine.submit_message("go"):
        if isinstance(event, ToolStart) and event.tool_use_id == "t1" and tree == "waited for":
            await until_ready(folder)
            if end == "abort":
                engine.interrupt()
            elif end == "close":
                return
            elif end == "exit":
                sys.exit(0)


async def main(tree: str, end: str, folder: Path, mark: str) -> None:
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "OSTINATO_PID_NAMESPACE": os.environ.get("OSTINATO_PID_NAMESPACE", ""),
    }
    options = Options(
        cwd=folder,
        model=scripted(tree, end, mark),
        environment=environment,
        permission_mode="bypassPermissions",
    )
    engine = await start_engine(options)
    await talk(engine, tree, end, folder)
    if tree != "waited for":
        await until_ready(folder)
    if end == "copy":
        copy = os.fork()
        if copy == 0:
            signal.pause()
        sys.stdout.write(f"{copy}\n")
    if end == "stop":
        await talk(engine, tree, end, folder)
    if end == "close":
        await engine.aclose()
    if end == "exit":
        sys.exit(0)
    sys.stdout.write("over\n")
    sys.stdout.flush()
    await anyio.to_thread.run_sync(sys.stdin.read)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
