"""The model hides old rounds itself, where that is switched on: in the file, after a resume, and until the user takes it back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.test_long_conversations import UNKNOWN, WISH, part

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.engine.context_report import made_edits
from ostinato.events import Event
from ostinato.messages import ToolResult
from ostinato.ports import ModelRequest
from ostinato.records import Snip
from ostinato.state import QueryConfig
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, call, fake_tool, result, say
from ostinato.tool import Tool, ToolContext

FACTS = replace(SCRIPTED_FACTS, context_window=100_000, max_output_tokens=4_000)
ROUNDS = 9


def looking_tool() -> Tool:
    looked: list[int] = []

    async def look(_input: Mapping[str, Any], _context: ToolContext) -> str:
        looked.append(len(looked))
        return part(len(looked), 500)

    return fake_tool("Look", look)


def options(home: Path, model: ScriptedModel, *, is_on: bool = True, **more: Any) -> Options:
    return Options(
        cwd=home,
        model=model,
        extra_tools=[looking_tool()],
        allowed_tools=["Look"],
        environment={"HOME": str(home), "OSTINATO_HOME": str(home / "home")},
        config=QueryConfig(snip_tool=is_on, microcompact=False, normalise_strictly=True),
        **more,
    )


def names_in(request: ModelRequest) -> list[str]:
    return re.findall(r"- ([0-9a-z]{6}): Look", str(request.messages[-1].content).replace("\\n", "\n"))


def shown(request: ModelRequest) -> list[str]:
    """The calls whose results the request holds."""
    return [b.tool_use_id for m in request.messages for b in m.content if isinstance(b, ToolResult)]


class Hiding:
    """A model that looks at one part after another, and hides what it is offered as soon as it is."""

    def __init__(self) -> None:
        self.looked = 0
        self.asked: list[str] = []
        self.model = ScriptedModel(script=self._turn, facts=FACTS)

    def _turn(self, request: ModelRequest, _number: int) -> Reply:
        if not self.asked and (names := names_in(request)):
            self.asked = names
            return Reply(call("Snip", "snip", rounds=names), usage=UNKNOWN)
        self.looked += 1
        more = self.looked <= ROUNDS
        return Reply(call("Look", f"t{self.looked}") if more else say("done"), usage=UNKNOWN)


async def asked(given: Options, *prompts: str) -> tuple[str, list[Event]]:
    async with open_engine(given) as engine:
        events: list[Event] = []
        for prompt in prompts:
            events += [event async for event in engine.submit_message(prompt)]
        return engine.session_id, events


async def test_what_the_model_is_offered_it_can_hide_and_the_next_request_is_shorter(tmp_path: Path):
    hiding = Hiding()
    _, events = await asked(options(tmp_path, hiding.model), WISH)
    assert result(events).text == "done"
    at = next(n for n, r in enumerate(hiding.model.requests) if "snip" in shown(r))
    before, after = hiding.model.requests[at - 1], hiding.model.requests[at]
    gone = [one for one in shown(before) if one not in shown(after)]
    assert len(gone) == len(hiding.asked) > 1
    assert gone == shown(before)[: len(gone)]
    assert WISH in str(after.messages[0])
    assert after.tools == before.tools


async def test_it_stays_hidden_after_a_resume_and_comes_back_when_the_user_says_so(tmp_path: Path):
    hiding = Hiding()
    session, _ = await asked(options(tmp_path, hiding.model), WISH)
    hidden = shown(hiding.model.requests[-1])
    again = ScriptedModel(Reply(say("yes")), Reply(say("yes")), facts=FACTS)
    async with open_engine(options(tmp_path, again, resume=session)) as engine:
        [_ async for _ in engine.submit_message("Still there?")]
        edits = [edit for edit in engine.history.log() if isinstance(edit, Snip)]
        told = [edit for edit in made_edits(engine.history) if edit.kind == "rounds hidden"]
        assert [edit.edit_id for edit in told] == [edit.edit_id for edit in edits]
        assert all("model asked" in edit.what for edit in told)
        for edit in edits:
            [_ async for _ in engine.submit_message(f"/context undo {edit.edit_id}")]
        [_ async for _ in engine.submit_message("And now?")]
    first, second = again.requests
    assert shown(first) == hidden
    assert set(shown(second)) > set(hidden)


@pytest.mark.parametrize("is_on", [True, False])
async def test_the_tool_is_there_only_where_it_is_switched_on(tmp_path: Path, is_on: bool):
    model = ScriptedModel(Reply(say("hello")), facts=FACTS)
    await asked(options(tmp_path, model, is_on=is_on), "hi")
    assert ("Snip" in {tool.name for tool in model.requests[0].tools}) is is_on


async def test_a_setting_switches_it_on(tmp_path: Path):
    settings = tmp_path / ".ostinato" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"features": {"snipTool": true}}')
    model = ScriptedModel(Reply(say("hello")), facts=FACTS)
    given = replace(options(tmp_path, model), config=QueryConfig(), setting_sources=("user",))
    await asked(replace(given, environment={"HOME": str(tmp_path)}), "hi")
    assert "Snip" in {tool.name for tool in model.requests[0].tools}


async def test_where_the_tool_is_denied_nothing_is_offered(tmp_path: Path):
    hiding = Hiding()
    await asked(options(tmp_path, hiding.model, disallowed_tools=["Snip"]), WISH)
    assert hiding.looked > ROUNDS
    assert hiding.asked == []
    assert not any(names_in(request) for request in hiding.model.requests)
