"""Changes of one file that one reply asks for are made one after another, in its order: each sees what the one before it left."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.tools.file_changers import CHANGERS, Changer

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.events import UserEvent
from ostinato.messages import ToolResult, ToolUse, UserMessage
from ostinato.testing import Reply, ScriptedModel, call, say

pytestmark = [pytest.mark.process, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

every_changer = pytest.mark.parametrize("changer", CHANGERS, ids=lambda changer: changer.tool)


async def answered(folder: Path, file: str, *asked: ToolUse) -> list[UserMessage]:
    """The answers to calls of one reply, after the file was read."""
    model = ScriptedModel(Reply(call("Read", "r", file_path=file)), Reply(*asked), Reply(say("done")))
    chosen = Options(
        cwd=folder,
        model=model,
        environment={"HOME": str(folder / "home"), "PATH": os.environ["PATH"]},
        permission_mode="acceptEdits",
        keep_session=False,
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    messages = [event.message for event in events if isinstance(event, UserEvent)]
    found = {
        block.tool_use_id: message
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult)
    }
    return [found[one.id] for one in asked]


def diff(answer: UserMessage) -> str:
    (result,) = (block for block in answer.content if isinstance(block, ToolResult))
    assert not result.is_error, result.content
    assert answer.display is not None
    return str(answer.display["diff"])


def changed_lines(answer: UserMessage) -> str:
    lines = diff(answer).splitlines()
    return "\n".join(line for line in lines if line[:1] in {"-", "+"} and line[:3] not in {"---", "+++"})


@every_changer
async def test_the_second_of_two_different_changes_sees_the_first(tmp_path: Path, changer: Changer):
    (tmp_path / changer.file).write_text(changer.before)
    inputs: list[dict[str, Any]] = [changer.call(new="a first"), _second(changer)]
    answers = await answered(
        tmp_path,
        changer.file,
        *(call(changer.tool, f"t{number}", **one) for number, one in enumerate(inputs)),
    )
    assert "an old word" in changed_lines(answers[0])
    assert "a first word" in changed_lines(answers[1])
    assert "an old" not in changed_lines(answers[1])
    assert (tmp_path / changer.file).read_text() == changer.after_with("a second")


def _second(changer: Changer) -> dict[str, Any]:
    """What makes of the first one's text the second; a tool that names the old text names that of the first."""
    second = changer.call(new="a second")
    step = {"old_string": "a first", "new_string": "a second"}
    if changer.tool == "Edit":
        return second | step
    return second | {"edits": [step]} if changer.tool == "MultiEdit" else second


async def test_a_chain_of_edits_in_one_reply_is_followed_to_its_end(tmp_path: Path):
    (tmp_path / "f").write_text("0\n")
    steps = [call("Edit", f"t{n}", file_path="f", old_string=str(n), new_string=str(n + 1)) for n in range(9)]
    for answer in await answered(tmp_path, "f", *steps):
        assert diff(answer)
    assert (tmp_path / "f").read_text() == "9\n"
