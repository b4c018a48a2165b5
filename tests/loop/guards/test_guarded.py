"""A model in a circle is told first; later the user is asked, or the query ends, and says why. Honest work never is."""

from collections.abc import Sequence

import anyio
import pytest
from msgspec.structs import replace
from tests.loop.scene import STRICT, Scene

from ostinato.loop.guards.guarded import MAX_QUESTIONS, NOTE_SOURCE
from ostinato.messages import AttachmentMessage, Reminder, ToolUse
from ostinato.ports import ModelRequest
from ostinato.records import ReplaceResult
from ostinato.submissions import QueuedPrompt
from ostinato.testing import Reply, ScriptedModel, Turn, answers, call, fake_tool, raises, say
from ostinato.tool import Tool, ToolOutcome


def repeating(*calls: ToolUse, tools: Sequence[Tool] | None = None) -> Scene:
    """A model that asks for these calls, one a round, over and over, thirty times at most."""

    def script(_request: ModelRequest, number: int) -> Turn:
        if number >= 30:
            return Reply(say("done"))
        one = calls[number % len(calls)]
        return Reply(ToolUse(f"t{number}", one.name, one.input))

    scene = Scene(ScriptedModel(script=script), config=STRICT)
    scene.tools = tools or [fake_tool("Look", answers("42"), log=scene.log, is_read_only=True)]
    return scene


def notes(scene: Scene) -> list[Reminder]:
    told = [one.attachment for one in scene.view if isinstance(one, AttachmentMessage)]
    return [one for one in told if isinstance(one, Reminder) and one.source == NOTE_SOURCE]


async def test_the_model_is_told_at_the_third_and_the_query_ends_at_the_sixth():
    scene = repeating(call("Look", "", at=1))
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert scene.terminal.error_kind == "no_progress"
    assert scene.terminal.error
    assert scene.terminal.hint
    assert len(scene.log.started) == 6
    assert [note.key for note in notes(scene)] == ["t3"]
    assert scene.is_same_on_disk


async def test_the_note_reaches_the_model_with_the_next_request():
    scene = repeating(call("Look", "", at=1))
    await scene.play()
    (note,) = notes(scene)
    assert note.text not in str(scene.model.requests[2].messages)
    assert note.text in str(scene.model.requests[3].messages)


async def test_a_model_that_takes_the_note_to_heart_goes_on():
    turns = [*[Reply(call("Look", f"t{n}")) for n in range(3)], Reply(call("Do", "d")), Reply(say("done"))]
    scene = Scene(ScriptedModel(*turns))
    scene.tools = [fake_tool("Look", is_read_only=True), fake_tool("Do")]
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert len(notes(scene)) == 1


async def test_alternation_ends_too():
    scene = repeating(call("Look", "", at=1), call("Look", "", at=2))
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert len(scene.log.started) == 7


async def test_a_call_that_raises_the_same_each_time_ends_too():
    scene = repeating(call("Look", ""), tools=[fake_tool("Look", raises(ValueError("no")))])
    await scene.play()
    assert scene.terminal.reason == "no_progress"


async def test_failures_of_one_kind_end_whatever_the_arguments():
    async def lost(arguments: object, _context: object) -> ToolOutcome:
        return ToolOutcome(f"`{arguments}` does not exist", is_error=True)

    many = [call("Look", "", at=number) for number in range(30)]
    scene = repeating(*many, tools=[fake_tool("Look", lost, is_read_only=True)])
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert scene.terminal.turn_count == 10


async def test_thirty_different_calls_are_work():
    scene = repeating(*[call("Look", "", at=number) for number in range(30)])
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert notes(scene) == []


@pytest.mark.parametrize("name", ["waits", "changes"])
async def test_honest_polling_passes(name: str):
    count = 0

    async def status(_arguments: object, _context: object) -> str:
        nonlocal count
        count += name == "changes"
        return f"{count} of 30"

    def waits(_input: object) -> bool:
        return name == "waits"

    tool = replace(fake_tool("Look", status, is_read_only=True), waits=waits)
    scene = repeating(call("Look", ""), tools=[tool])
    await scene.play()
    assert scene.terminal.reason == "completed"


async def test_waiting_in_vain_for_ever_is_told_and_ends():
    def waits(_input: object) -> bool:
        return True

    tool = replace(fake_tool("Look", is_read_only=True), waits=waits)
    scene = repeating(call("Look", ""), tools=[tool])
    config = replace(STRICT.guard_limits, waiting=replace(STRICT.guard_limits.waiting, note=5, end=8))
    scene.config = replace(STRICT, guard_limits=config)
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert len(notes(scene)) == 1


async def test_with_notes_alone_the_model_is_told_again_and_nothing_ends():
    scene = repeating(call("Look", ""))
    scene.config = replace(STRICT, loop_guard="note")
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert len(notes(scene)) > 5


async def test_switched_off_nothing_is_said():
    scene = repeating(call("Look", ""))
    scene.config = replace(STRICT, loop_guard="off")
    await scene.play()
    assert scene.terminal.reason == "completed"
    assert notes(scene) == []


class Asked:
    """Implements `MayGoOn`."""

    def __init__(self, scene: Scene, *answers: bool) -> None:
        self.calls: list[str] = []
        self._answers = answers
        scene.may_go_on = self

    async def __call__(self, call: ToolUse, why: str) -> bool:
        assert why
        self.calls.append(call.id)
        return self._answers[len(self.calls) - 1]


async def test_where_somebody_can_be_asked_a_no_ends_the_query():
    scene = repeating(call("Look", ""))
    asked = Asked(scene, False)
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert asked.calls == ["t6"]


async def test_a_yes_lets_it_go_on_and_is_asked_for_again_but_not_for_ever():
    scene = repeating(call("Look", ""))
    asked = Asked(scene, *[True] * 9)
    await scene.play()
    assert scene.terminal.reason == "no_progress"
    assert asked.calls == ["t6", "t12", "t18"]
    assert len(asked.calls) == MAX_QUESTIONS


async def test_an_abort_ends_the_question():
    scene = repeating(call("Look", ""))

    async def aborts(_call: ToolUse, _why: str) -> bool:
        scene.abort.abort("user")
        await anyio.sleep_forever()
        return True

    scene.may_go_on = aborts
    await scene.play()
    assert scene.terminal.reason == "aborted_streaming"


class Speaks:
    """A prompt of the user that waits from the fifth round on."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._said = False

    def drain(self) -> Sequence[QueuedPrompt]:
        if self._said or len(self._scene.log.started) < 5:
            return ()
        self._said = True
        return (QueuedPrompt("q", "go on like this"),)

    def give_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        del prompts


async def test_what_the_user_says_meanwhile_begins_anew():
    scene = repeating(call("Look", ""))
    scene.queue = Speaks(scene)
    await scene.play()
    assert len(scene.log.started) == 5 + 6


async def test_a_result_that_was_cleared_may_be_asked_for_again():
    scene = repeating(call("Look", ""), tools=[fake_tool("Look", answers("x" * 2_000), is_read_only=True)])

    async def clears(_messages: object, _facts: object) -> Sequence[ReplaceResult]:
        number = len(scene.model.requests)
        return [ReplaceResult(f"e{number}", f"t{number}", "[cleared]")]

    scene.prepare_context = clears
    await scene.play()
    assert scene.terminal.reason == "completed"
