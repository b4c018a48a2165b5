"""A line behind `!` is run as the user's own command, and the model is told of it with the next prompt."""

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options, PermissionAsked
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.own_shell_line import as_typed
from ostinato.events import Event, Result, SystemEvent
from ostinato.messages import Text, UserMessage
from ostinato.records import PermissionDecided
from ostinato.testing import Reply, ScriptedModel, say

SCRIPT = "echo made; touch made.txt"


async def events_of(engine: QueryEngine, *prompts: str) -> list[Event]:
    return [event for prompt in prompts async for event in engine.submit_message(prompt)]


async def nobody_asks(asked: PermissionAsked) -> None:
    raise AssertionError(f"asked about {asked}")


def options(folder: Path, model: ScriptedModel, **choices: object) -> Options:
    given = {"shell_lines": True, "keep_session": False} | choices
    return Options(cwd=folder, model=model, **given)  # pyright: ignore[reportArgumentType] - each test gives what it means


async def test_it_runs_without_a_question_and_the_model_hears_of_it_with_the_next_prompt(tmp_path: Path):
    model = ScriptedModel(Reply(say("I see")))
    async with open_engine(options(tmp_path, model, can_use_tool=nobody_asks)) as engine:
        shown = await events_of(engine, f"!{SCRIPT}")
        assert [event.message.text for event in shown if isinstance(event, SystemEvent)] == ["made\n"]
        assert (tmp_path / "made.txt").exists()
        assert len(model.requests) == 0
        await events_of(engine, "and now?")
    said = str(model.requests[0].messages)
    assert SCRIPT in said
    assert "made" in said


async def test_what_it_prints_is_told_while_it_runs_and_first_that_it_has_begun(tmp_path: Path):
    told: list[tuple[str, str]] = []

    def tell(command: str, printed: str) -> None:
        told.append((command, printed))
        if "one" in printed:
            (tmp_path / "go").touch()

    script = "echo one; while [ ! -e go ]; do read -t 0.01 < <(:); done; echo two"
    async with open_engine(options(tmp_path, ScriptedModel(), on_shell_output=tell)) as engine:
        *_, result = await events_of(engine, f"!{script}")
    assert isinstance(result, Result)
    assert result.text == "one\ntwo\n"
    assert told[0] == (script, "")
    assert "".join(printed for _, printed in told) == "one\ntwo\n"


async def test_one_that_is_interrupted_ends_and_the_model_hears_what_it_had_printed(tmp_path: Path):
    model = ScriptedModel(Reply(say("I see")))

    def stop(_command: str, printed: str) -> None:
        if "half" in printed:
            engine.interrupt()

    given = options(tmp_path, model, on_shell_output=stop)
    async with open_engine(given) as engine:
        *_, result = await events_of(engine, "!echo half; exec sleep 600")
        assert isinstance(result, Result)
        assert result.terminal_reason == "aborted_streaming"
        await events_of(engine, "and now?")
    assert "by then it had printed:\\nhalf" in str(model.requests[0].messages)


async def test_one_that_is_interrupted_before_it_began_is_no_news(tmp_path: Path):
    model = ScriptedModel(Reply(say("I see")))

    async def asked(_asked: PermissionAsked) -> None:
        engine.interrupt()
        await anyio.sleep_forever()

    given = options(tmp_path, model, can_use_tool=asked, settings={"permissions": {"ask": ["Bash(touch:*)"]}})
    async with open_engine(given) as engine:
        await events_of(engine, "!touch made.txt", "and now?")
    assert not (tmp_path / "made.txt").exists()
    assert "touch" not in str(model.requests[0].messages)


async def test_a_rule_that_denies_holds(tmp_path: Path):
    async with open_engine(options(tmp_path, ScriptedModel(), disallowed_tools=["Bash(touch:*)"])) as engine:
        *_, result = await events_of(engine, f"!{SCRIPT}")
    assert isinstance(result, Result)
    assert result.is_error
    assert not (tmp_path / "made.txt").exists()


