"""A secret of the engine that foreign code prints in an error is shown to nobody, whatever form it has: not to the model, the user,
or a reader of the session's file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from msgspec.structs import replace
from tests.engine.test_long_conversations import options

from ostinato import Allow, Deny, Options, PermissionAsked
from ostinato.engine.assemble import open_engine
from ostinato.engine.known_secrets import KnownSecrets
from ostinato.stop_hooks import Stopping
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, raises, say
from ostinato.tool import Tool
from ostinato.tool_hooks import ToolRan

WORD = "correct-horse"
"""No form of key: only who knows it can see that it is one."""

HELD = {"MY_SERVICE_TOKEN": WORD}


def leaking() -> Exception:
    return RuntimeError(f"401 for {WORD}")


async def fails(*_anything: object) -> None:
    await anyio.lowlevel.checkpoint()
    raise leaking()


def invalid(_input: Mapping[str, Any]) -> str | None:
    raise leaking()


async def asked(_what: PermissionAsked) -> Allow | Deny:
    await anyio.lowlevel.checkpoint()
    raise leaking()


def looking(tool: Tool | None = None, **more: Any) -> dict[str, Any]:
    return {"tool": tool or fake_tool("Look"), **more}


async def stop_hook(_stopping: Stopping, /) -> None:
    await fails()


async def tool_hook(_ran: ToolRan, /) -> None:
    await fails()


PLACES: dict[str, dict[str, Any]] = {
    "a tool": looking(fake_tool("Look", raises(leaking()))),
    "a tool's check": looking(replace(fake_tool("Look"), validate=invalid)),
    "a permission": looking(fake_tool("Ask"), can_use_tool=asked),
    "a stop hook": looking(stop_hooks=[stop_hook]),
    "a tool hook": looking(after_tool_hooks=[tool_hook]),
}


async def everything(tmp_path: Path, wanted: Options, model: ScriptedModel) -> str:
    """All that was shown, sent and written."""
    async with open_engine(wanted) as engine:
        shown = [event async for event in engine.submit_message("go")]
    return "\n".join([*(repr(event) for event in shown), repr(model.requests), *written(tmp_path)])


def written(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.rglob("*.jsonl")]


@pytest.mark.parametrize("more", PLACES.values(), ids=list(PLACES))
async def test_a_value_of_the_environment_is_masked_wherever_foreign_code_prints_it(
    tmp_path: Path, more: dict[str, Any]
):
    model = ScriptedModel(Reply(call(more["tool"].name, "t1")), Reply(say("done")))
    wanted = options(tmp_path, model, home=tmp_path / "home", **more)
    wanted = replace(wanted, environment={**(wanted.environment or {}), **HELD})
    told = await everything(tmp_path, wanted, model)
    assert "401 for [masked]" in told
    assert WORD not in told


def test_without_anybody_who_knows_it_a_word_stays_a_word():
    assert KnownSecrets({}, lambda: "").mask(f"401 for {WORD}") == f"401 for {WORD}"
    assert WORD not in KnownSecrets(HELD, lambda: "").mask(f"401 for {WORD}")


def test_the_newest_key_of_a_command_is_known():
    keys = ["first-key", "second-key"]
    known = KnownSecrets({"ANTHROPIC_API_KEY": "first-key"}, lambda: keys[-1])
    assert known.mask("first-key second-key third-key") == "[masked] [masked] third-key"


async def test_a_key_that_the_host_gives_later_is_known_from_then_on():
    async def newest() -> str | None:
        await anyio.lowlevel.checkpoint()
        return WORD

    known = KnownSecrets({}, lambda: "")
    refresh = known.heard(newest)
    assert refresh is not None
    assert known.mask(WORD) == WORD
    assert await refresh() == WORD
    assert known.mask(f"the key {WORD}") == "the key [masked]"
    assert known.heard(None) is None
