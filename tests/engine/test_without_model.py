"""Where no model can be reached, what needs none is answered and everything else is refused with what to set."""

from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.options import Options
from ostinato.engine.query import query, run
from ostinato.engine.slash.builtin import BUILTINS
from ostinato.engine.without_model import start_engine_for
from ostinato.errors import ConfigurationError, LocalModelError
from ostinato.events import Event, Result, SystemEvent
from ostinato.testing import SCRIPTED_FACTS, ScriptedModel


def nothing_set(folder: Path, **more: Any) -> dict[str, Any]:
    return {"cwd": folder, "environment": {"HOME": str(folder), "PATH": "/usr/bin:/bin"}, **more}


async def events_of(prompt: str, folder: Path, **more: Any) -> list[Event]:
    async with aclosing(await start_engine_for(prompt, Options(**nothing_set(folder, **more)))) as engine:
        return [event async for event in engine.submit_message(prompt)]


@pytest.mark.parametrize("name", [one.name for one in BUILTINS])
async def test_every_built_in_command_is_answered_without_a_key(tmp_path: Path, name: str):
    *shown, result = await events_of(f"/{name}", tmp_path, max_budget_usd=1.0)
    assert isinstance(result, Result)
    assert not result.is_error
    assert all(isinstance(event, SystemEvent) for event in shown)
    assert max(map(len, result.text.splitlines()), default=0) < 200
    assert "of 1 tokens" not in result.text


def test_the_command_is_answered_for_a_program_too(tmp_path: Path):
    assert "/resume" in run("/help", **nothing_set(tmp_path)).text


async def test_a_local_model_that_is_not_there_keeps_nobody_from_a_command(tmp_path: Path):
    events = [event async for event in query("/status", **nothing_set(tmp_path, model="local"))]
    assert events
    with pytest.raises(LocalModelError):
        await anext(query("hi", **nothing_set(tmp_path, model="local")))


@pytest.mark.parametrize("prompt", ["hi", " /unknown", " /help", "/etc/hosts is wrong"])
async def test_what_is_for_a_model_is_refused_before_anything_is_opened(tmp_path: Path, prompt: str):
    with pytest.raises(ConfigurationError) as caught:
        await anext(query(prompt, **nothing_set(tmp_path)))
    assert "ANTHROPIC_API_KEY" in caught.value.hint
    assert not (tmp_path / ".ostinato").exists()


async def test_a_model_named_wrongly_in_the_command_itself_is_said(tmp_path: Path):
    *_, result = await events_of("/model nonsuch", tmp_path)
    assert isinstance(result, Result)
    assert result.is_error


@pytest.mark.parametrize("command", ["/model", "/status"])
@pytest.mark.parametrize("name", [None, "opus", "openai/gpt-x", "local"])
async def test_what_model_is_wanted_and_why_it_cannot_be_asked_is_said(
    tmp_path: Path, command: str, name: str | None
):
    *_, result = await events_of(command, tmp_path, model=name)
    assert isinstance(result, Result)
    assert not result.is_error
    assert "none" not in result.text.partition("MCP")[0]
    assert "1 token" not in result.text
    assert (name or "no key") in result.text
    with pytest.raises((ConfigurationError, LocalModelError)) as caught:
        await anext(query("hi", **nothing_set(tmp_path, model=name)))
    assert caught.value.message.split("`")[0] in result.text


@pytest.mark.parametrize("command", ["/model", "/status", "/help"])
async def test_a_name_that_is_no_models_is_refused_whatever_is_asked(tmp_path: Path, command: str):
    with pytest.raises(ConfigurationError) as caught:
        await events_of(command, tmp_path, model="nonsuch")
    assert "nonsuch" in caught.value.message


async def test_a_model_that_can_be_asked_has_no_problem(tmp_path: Path):
    events = await events_of("/model", tmp_path, model=ScriptedModel())
    assert SCRIPTED_FACTS.id in str(events)


async def test_a_command_that_there_is_not_is_said_without_a_key_and_one_of_a_file_needs_a_model(
    tmp_path: Path,
):
    own = tmp_path / ".ostinato" / "commands" / "mine.md"
    own.parent.mkdir(parents=True)
    own.write_text("do it")
    *_, result = await events_of("/nope", tmp_path)
    assert isinstance(result, Result)
    assert result.is_error
    assert "/nope" in result.text
    with pytest.raises(ConfigurationError):
        await start_engine_for("/mine", Options(**nothing_set(tmp_path)))
