"""Refused media give way to notes, wherever they stand; everything else stays."""

from ostinato.context.strip_media import MediaStripping
from ostinato.history import History
from ostinato.messages import (
    AttachedImage,
    Document,
    Image,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    attachment_message,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import StripMedia, Undo
from ostinato.testing import SCRIPTED_FACTS, CountingIds

PICTURE = Image("image/png", "AAAA")


async def stripped(history: History) -> tuple[History, int]:
    edits = await MediaStripping(CountingIds().uuid)(history, None, SCRIPTED_FACTS)
    return history.extend(edits), len(edits)


async def test_every_place_that_holds_media_gets_a_note_and_the_rest_stays():
    before = History.empty().extend([
        UserMessage("p", (Text("look"), PICTURE, Document("application/pdf", "AAAA"))),
        attachment_message("i", AttachedImage("a.png", PICTURE)),
        assistant_fragment("a", "r", "m", ToolUse("t1", "Read", {})),
        tool_result_message("u", ToolResult("t1", (Text("seen"), PICTURE))),
    ])
    after, count = await stripped(before)
    sent = str(Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after))
    assert count == 4
    assert "AAAA" not in sent
    assert "look" in sent
    assert "seen" in sent
    assert "a.png" in sent
    assert (await stripped(after))[1] == 0


async def test_an_image_that_was_refused_comes_back_when_its_edit_is_taken_back():
    before = History.empty().extend([
        user_prompt("p", "look at @a.png"),
        attachment_message("i", AttachedImage("a.png", PICTURE)),
    ])
    edits = await MediaStripping(CountingIds().uuid)(before, None, SCRIPTED_FACTS)
    after = before.extend(edits)
    assert [message.uuid for message in after.view()] == ["p", "i"]
    assert all(isinstance(edit, StripMedia) for edit in edits)
    assert after.extend([Undo("back", edits[0].edit_id)]).view() == before.view()


async def test_without_media_there_is_nothing_to_do():
    assert (await stripped(History.empty().append(user_prompt("p", "hi"))))[1] == 0
