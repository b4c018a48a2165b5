"""Over two hundred passes each request begins with the one before it, byte for byte, but where an edit was written in between."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.context.compactions import SUMMARY, is_summary, nothing
from tests.context.talks import prose
from tests.loop.scene import Scene

from ostinato.codec import encode
from ostinato.context.autocompact import Autocompact
from ostinato.context.collapse import Collapse
from ostinato.context.compaction import Compaction
from ostinato.context.microcompact import Microcompact
from ostinato.context.pipeline import Pipeline
from ostinato.context.reactive import ReactiveCompaction
from ostinato.context.snip import RedundantRounds
from ostinato.context.tool_result_budget import ToolResultBudget
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import Usage
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.providers.anthropic_wire import AnthropicBodies
from ostinato.providers.openai_responses_wire import ResponsesBodies
from ostinato.providers.openai_wire import OpenAIBodies
from ostinato.records import AnyEdit
from ostinato.testing import (
    SCRIPTED_FACTS,
    CountingIds,
    Reply,
    ScriptedModel,
    Turn,
    call,
    fake_tool,
    say,
)

PASSES = 200


async def kept(call_id: str, _text: str) -> str | None:
    return f"/kept/{call_id}.txt"


def every_stage() -> Pipeline:
    ids = CountingIds("edit").uuid
    reactive = ReactiveCompaction(ids)

    async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
        return await reactive(messages, None, model)

    return Pipeline({
        "tool_result_budget": ToolResultBudget(ids, kept, lambda _name: 8_000),
        "snip": RedundantRounds(ids),
        "microcompact": Microcompact(ids),
        "collapse": Collapse(ids),
        "autocompact": Autocompact(Compaction(ids, nothing), digest),
    })


class Played:
    """The requests of one long query, and before which of them something that they hold was edited."""

    def __init__(self, window: int) -> None:
        self.requests: list[ModelRequest] = []
        self.edited: set[int] = set()
        self._stages = every_stage()
        self._rounds = 0
        model = ScriptedModel(script=self._turn, facts=replace(SCRIPTED_FACTS, context_window=window))
        tools = [fake_tool("Read", self._read)]
        self.scene = Scene(model, tools, prepare_context=self._prepare)

    async def _prepare(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        edits = await self._stages(messages, facts)
        if edits:
            self.edited.add(len(self.requests))
        return edits

    async def _read(self, _input: object, _context: object) -> str:
        size = (200, 3_000, 9_000, 900, 5_000)[self._rounds % 5]
        return prose(size, f"part {self._rounds}")

    def _turn(self, request: ModelRequest, _number: int) -> Turn:
        if is_summary(request):
            return SUMMARY
        self.requests.append(request)
        self._rounds += 1
        if self._rounds > PASSES:
            return Reply(say("done"))
        return Reply(call("Read", f"t{self._rounds}", file_path=f"f{self._rounds % 40}.py"), usage=Usage())


def is_longer(before: ModelRequest, after: ModelRequest) -> bool:
    same = (before.system, before.tools, before.model) == (after.system, after.tools, after.model)
    return same and encode(after.messages[: len(before.messages)]) == encode(list(before.messages))


Encoder = AnthropicBodies | OpenAIBodies | ResponsesBodies
ANTHROPIC, OPENAI = (replace(SCRIPTED_FACTS, provider=name) for name in ("anthropic", "openai"))
WIRES: dict[str, tuple[Encoder, bytes]] = {
    "anthropic": (AnthropicBodies(ANTHROPIC), b'"messages":['),
    "openai chat": (OpenAIBodies(OPENAI), b'"messages":['),
    "openai responses": (ResponsesBodies(OPENAI), b'"input":['),
}


def beginning_on_the_wire(wire: str, request: ModelRequest) -> bytes:
    """Of the body without cache marks, all messages up to where the last one may go on."""
    encoder, name = WIRES[wire]
    plain = encoder.body(request).replace(b',"cache_control":{"type":"ephemeral"}', b"")
    start = plain.index(name)
    end = max(
        plain.rfind(b"}]", start, plain.rfind(after)) for after in (b',"stream', b',"store', b',"tools')
    )
    return plain[start:end].rstrip(b'"}]')


@pytest.fixture
def anyio_backend() -> str:
    """Nothing here waits for anything."""
    return "asyncio"


@pytest.mark.parametrize(("window", "has_edits"), [(2_000_000, False), (60_000, True)])
async def test_only_a_recorded_edit_changes_what_was_sent_before(window: int, has_edits: bool):
    played = Played(window)
    await played.scene.play()
    assert len(played.requests) == PASSES + 1
    changed = {
        number
        for number, (before, after) in enumerate(pairwise(played.requests), 1)
        if not is_longer(before, after)
    }
    assert changed <= played.edited
    assert bool(changed) == has_edits
    assert len(changed) < PASSES / 10
    for wire in WIRES:
        beginnings = [beginning_on_the_wire(wire, request) for request in played.requests]
        assert max(map(len, beginnings)) > 50_000
        for number, (before, after) in enumerate(pairwise(beginnings), 1):
            assert number in changed or after.startswith(before), (wire, number)
