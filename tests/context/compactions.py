"""Queries in which the conversation is summarised between two passes, small enough to be struck at every step."""

from collections.abc import Sequence

import anyio.lowlevel
from msgspec.structs import replace
from tests.context.talks import prose, round_of
from tests.loop.scene import Scene

from ostinato.context.autocompact import Autocompact
from ostinato.context.collapse import Collapse
from ostinato.context.compaction import Compaction
from ostinato.context.pipeline import Pipeline
from ostinato.context.reactive import ReactiveCompaction
from ostinato.history import History
from ostinato.messages import Message, Usage, user_prompt
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.records import AnyEdit
from ostinato.testing import (
    SCRIPTED_FACTS,
    CountingIds,
    Reply,
    ScriptedModel,
    Turn,
    answers,
    call,
    fake_tool,
    say,
)

ACCOUNT = "<summary>The user wants all files read; some were, and nothing was changed so far.</summary>"
SUMMARY = Reply(say(ACCOUNT), usage=Usage(900, 20))
TINY = replace(SCRIPTED_FACTS, context_window=8_000, max_output_tokens=1_000)
FILLING = prose(7_000, "seen")
"""Half of a tiny window, and more: two of them are too much."""


async def nothing(_kept: Sequence[Message]) -> Sequence[Message]:
    return ()


def pipeline() -> Pipeline:
    """Autocompact alone."""
    ids = CountingIds("edit").uuid
    reactive = ReactiveCompaction(ids)

    async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
        return await reactive(messages, None, model)

    return Pipeline({"autocompact": Autocompact(Compaction(ids, nothing), digest)})


def is_summary(request: ModelRequest) -> bool:
    return request.source.name == "compact"


def full_talk() -> list[Message]:
    """More than a tiny window allows."""
    return [user_prompt("wish", "Read all files."), *round_of("b1", FILLING), *round_of("b2", FILLING)]


def compacting_scene(rounds: int, *summaries: Turn) -> Scene:
    """A full conversation whose model reads `rounds` more long files. What it answers when it is asked for a summary is
    `summaries`, the last of them again and again.
    """
    asked, looks = 0, 0

    def turn(request: ModelRequest, _number: int) -> Turn:
        nonlocal asked, looks
        if is_summary(request):
            asked += 1
            return summaries[min(asked, len(summaries)) - 1]
        looks += 1
        if looks > rounds:
            return Reply(say("done"), usage=Usage())
        return Reply(call("Look", f"t{looks}", number=looks), usage=Usage())

    scene = Scene(ScriptedModel(script=turn, facts=TINY), before=full_talk(), prepare_context=pipeline())
    scene.tools = [fake_tool("Look", answers(FILLING), log=scene.log, is_read_only=True)]
    return scene


PART = prose(3_600, "seen")
"""Of three such results a part is finished, and its account due with the fourth."""


async def unhurried(_input: object, _context: object) -> None:
    """What goes on beside the call gets on meanwhile."""
    for _ in range(9):
        await anyio.lowlevel.checkpoint()


def accounting_scene(account: Turn = SUMMARY) -> Scene:
    """A conversation that is nearly full, and a small model that writes an account of its oldest part while the model looks on."""
    looks = 0

    def turn(_request: ModelRequest, _number: int) -> Turn:
        nonlocal looks
        looks += 1
        return Reply(call("Look", f"t{looks}") if looks <= 2 else say("done"), usage=Usage())

    collapse = Collapse(CountingIds("fold").uuid)
    small = replace(TINY, id="small-1")
    scene = Scene(
        ScriptedModel(script=turn, facts=TINY),
        before=[user_prompt("wish", "Read all."), *(m for n in range(3) for m in round_of(f"b{n}", PART))],
        prepare_context=Pipeline({"collapse": collapse}),
        drain_collapsed=collapse.drain,
        side=ScriptedModel(*[account] * 9, facts=small),
    )
    scene.tools = [fake_tool("Look", unhurried, answers(PART), log=scene.log, is_read_only=True)]
    return scene
