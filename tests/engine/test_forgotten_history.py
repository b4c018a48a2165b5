"""What a summary hides leaves memory, where the session's file has it; whoever asks for all of it still gets it."""

import gc
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace
from tests.engine.test_long_conversations import SMALL, Looking, looking_tool, options

from ostinato.engine.assemble import open_engine
from ostinato.history import History
from ostinato.journal.read import read_session
from ostinato.messages import UserMessage, user_prompt
from ostinato.records import Boundary
from ostinato.testing import ScriptedModel


def model(parts: int = 24) -> ScriptedModel:
    return ScriptedModel(script=Looking(parts).turn, facts=SMALL)


def prompts(history: History) -> list[str]:
    return [one.uuid for one in history.log() if isinstance(one, UserMessage) and one.origin == "prompt"]


def prompts_in_memory(uuid: str) -> int:
    """Messages of that uuid that anybody in this process still holds."""
    gc.collect()
    return sum(isinstance(one, UserMessage) and one.uuid == uuid for one in gc.get_objects())


def session_in(home: Path) -> History:
    return History.fold(read_session(next(home.rglob("*.jsonl"))).records)


def longest_session(home: Path) -> Path:
    return max(home.rglob("*.jsonl"), key=lambda file: file.stat().st_size)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


async def test_memory_holds_the_view_and_the_file_everything(place: Path, tmp_path: Path):
    async with open_engine(options(place, model(), home=tmp_path, tool=looking_tool(80))) as engine:
        async for _ in engine.submit_message("look", uuid="11111111-1111-4111-8111-111111111111"):
            pass
        held, whole = engine.history, await engine.whole_history()
        assert sum(isinstance(one, Boundary) for one in whole.log()) > 1
        assert len(held.log()) < len(whole.log())
        assert prompts(held) == []
        assert len(prompts(whole)) == 1
        assert held.view() == whole.view()


async def test_the_next_query_and_a_resume_go_on_from_the_same_view(place: Path, tmp_path: Path):
    async with open_engine(options(place, model(), home=tmp_path, tool=looking_tool(80))) as engine:
        for prompt in ("look", "and now?"):
            async for _ in engine.submit_message(prompt):
                pass
        view = engine.history.view()
    assert session_in(tmp_path).view() == view


async def test_after_a_resume_too_memory_holds_the_view_alone_and_the_file_everything(
    place: Path, tmp_path: Path
):
    given = options(place, model(), home=tmp_path, tool=looking_tool(80))
    async with open_engine(given) as engine:
        async for _ in engine.submit_message("look", uuid="11111111-1111-4111-8111-111111111111"):
            pass
        session, view, used = engine.session_id, engine.history.view(), engine.usage
    del engine
    async with open_engine(replace(given, model=model(), resume=session)) as engine:
        assert engine.history.view() == view
        assert prompts(engine.history) == []
        assert prompts(await engine.whole_history()) == ["11111111-1111-4111-8111-111111111111"]
        assert engine.usage == used
        await checkpoint()  # until then the event loop itself holds what it has just handed over
        assert prompts_in_memory("11111111-1111-4111-8111-111111111111") == 0


async def test_in_a_session_that_is_opened_from_another_one_too(place: Path, tmp_path: Path):
    given = options(place, model(), home=tmp_path, tool=looking_tool(80))
    async with open_engine(given) as engine:
        async for _ in engine.submit_message("look"):
            pass
        view = engine.history.view()
        await engine.clear()
        await engine.open_session(longest_session(tmp_path))
        assert engine.history.view() == view
        assert prompts(engine.history) == []


async def test_the_exported_conversation_has_what_was_hidden(place: Path, tmp_path: Path):
    async with open_engine(options(place, model(), home=tmp_path, tool=looking_tool(80))) as engine:
        async for _ in engine.submit_message("look at the very first part"):
            pass
        told = [event async for event in engine.submit_message("/export")]
    assert "look at the very first part" in str(told)


async def test_where_nothing_is_kept_memory_holds_all_of_it(place: Path, tmp_path: Path):
    given = options(place, model(), home=tmp_path, tool=looking_tool(80), keep_session=False)
    async with open_engine(given) as engine:
        async for _ in engine.submit_message("look"):
            pass
        assert len(prompts(engine.history)) == 1


async def test_what_was_said_before_without_being_written_is_not_forgotten(place: Path, tmp_path: Path):
    async with open_engine(options(place, model(), home=tmp_path, tool=looking_tool(80))) as engine:
        engine.history = engine.history.append(user_prompt("before", "hello"))
        async for _ in engine.submit_message("look"):
            pass
        assert "before" in prompts(engine.history)


async def test_any_summary_that_memory_has_forgotten_the_inside_of_is_taken_back_whole(
    place: Path, tmp_path: Path
):
    """The newest too, whose record memory does hold; and one after the other."""
    async with open_engine(options(place, model(), home=tmp_path, tool=looking_tool(80))) as engine:
        async for _ in engine.submit_message("look", uuid="22222222-2222-4222-8222-222222222222"):
            pass
        made = [one.edit_id for one in (await engine.whole_history()).log() if isinstance(one, Boundary)]
        assert len(made) > 1
        for edit in reversed(made):
            async for _ in engine.submit_message(f"/context undo {edit}"):
                pass
            assert engine.history.view() == session_in(tmp_path).view()
        assert "22222222-2222-4222-8222-222222222222" in [one.uuid for one in engine.history.view()]
