"""More images than a request may hold: the oldest go by a record, several at once, and nothing else changes what was sent before."""

from collections.abc import Sequence

import pytest
from tests.context.talks import EMPTY, FACTS

from ostinato.context.media_cap import AT_ONCE, MediaCap
from ostinato.context.pipeline import Pipeline
from ostinato.history import History
from ostinato.messages import (
    AttachedImage,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    attachment_message,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import MAX_MEDIA, Normaliser
from ostinato.ports import RequestMessage
from ostinato.records import StripMedia, Undo
from ostinato.testing import CountingIds


def picture(number: int) -> Image:
    return Image("image/png", f"{number:04}")


def round_with(number: int, *images: Image) -> list[Message]:
    call_id = f"t{number}"
    return [
        assistant_fragment(f"a{number}", f"r{number}", "m", ToolUse(call_id, "Read", {})),
        tool_result_message(f"u{number}", ToolResult(call_id, (Text("seen"), *images))),
    ]


def prompt_with(*images: Image) -> History:
    return History.empty().append(UserMessage("p", (Text("Look at these."), *images)))


def cap() -> Pipeline:
    return Pipeline({"media_cap": MediaCap(CountingIds("e").uuid)})


def sent(history: History) -> list[RequestMessage]:
    return Normaliser(FACTS, strict=True).request_messages(history)


def pictures_in(messages: Sequence[RequestMessage]) -> list[str]:
    found: list[str] = []
    for block in (block for message in messages for block in message.content):
        parts = (
            block.content if isinstance(block, ToolResult) and not isinstance(block.content, str) else [block]
        )
        found += [part.data for part in parts if isinstance(part, Image)]
    return found


async def test_what_was_sent_changes_only_with_a_record_and_once_for_many_images():
    stage, history, before = cap(), prompt_with(picture(9000)), list[RequestMessage]()
    edited = 0
    for number in range(250):
        history = history.extend(round_with(number, picture(number)))
        edits = await stage(history, EMPTY)
        history = history.extend(edits)
        edited += bool(edits)
        now = sent(history)
        assert edits or now[: len(before)] == before
        assert len(pictures_in(now)) <= MAX_MEDIA
        assert pictures_in(now)[-1] == picture(number).data
        before = now
    assert 0 < edited <= 250 // AT_ONCE
    assert History.fold(history.log()).view() == history.view()


async def test_what_nobody_has_seen_yet_stays_and_the_oldest_go():
    history = prompt_with(*map(picture, range(60))).extend(round_with(1, *map(picture, range(100, 160))))
    edits = await cap()(history, EMPTY)
    assert [edit.block for edit in edits if isinstance(edit, StripMedia)] == list(range(1, 20 + AT_ONCE + 1))
    assert {edit.message for edit in edits if isinstance(edit, StripMedia)} == {"p"}
    assert pictures_in(sent(history.extend(edits)))[-60:] == [picture(n).data for n in range(100, 160)]


async def test_what_the_user_brought_back_stays():
    history = prompt_with(*map(picture, range(60))).extend(round_with(1, *map(picture, range(100, 160))))
    edits = await cap()(history, EMPTY)
    history = history.extend(edits).append(Undo("back", edits[0].edit_id)).extend(round_with(2, picture(1)))
    history = history.extend(await cap()(history, EMPTY))
    history = history.extend(round_with(3, *map(picture, range(200, 230))))
    history = history.extend(await cap()(history, EMPTY))
    assert pictures_in(sent(history))[0] == picture(0).data


def named(number: int) -> list[Message]:
    """A prompt that names an image, and a short answer."""
    return [
        user_prompt(f"q{number}", f"Look at @{number}.png"),
        attachment_message(f"i{number}", AttachedImage(f"{number}.png", picture(number))),
        assistant_fragment(f"s{number}", f"rs{number}", "m", Text("seen")),
    ]


@pytest.mark.parametrize("beside_results", [False, True])
async def test_images_that_prompts_name_go_like_all_others_once_for_many_and_their_names_stay(
    beside_results: bool,
):
    stage, history, before = cap(), History.empty(), list[RequestMessage]()
    edited = 0
    for number in range(MAX_MEDIA + 2 * AT_ONCE + 10):
        asked = named(number)
        history = history.extend(asked[:-1])
        edits = await stage(history, EMPTY)
        history = history.extend(edits)
        edited += bool(edits)
        now = sent(history)
        assert edits or now[: len(before)] == before
        assert pictures_in(now)[-1] == picture(number).data
        assert len(pictures_in(now)) <= MAX_MEDIA
        before = now
        history = history.extend(round_with(number, picture(number)) if beside_results else asked[-1:])
    assert 0 < edited <= 2 * (MAX_MEDIA + 2 * AT_ONCE + 10) // AT_ONCE
    assert "0.png" in str(sent(history)[0])
    resumed = History.fold(history.log())
    assert resumed.view() == history.view()
    assert sent(resumed) == sent(history)


async def test_a_named_image_that_the_user_brings_back_is_there_again_and_stays():
    history = History.empty()
    for number in range(MAX_MEDIA + 1):
        history = history.extend(named(number))
    edits = await cap()(history.extend(round_with(1)), EMPTY)
    back = (
        history
        .extend(edits)
        .append(Undo("back", edits[0].edit_id))
        .extend(round_with(2, *map(picture, range(40))))
    )
    back = back.extend(await cap()(back.extend(round_with(3)), EMPTY))
    assert pictures_in(sent(back))[0] == picture(0).data


async def test_as_many_as_are_taken_change_nothing():
    history = prompt_with(*map(picture, range(MAX_MEDIA)))
    assert await cap()(history.extend(round_with(1)), EMPTY) == []