async def test_what_was_decided_about_it_is_kept_and_listed(tmp_path: Path):
    denied = options(
        tmp_path,
        ScriptedModel(),
        disallowed_tools=["Bash(touch:*)"],
        keep_session=True,
        environment={"HOME": str(tmp_path)},
    )
    async with open_engine(denied) as engine:
        await events_of(engine, f"!{SCRIPT}", "!echo fine")
        session_id, listed = engine.session_id, await listed_denials(engine)
    assert f"Bash({SCRIPT})" in listed
    assert "denied in this session: 1" in listed
    async with open_engine(replace(denied, resume=session_id)) as engine:
        assert await listed_denials(engine) == listed
        decided = [one for one in engine.history.log() if isinstance(one, PermissionDecided)]
    assert [(one.behaviour, one.wanted) for one in decided] == [("deny", SCRIPT), ("allow", "echo fine")]


async def listed_denials(engine: QueryEngine) -> str:
    *_, result = await events_of(engine, "/permissions")
    assert isinstance(result, Result)
    return result.text


async def test_where_nobody_types_it_is_a_prompt_like_any_other(tmp_path: Path):
    model = ScriptedModel(Reply(say("no")))
    async with open_engine(options(tmp_path, model, shell_lines=False)) as engine:
        await events_of(engine, f"!{SCRIPT}")
    assert not (tmp_path / "made.txt").exists()
    assert len(model.requests) == 1


@pytest.mark.parametrize("shell_lines", [False, True])
async def test_one_that_waits_is_lost_in_no_crash_and_run_in_no_second_run(tmp_path: Path, shell_lines: bool):
    given = options(tmp_path, ScriptedModel(), keep_session=True, environment={"HOME": str(tmp_path)})
    given = replace(given, shell_lines=shell_lines)
    async with open_engine(given) as engine:
        engine.queue.put(f"!{SCRIPT}")
        engine.queue.take_next()  # and then the process dies
        session_id = engine.session_id
    model = ScriptedModel(Reply(say("I see")))
    async with open_engine(replace(given, model=model, resume=session_id)) as engine:
        assert [waiting.text for waiting in engine.queue.pending()] == ([] if shell_lines else [f"!{SCRIPT}"])
        _ = [event async for event in engine.run_queue()]
    assert len(model.requests) == (0 if shell_lines else 1)
    assert not (tmp_path / "made.txt").exists()


async def test_words_that_waited_where_no_shell_lines_are_run_never_run_as_one(tmp_path: Path):
    given = options(tmp_path, ScriptedModel(), keep_session=True, environment={"HOME": str(tmp_path)})
    async with open_engine(replace(given, shell_lines=False)) as engine:
        engine.queue.put(f"!{SCRIPT}")
        session_id = engine.session_id
    model = ScriptedModel(Reply(say("I see")))
    async with open_engine(replace(given, model=model, resume=session_id)) as engine:
        _ = [event async for event in engine.run_queue()]
    assert len(model.requests) == 1
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.parametrize("line", ["echo on''e; echo tw''o", "echo on''e; exec sleep 600"])
async def test_what_was_told_can_be_shown_as_it_was_typed(tmp_path: Path, line: str):
    def stop(_command: str, printed: str) -> None:
        if "one" in printed and "sleep" in line:
            engine.interrupt()

    async with open_engine(options(tmp_path, ScriptedModel(), on_shell_output=stop)) as engine:
        await events_of(engine, f"!{line}")
        (told,) = [m.content[0] for m in engine.history.view() if isinstance(m, UserMessage)]
    assert isinstance(told, Text)
    assert as_typed(told.text).startswith(f"!{line}\none\n")
    assert as_typed("I ran this command myself") == "I ran this command myself"


async def test_nothing_behind_the_mark_is_an_error(tmp_path: Path):
    async with open_engine(options(tmp_path, ScriptedModel())) as engine:
        *_, result = await events_of(engine, "! ")
    assert isinstance(result, Result)
    assert result.is_error
