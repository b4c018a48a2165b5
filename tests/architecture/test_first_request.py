"""The way to the first request is short: what only a call, a failure or another provider needs loads with that."""

import subprocess
import sys
from pathlib import Path

import pytest

LATER = frozenset({
    "anyio.from_thread",
    "difflib",
    "hashlib",
    "httpx2",
    "importlib.metadata",
    "json",
    "ostinato.attachments.load_instructions",
    "ostinato.attachments.quoted_text",
    "ostinato.cli.ending",
    "ostinato.cli.live",
    "ostinato.engine.slash.dispatch",
    "ostinato.engine.slash.scene",
    "ostinato.loop.executor",
    "ostinato.loop.guards.guarded",
    "ostinato.loop.next_step",
    "ostinato.loop.prefetch",
    "ostinato.loop.summaries",
    "ostinato.loop.turn_outcome",
    "ostinato.permissions.decision",
    "ostinato.permissions.rule_doubts",
    "ostinato.permissions.shell_reader",
    "ostinato.protocols.stream_json",
    "ostinato.providers.classify",
    "ostinato.providers.local",
    "ostinato.providers.openai_chat",
    "ostinato.providers.openai_responses",
    "ostinato.sandbox.files",
    "ostinato.sandbox.process",
    "ostinato.sandbox.start",
    "ostinato.secret_values",
    "ostinato.testing",
    "ostinato.tools.bash_steps",
    "ostinato.tools.command_comments",
    "ostinato.tools.file_edit",
    "ostinato.tools.file_write",
    "ostinato.tools.glob_steps",
    "ostinato.tools.grep_steps",
    "ostinato.tools.search_scope",
    "ostinato.tools.terminal_text",
    "random",
    "tempfile",
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
def test_an_open_engine_has_loaded_nothing_that_only_a_call_or_a_failure_needs(
    tmp_path: Path,
):
    # In a folder without instructions: where there are some, what reads them loads.
    done = subprocess.run(
        [sys.executable, "-c", OPENED], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert LATER.isdisjoint(done.stdout.split())
