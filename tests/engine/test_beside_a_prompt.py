"""What comes with a prompt never costs the prompt: a look-up that fails or is late is told, and a new day too."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
from tests.attachments.views import reminders
from tests.loop.scene import Scene

from ostinato.attachments.collect import DEADLINE_S
from ostinato.engine.prompt_queue import PromptQueue
from ostinato.engine.seen_files import SeenFiles
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.engine.surroundings import Sources, Surroundings, surroundings_of
from ostinato.loop.abort import AbortSignal
from ostinato.loop.abortable import found_unless_aborted
from ostinato.messages import Message, SystemMessage
from ostinato.testing import (
    SCRIPTED_FACTS,
    CountingIds,
    FakeClock,
    FakeWorkspace,
    MemoryJournal,
    Reply,
    ScriptedModel,
    call,
    fake_tool,
    say,
)
from ostinato.tool import ToolContext

DAY_S = 86_400


class SlowWorkspace(FakeWorkspace):
    """A workspace whose files never come."""

    async def read_bytes(self, path: Path, *, offset: int = 0, max_bytes: int | None = None) -> bytes:
        del path, offset, max_bytes
        await anyio.sleep_forever()
        raise AssertionError


def broken(path: Path) -> bool:
    raise RuntimeError(f"no answer for {path.name}")


async def around(
    clock: FakeClock, workspace: FakeWorkspace, *, is_broken: bool = False
) -> tuple[Surroundings, SeenFiles]:
    files = SeenFiles()
    sources = Sources(
        workspace,
        files,
        clock,
        CountingIds("s"),
        may_read=broken if is_broken else lambda _path: True,
        home=None,
        data_root=None,
    )
    return await surroundings_of(sources, SCRIPTED_FACTS, with_instructions=False), files


async def found(surroundings: Surroundings, prompt: str) -> list[Message]:
    return list(await found_unless_aborted(AbortSignal(), surroundings.mentions(prompt, ())))


def notices(messages: Sequence[Message]) -> list[str]:
    return [message.subtype for message in messages if isinstance(message, SystemMessage)]


def sources_of(messages: Sequence[Message]) -> list[str]:
    return [reminder.source for reminder in reminders(messages)]


async def test_a_look_up_that_fails_is_told_to_both_sides(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha\n")
    surroundings, files = await around(FakeClock(), FakeWorkspace(tmp_path), is_broken=True)
    messages = await found(surroundings, "see @a.txt")
    assert notices(messages) == ["mention_withheld"]
    assert sources_of(messages) == ["mention"]
    assert list(files.entries()) == []


async def test_a_look_up_that_takes_long_is_left_after_a_second_and_counts_as_nothing_seen(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha\n")
    clock = FakeClock()
    surroundings, files = await around(clock, SlowWorkspace(tmp_path))
    messages: list[Message] = []

    async def prompt() -> None:
        messages.extend(await found(surroundings, "see @a.txt"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(prompt)
        await clock.until_sleeping()
        clock.advance(DEADLINE_S)
    assert notices(messages) == ["mention_withheld"]
    assert sources_of(messages) == ["mention"]
    assert list(files.entries()) == []


async def test_a_look_up_that_fails_for_a_queued_prompt_ends_neither_the_query_nor_the_prompt(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha\n")
    surroundings, _ = await around(FakeClock(), FakeWorkspace(tmp_path), is_broken=True)
    journal = MemoryJournal()
    queue = PromptQueue(
        journal.write, CountingIds("p").uuid, mode_of=partial(prompt_mode, runs_shell_lines=True)
    )

    async def type_ahead(_input: object, _context: ToolContext) -> None:
        queue.put("see @a.txt")
        await anyio.lowlevel.checkpoint()

    model = ScriptedModel(Reply(call("Look", "t1")), Reply(say("done")))
    scene = Scene(
        model,
        tools=[fake_tool("Look", type_ahead)],
        journal=journal,
        queue=queue,
        mentions=surroundings.mentions,
    )
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert "see @a.txt" in str(model.requests[1].messages)
    assert "mention_withheld" in notices(scene.view)


async def test_a_prompt_two_days_later_says_which_day_it_is(tmp_path: Path):
    clock = FakeClock()
    surroundings, _ = await around(clock, FakeWorkspace(tmp_path))
    assert await found(surroundings, "good morning") == []
    clock.advance(2 * DAY_S)
    (told,) = reminders(await found(surroundings, "good morning"))
    assert told.key == clock.now().date().isoformat()
