"""Where Linux's own calls are missing, commands still run, end at their deadline and can be heard in the background."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

PROGRAM = """
import os, select, signal, sys
sys.platform = "darwin"
for module, name in ((signal, "pidfd_send_signal"), (select, "epoll"), (os, "memfd_create"), (os, "pidfd_open")):
    if hasattr(module, name):
        delattr(module, name)
sys.modules["resource"] = None
import anyio
from pathlib import Path
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.shell_folder import ShellFolder
from ostinato.sandbox.workspace import LocalWorkspace

async def main():
    here = Path(sys.argv[1])
    background = BackgroundProcesses(child_environment(os.environ), None)
    workspace = LocalWorkspace(here, (here,), background=background, shell=ShellFolder(here, (here,)))
    said = await workspace.run_shell("cd /; echo hello", timeout_s=20)
    print(said.exit_code, said.output, end="")
    late = await workspace.run_shell("sleep 30", timeout_s=0.2)
    print(late.timed_out)
    print((await workspace.run(("wc", "-c"), timeout_s=20, stdin=b"x" * 10)).output.strip())
    ended = background.start("echo bye; exit 3", folder=here, call_id="a")
    await background.wait(ended.task_id, 20)
    print([(facts.state, facts.exit_code) for facts in background.all()])
    background.start("sleep 31", folder=here, call_id="b")
    await background.aclose()
    print([facts.state for facts in background.all()])

anyio.run(main)
"""


def test_commands_run_without_what_only_linux_has(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "0 hello",
        "True",
        "10",
        "[('exited', 3)]",
        "['exited', 'stopped']",
    ]
