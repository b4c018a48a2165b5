"""No image of a tool can make a later request illegal: what is too large, damaged or something else becomes a note."""

from base64 import b64encode

import pytest
from tests.loop.scene import Scene
from tests.tools.pictures import png

from ostinato.image_facts import MAX_IMAGE_BYTES
from ostinato.loop.sent_images import sendable_image
from ostinato.messages import Image, Text, ToolResult, UserMessage
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say
from ostinato.tool import ToolOutcome

GOOD = Image("image/png", b64encode(png(2000, 1)).decode())
BAD = {
    "too wide": Image("image/png", b64encode(png(2162, 322)).decode()),
    "too high": Image("image/png", b64encode(png(3, 2001)).decode()),
    "no size": Image("image/png", b64encode(png(0, 0)).decode()),
    "damaged": Image("image/png", b64encode(png(9, 9)[:20]).decode()),
    "empty": Image("image/png", ""),
    "no base64": Image("image/png", "*?"),
    "half a code point": Image("image/png", "\ud835"),
    "another thing": Image("image/png", b64encode(b"%PDF-1.4").decode()),
    "thirty megabytes": Image("image/png", b64encode(png(9, 9, 30_000_000)).decode()),
    "a byte too many": Image("image/png", b64encode(png(9, 9, MAX_IMAGE_BYTES + 1)).decode()),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_no_request_may_carry_becomes_a_note(kind: str):
    assert isinstance(sendable_image(BAD[kind]), Text)


def test_what_is_good_stays_and_gets_the_type_that_it_has():
    assert sendable_image(GOOD) == GOOD
    assert sendable_image(Image("image/jpeg", GOOD.data)) == GOOD
    largest = Image("image/png", b64encode(png(9, 9, MAX_IMAGE_BYTES)).decode())
    assert sendable_image(largest) == largest


async def test_a_tools_images_are_looked_at_before_anything_is_kept_or_sent():
    async def draw(_input: object, _context: object) -> ToolOutcome:
        return ToolOutcome((Text("two"), GOOD, BAD["too wide"]))

    scene = Scene(ScriptedModel(Reply(call("Draw", "t1")), Reply(say("done"))), [fake_tool("Draw", draw)])
    await scene.play()
    (result,) = [
        block
        for message in scene.view
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    ]
    assert [type(block) for block in result.content] == [Text, Image, Text]
    assert scene.is_same_on_disk
