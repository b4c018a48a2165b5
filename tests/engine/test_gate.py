"""The gate in a conversation: what the rules refuse, no answer of the caller lets through."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_conversation
from ostinato.engine.options import Allow, Options, PermissionAsked
from ostinato.events import ToolEnd
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say

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
    async with open_conversation(chosen) as conversation:
        events = [event async for event in conversation.query("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == [outcome]
