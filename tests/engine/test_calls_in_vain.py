"""Nobody is asked about a call that cannot succeed: the model reads what is wrong with it, and no denial is counted."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_stopping import options, play

from ostinato import Allow, PermissionAsked
from ostinato.events import Event, ToolEnd
from ostinato.messages import ToolResult, ToolUse
from ostinato.option_values import PermissionMode
from ostinato.testing import Reply, ScriptedModel, call, call_with, result, say
from ostinato.tools.switched_off import NO_SEARCH, NOBODY_TO_ASK


class Person:
    """Says yes to everything, and remembers what they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, asked: PermissionAsked) -> Allow:
        self.asked.append(asked.tool_use_id)
        return Allow()


class Played:
    """What became of the calls of one or several replies."""

    def __init__(self, model: ScriptedModel, events: Sequence[Event]) -> None:
        self.ends = [event.outcome for event in events if isinstance(event, ToolEnd)]
        self.denials = [denial.tool_use_id for denial in result(events).denials]
        self.results = [
            block
            for message in model.requests[-1].messages
            for block in message.content
            if isinstance(block, ToolResult)
        ]

    @property
    def texts(self) -> list[str]:
        assert all(one.is_error for one in self.results)
        return [str(one.content) for one in self.results]


async def played(tmp_path: Path, *replies: Sequence[ToolUse], **more: Any) -> Played:
    model = ScriptedModel(*(Reply(*calls) for calls in replies), Reply(say("done")))
    return Played(model, await play(options(tmp_path, model, **more)))


SEARCH = call("WebSearch", "t1", query="pens")
MODES: list[PermissionMode] = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]


@pytest.mark.parametrize("mode", MODES)
async def test_without_a_search_service_every_mode_says_what_to_set_up(tmp_path: Path, mode: PermissionMode):
    found = await played(tmp_path, [SEARCH], permission_mode=mode)
    assert (found.texts, found.ends, found.denials) == ([NO_SEARCH], ["error"], [])


OFF: list[tuple[str, Mapping[str, Any], str]] = [
    ("WebSearch", {"query": "pens"}, NO_SEARCH),
    ("AskUserQuestion", {"questions": []}, NOBODY_TO_ASK),
]


@pytest.mark.parametrize(("name", "given", "why"), OFF, ids=[name for name, _, _ in OFF])
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_switched_off_asks_nobody_even_where_a_rule_says_ask(
    tmp_path: Path, name: str, given: Mapping[str, Any], why: str, mode: PermissionMode
):
    person = Person()
    settings = json.dumps({"permissions": {"ask": [name]}})
    found = await played(
        tmp_path,
        [call_with(name, "t1", given)],
        can_use_tool=person,
        settings=settings,
        permission_mode=mode,
    )
    assert (found.texts, person.asked, found.denials) == ([why], [], [])


@pytest.mark.parametrize("mode", MODES)
async def test_a_deny_rule_for_what_is_switched_off_says_nothing_of_that(
    tmp_path: Path, mode: PermissionMode
):
    """One for the whole tool takes it away altogether."""
    part, whole = [
        await played(tmp_path, [SEARCH], disallowed_tools=[rule], permission_mode=mode)
        for rule in ("WebSearch(query:pens)", "WebSearch")
    ]
    assert (part.ends, part.denials) == (["denied"], ["t1"])
    assert (whole.ends, whole.denials) == (["error"], [])
    assert NO_SEARCH not in (*part.texts, *whole.texts)
