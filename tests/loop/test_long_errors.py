"""An error text over 10,000 characters keeps its first and last 5,000, however a call fails; a shorter one stays as it is."""

import pytest
from msgspec.structs import replace
from tests.loop.scene import Scene

from ostinato.errors import OstinatoError, UsageError
from ostinato.messages import ToolResult, UserMessage
from ostinato.ports import Permissions
from ostinato.testing import DENIED, AllowAll, DenyAll, Reply, ScriptedModel, call, fake_tool, raises, say


def numbered(characters: int) -> str:
    """No two places of it look alike."""
    return ".".join(map(str, range(characters)))[:characters]


async def told(error: Exception, permissions: Permissions, name: str = "Look") -> str:
    scene = Scene(
        ScriptedModel(Reply(call(name, "t1")), Reply(say("done"))),
        [fake_tool("Look", raises(error))],
        permissions=permissions,
    )
    await scene.play()
    blocks = [
        block for message in scene.view if isinstance(message, UserMessage) for block in message.content
    ]
    (result,) = (block for block in blocks if isinstance(block, ToolResult))
    assert result.is_error
    return str(result.content)


def assert_cut(text: str, whole: str) -> None:
    assert text.startswith(whole[:5_000])
    assert text.endswith(whole[-5_000:])
    assert 10_000 < len(text) <= 10_100
    assert str(len(whole) - 10_000) in text[5_000:-5_000]


@pytest.mark.parametrize("kind", [ValueError, OstinatoError, UsageError])
@pytest.mark.parametrize("characters", [10_100, 50_000])
async def test_what_a_call_raises_at_length_keeps_its_beginning_and_its_end(
    kind: type[Exception], characters: int
):
    error = kind(numbered(characters))
    whole = f"ValueError: {error}" if kind is ValueError else str(error)
    assert_cut(await told(error, AllowAll()), whole)


async def test_so_does_the_reason_of_a_denial():
    why = numbered(30_000)
    assert_cut(await told(ValueError(), DenyAll(replace(DENIED, message=why))), why)


@pytest.mark.parametrize("characters", [9_999, 10_000])
async def test_a_shorter_error_stays_whole(characters: int):
    text = numbered(characters)
    assert await told(OstinatoError(text), AllowAll()) == text
