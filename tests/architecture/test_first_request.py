"""The way to the first request is short: what only a call, a failure or another provider needs loads with that."""

import subprocess
import sys

import pytest

LATER = frozenset({
    "difflib",
    "ostinato.engine.slash.dispatch",
    "ostinato.engine.slash.scene",
    "ostinato.permissions.decision",
    "ostinato.permissions.shell_reader",
    "ostinato.providers.classify",
    "ostinato.providers.local",
    "ostinato.providers.openai_chat",
    "ostinato.testing",
    "trio",
})

OPENED = """
import anyio, sys
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
import ostinato.cli.print_mode
async def main():
    async with open_engine(Options(model="anthropic/claude-sonnet-4-5", environment={"ANTHROPIC_API_KEY": "none"})):
        print(*sys.modules)
anyio.run(main)
"""


@pytest.mark.process
def test_an_open_engine_has_loaded_nothing_that_only_a_call_or_a_failure_needs():
    done = subprocess.run([sys.executable, "-c", OPENED], capture_output=True, text=True, check=True)
    assert LATER.isdisjoint(done.stdout.split())
