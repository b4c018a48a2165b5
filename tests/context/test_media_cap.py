"""More images than a request may hold: the oldest go by a record, several at once, and nothing else changes what was sent before."""

from collections.abc import Sequence

from tests.context.talks import EMPTY, FACTS

from ostinato.context.media_cap import AT_ONCE, MediaCap
from ostinato.context.pipeline import Pipeline
from ostinato.history import History
from ostinato.messages import (
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    tool_result_message,
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


async def test_as_many_as_are_taken_change_nothing():
    history = prompt_with(*map(picture, range(MAX_MEDIA)))
    assert await cap()(history.extend(round_with(1)), EMPTY) == []
