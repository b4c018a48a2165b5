"""What the model knows beside what was said: instruction files, mentioned files, files changed by others."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.journal.places import project_folder
from ostinato.messages import Image, Text, ToolResult
from ostinato.ports import ModelRequest
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, call, say


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    (folder / "AGENTS.md").write_text("Always answer in verse.\n")
    (folder / "a.txt").write_text("alpha\n")
    return folder


def options(work: Path, model: ScriptedModel, **more: Any) -> Options:
    environment = {"HOME": str(work.parent / "home"), "PATH": "/usr/bin:/bin"}
    return Options(cwd=work, model=model, environment=environment, **more)


async def play(chosen: Options, *prompts: str) -> None:
    async with open_engine(chosen) as engine:
        for prompt in prompts:
            async for _ in engine.submit_message(prompt):
                pass


def heard(request: ModelRequest) -> str:
    """Every text that the model got in the user role."""
    parts: list[str] = []
    for message in request.messages:
        for block in message.content:
            if isinstance(block, Text) and message.role == "user":
                parts.append(block.text)
            elif isinstance(block, ToolResult):
                parts.append(str(block.content))
    return "\n".join(parts)


async def test_an_instruction_file_is_in_the_first_request_and_in_none_of_the_stored_messages(work: Path):
    model = ScriptedModel(Reply(say("so be it")), Reply(say("again")))
    chosen = options(work, model)
    async with open_engine(chosen) as engine:
        for prompt in ("one", "two"):
            async for _ in engine.submit_message(prompt):
                pass
        assert "verse" not in str(engine.history.view())
    assert all("Always answer in verse." in heard(request) for request in model.requests)
    assert model.requests[1].messages[0] == model.requests[0].messages[0]


async def test_instructions_can_be_left_out(work: Path):
    model = ScriptedModel(Reply(say("ok")))
    await play(options(work, model, instructions=False), "one")
    assert "verse" not in heard(model.requests[0])


async def test_a_small_model_gets_neither_instructions_nor_mentions(work: Path):
    small = replace(SCRIPTED_FACTS, short_prompt=True)
    model = ScriptedModel(Reply(say("ok")), facts=small)
    await play(options(work, model), "look at @a.txt")
    assert "verse" not in heard(model.requests[0])
    assert "alpha" not in heard(model.requests[0])


async def test_a_mentioned_file_comes_with_the_prompt_and_may_then_be_edited(work: Path):
    edit = call("Edit", "t1", file_path="a.txt", old_string="alpha", new_string="beta")
    model = ScriptedModel(Reply(edit), Reply(say("done")))
    await play(options(work, model, permission_mode="acceptEdits"), "change @a.txt to beta")
    assert "alpha" in heard(model.requests[0])
    assert (work / "a.txt").read_text() == "beta\n"


async def test_of_a_mentioned_file_that_a_command_changes_the_difference_is_told_and_it_may_still_be_edited(
    work: Path,
):
    (work / "a.txt").write_text("one\nalpha\nthree\n")
    change = call("Bash", "t1", command="sed -i s/alpha/gamma/ a.txt")
    edit = call("Edit", "t2", file_path="a.txt", old_string="gamma", new_string="beta")
    model = ScriptedModel(Reply(change), Reply(edit), Reply(say("done")))
    await play(options(work, model, permission_mode="bypassPermissions"), "look at @a.txt")
    assert "-alpha\n+gamma" in heard(model.requests[1])
    assert (work / "a.txt").read_text() == "one\nbeta\nthree\n"


async def test_a_mentioned_file_that_the_rules_forbid_is_not_shown(work: Path):
    secret = work.parent / "secret.txt"
    secret.write_text("the word is sesame\n")
    model = ScriptedModel(Reply(say("ok")))
    await play(options(work, model), f"read @{secret}")
    assert "sesame" not in heard(model.requests[0])


async def test_a_file_that_somebody_else_changed_is_told_after_the_next_tools(work: Path):
    target = work / "a.txt"

    def script(_request: object, number: int) -> Reply:
        if number == 1:
            return Reply(call("Read", "t1", file_path="a.txt"))
        if number == 2:
            target.write_text("changed by hand\n")
            return Reply(call("Glob", "t2", pattern="*.txt"))
        return Reply(say("done"))

    model = ScriptedModel(script=script)
    await play(options(work, model), "look")
    assert "changed by hand" in heard(model.requests[2])


async def test_instructions_of_a_folder_come_once_when_a_file_in_it_is_touched(work: Path):
    (work / "lib").mkdir()
    (work / "lib" / "AGENTS.md").write_text("In lib, use tabs.\n")
    (work / "lib" / "x.py").write_text("x = 1\n")
    model = ScriptedModel(
        Reply(call("Read", "t1", file_path="lib/x.py")),
        Reply(call("Read", "t2", file_path="lib/x.py")),
        Reply(say("done")),
    )
    await play(options(work, model), "look")
    assert "use tabs" not in heard(model.requests[0])
    assert heard(model.requests[2]).count("In lib, use tabs.") == 1


async def test_a_mentioned_image_is_sent_to_a_model_that_takes_images(work: Path):
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002"
        "000100ffff03000006000557bfabd40000000049454e44ae426082"
    )
    (work / "dot.png").write_bytes(png)
    model = ScriptedModel(Reply(say("a dot")))
    await play(options(work, model), "what is @dot.png")
    assert any(isinstance(block, Image) for block in model.requests[0].messages[-1].content)


async def test_a_note_of_an_earlier_session_that_fits_the_prompt_is_in_the_request_after_the_tools(
    work: Path,
):
    root = work.parent / "home" / ".ostinato"
    notes = project_folder(root, work) / "memory"
    notes.mkdir(parents=True)
    (notes / "release.md").write_text("---\ndescription: how a release is made\n---\nRun make release.\n")
    rounds = 20  # the folder is read in a thread, which is long done by then
    looks = [Reply(call("Read", f"t{n}", file_path=str(work / "a.txt"))) for n in range(rounds)]
    model = ScriptedModel(*looks, Reply(say("ok")))
    await play(options(work, model), "please make a release")
    assert "Run make release." not in heard(model.requests[0])
    assert heard(model.requests[-1]).count("Run make release.") == 1
