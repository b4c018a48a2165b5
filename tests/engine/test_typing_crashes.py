"""Killed without a word while somebody types: what was accepted was sent once or waits, and the session goes on."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.engine import typing_process

from ostinato.engine.assemble import open_engine
from ostinato.engine.query_engine import QueryEngine
from ostinato.messages import AttachmentMessage, QueuedCommand
from ostinato.testing import Reply, ScriptedModel, say, terminal

pytestmark = pytest.mark.process

KILLS = 5


def killed_after(folder: Path, count: int, *, resume: str | None, first: int) -> list[str]:
    """The texts that the process accepted before it died, at least `count`."""
    process = subprocess.Popen(
        [sys.executable, typing_process.__file__, str(folder), resume or "", str(first)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    accepted = [process.stdout.readline().strip() for _ in range(count)]
    process.kill()
    rest, _ = process.communicate()
    return [*accepted, *rest.split("\n")[:-1]]


def sent(engine: QueryEngine) -> list[str]:
    return [
        message.attachment.prompt
        for message in engine.history.view()
        if isinstance(message, AttachmentMessage) and isinstance(message.attachment, QueuedCommand)
    ]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_what_was_accepted_is_sent_once_or_waits_wherever_the_kill_strikes(tmp_path: Path):
    random, resume = Random(7), None
    accepted, joined = set[str](), list[str]()
    for life in range(1, KILLS + 1):
        accepted |= {*killed_after(tmp_path, random.randrange(1, 60), resume=resume, first=life * 100_000)}
        resume = "typed"
        async with open_engine(typing_process.options(tmp_path, ScriptedModel(), resume=resume)) as engine:
            joined, waiting = sent(engine), [prompt.text for prompt in engine.queue.pending()]
            assert accepted <= {*joined, *waiting}
            assert len([*joined, *waiting]) == len({*joined, *waiting})
            assert not [text for text in joined if text.startswith("/")]
            for text in waiting[:3]:
                assert engine.queue.take_back(text) == text
                accepted.discard(text)
    assert len(joined) > KILLS  # kills struck on both sides of a drain
    last = typing_process.options(tmp_path, ScriptedModel(Reply(say("back"))), resume=resume)
    async with open_engine(last) as engine:
        events = [event async for event in engine.submit_message("go on")]
        assert terminal(events).reason == "completed"
