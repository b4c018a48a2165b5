"""An error that nothing can repair ends the query with the reason that its kind has, and is told exactly once."""

import pytest
from tests.loop.scene import Scene

from ostinato.errors import ModelError
from ostinato.events import AssistantEvent
from ostinato.testing import Fails, ScriptedModel


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelError("too long", kind="prompt_too_long", status=413, recover="compact"), "prompt_too_long"),
        (ModelError("too large", kind="media_too_large", status=400, recover="strip_media"), "image_error"),
        (ModelError("down", kind="server", status=500), "model_error"),
    ],
)
async def test_each_error_has_its_reason_and_is_shown_once(error: ModelError, reason: str):
    scene = Scene(ScriptedModel(Fails(error)))
    events = await scene.play()
    assert scene.terminal.reason == reason
    notes = [e.message for e in events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(notes) == 1
