"""An error that may still be healed is withheld: it is released exactly once, when nothing healed it, or never."""

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene
from tests.loop.transitions.test_overflowed import REFUSED as MEDIA_REFUSED
from tests.loop.transitions.test_overflowed import TOO_LONG, compacting, long_talk
from tests.loop.transitions.test_repaired import BEFORE as ODD_TALK
from tests.loop.transitions.test_repaired import ILLEGAL

from ostinato.events import AssistantEvent, Terminal, Transition
from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Image,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelRequest
from ostinato.records import Record
from ostinato.state import QueryConfig
from ostinato.testing import SCRIPTED_FACTS, Fails, Reply, ScriptedModel, Turn, say, transitions

IMAGE = UserMessage("image", (Text("look"), Image("image/png", "aGVsbG8=")))

TROUBLES: dict[str, tuple[Callable[[], Turn], Sequence[Record]]] = {
    "prompt too long": (lambda: Fails(TOO_LONG), long_talk()),
    "media refused": (lambda: Fails(MEDIA_REFUSED), [IMAGE]),
    "output cut": (lambda: Reply(say("half"), stop_reason="max_tokens"), []),
    "history illegal": (lambda: Fails(ILLEGAL), ODD_TALK),
}


def scene(trouble: str, *, times: int) -> Scene:
    """The trouble comes so many times, then an answer."""
    make, before = TROUBLES[trouble]

    def script(_request: ModelRequest, number: int) -> Turn:
        return make() if number <= times else Reply(say("done"))

    return compacting(Scene(ScriptedModel(script=script), before=before))


def errors_in(messages: Sequence[object]) -> list[AssistantMessage]:
    return [m for m in messages if isinstance(m, AssistantMessage) and m.is_error]


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_error_that_was_healed_is_shown_to_nobody_and_kept_nowhere(trouble: str):
    played = scene(trouble, times=1)
    events = await played.play()
    assert (played.terminal.reason, played.terminal.error) == ("completed", "")
    assert len(transitions(played.terminal)) == 1
    assert errors_in([event.message for event in events if isinstance(event, AssistantEvent)]) == []
    assert errors_in(played.journal.records) == []
    assert played.is_same_on_disk


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_error_that_nothing_healed_is_released_once_after_all_that_was_tried(trouble: str):
    played = scene(trouble, times=99)
    events = await played.play()
    shown = [e for e in events if isinstance(e, AssistantEvent) and e.message.is_error]
    assert len(shown) == len(errors_in(played.journal.records)) == 1
    last_try = max(place for place, event in enumerate(events) if isinstance(event, Transition))
    assert events.index(shown[0]) > last_try
    assert isinstance(events[-1], Terminal)
    assert played.is_same_on_disk


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_abort_while_it_is_withheld_releases_nothing(trouble: str):
    played = scene(trouble, times=99)
    make, _ = TROUBLES[trouble]

    def script(_request: ModelRequest, number: int) -> Turn:
        if number == 2:
            played.abort.abort("user")
        return make()

    played.model = ScriptedModel(script=script)
    events = await played.play()
    assert played.terminal.reason == "aborted_streaming"
    assert errors_in([event.message for event in events if isinstance(event, AssistantEvent)]) == []


def test_what_decides_over_it_is_one_snapshot_that_cannot_change_in_between():
    config = QueryConfig()
    with pytest.raises(AttributeError):
        config.auto_compact = False  # pyright: ignore[reportAttributeAccessIssue] - what must not be possible


# ------------------------------------------------------------------ several troubles at once


POISON: list[Record] = [
    *ODD_TALK,
    assistant_fragment("x0", "rx", "m", ToolUse("lost", "Look", {})),
    user_prompt("x1", "and then?"),
    tool_result_message("x2", ToolResult("nobody's", "found")),
    assistant_fragment("x3", "ry", "m", Text("  ")),
]
"""A call without a result, a result without a call, ids that some servers refuse, a reply of nothing."""


async def test_a_poisoned_history_that_is_too_long_is_repaired_compacted_and_can_be_resumed():
    limit = 400_000

    def script(request: ModelRequest, _number: int) -> Turn:
        text = str(request.messages)
        if "odd:id" in text:
            return Fails(ILLEGAL)
        return Fails(TOO_LONG) if len(text) > limit else Reply(say("done"))

    config = replace(STRICT, normalise_strictly=False)
    played = compacting(Scene(ScriptedModel(script=script), before=[*POISON, *long_talk()], config=config))
    await played.play()
    assert played.terminal.reason == "completed"
    assert transitions(played.terminal) == ("history_repair_retry", "reactive_compact_retry")
    assert played.is_same_on_disk
    later = History.empty().extend([*played.written.view(), user_prompt("next", "and now?")])
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(later)  # raises for an illegal history
    resumed = Scene(ScriptedModel(Reply(say("on"))), before=played.written.view(), prompt="on")
    await resumed.play()
    assert resumed.terminal.reason == "completed"
