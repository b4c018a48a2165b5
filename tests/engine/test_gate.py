"""The gate in a conversation: what the rules refuse, no answer of the caller lets through."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Allow, Deny, Options, PermissionAsked
from ostinato.events import ToolEnd, UserEvent
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say, terminal

CHANGED: list[tuple[str, Mapping[str, Any], str]] = [
    ("Bash(rm:*)", {"command": "rm -r all"}, "denied"),
    ("Bash(rm:*)", {"command": "echo fine"}, "ok"),
]


@pytest.mark.parametrize(("rule", "updated_input", "outcome"), CHANGED)
async def test_an_input_that_the_caller_changed_must_pass_the_deny_rules(
    tmp_path: Path, rule: str, updated_input: Mapping[str, Any], outcome: str
):
    async def changes_it(_asked: PermissionAsked) -> Allow:
        return Allow(updated_input)

    model = ScriptedModel(Reply(call("Bash", "t1", command="touch x")), Reply(say("ok")))
    chosen = Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Bash")],
        environment={"HOME": str(tmp_path)},
        can_use_tool=changes_it,
        disallowed_tools=(rule,),
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == [outcome]


NONSENSE = [None, True, "allow", Allow, Deny(cast("str", None)), Deny(cast("str", b"no"))]


@pytest.mark.parametrize("answer", NONSENSE, ids=["None", "True", "text", "a class", "no text", "bytes"])
async def test_an_answer_of_the_caller_that_is_neither_yes_nor_no_runs_nothing_and_ends_nothing(
    tmp_path: Path, answer: Any
):
    async def says(_asked: PermissionAsked) -> Any:
        return answer

    model = ScriptedModel(Reply(call("Bash", "t1", command="touch x")), Reply(say("ok")))
    chosen = Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Bash")],
        environment={"HOME": str(tmp_path)},
        can_use_tool=says,
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["denied"]
    assert terminal(events).reason == "completed"
    results = [event.message.content[0] for event in events if isinstance(event, UserEvent)]
    assert ["Allow or Deny" in str(result) for result in results] == [True]
