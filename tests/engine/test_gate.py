"""The gate in a conversation: what the rules refuse, no answer of the caller lets through."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Allow, Deny, Options, PermissionAsked
from ostinato.events import Result, ToolEnd
from ostinato.messages import ToolResult
from ostinato.option_values import PermissionMode
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


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk"])
@pytest.mark.parametrize("denied", [(), ("Bash(touch:*)",)])
async def test_a_denial_says_nothing_twice(tmp_path: Path, mode: PermissionMode, denied: tuple[str, ...]):
    model = ScriptedModel(Reply(call("Bash", "t1", command="touch x")), Reply(say("ok")))
    chosen = Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Bash")],
        environment={"HOME": str(tmp_path)},
        permission_mode=mode,
        disallowed_tools=denied,
    )
    async with open_engine(chosen) as engine:
        _ = [event async for event in engine.submit_message("go")]
    (result,) = model.requests[1].messages[-1].content
    assert isinstance(result, ToolResult)
    assert result.is_error
    said = [part.strip() for part in re.split(r"[.;]\s", f"{result.content} ")]
    assert "Do not try to reach the same end another way" in said
    assert len(said) == len(set(said))


NONSENSE = [
    None,
    True,
    "allow",
    Allow,
    Deny(cast("str", None)),
    Deny(cast("str", b"no")),
    Allow(cast("dict[str, Any]", "input")),
    Allow(remember=("Bash",)),
    ValueError("broken"),
]


@pytest.mark.parametrize(
    "answer",
    NONSENSE,
    ids=["None", "True", "text", "a class", "no text", "bytes", "no input", "not suggested", "raises"],
)
async def test_an_answer_of_the_caller_that_is_neither_yes_nor_no_runs_nothing_and_ends_nothing(
    tmp_path: Path, answer: Any
):
    async def says(_asked: PermissionAsked) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    told: list[str] = []
    model = ScriptedModel(Reply(call("Bash", "t1", command="touch x")), Reply(say("ok")))
    chosen = Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Bash")],
        environment={"HOME": str(tmp_path)},
        can_use_tool=says,
        on_notice=told.append,
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["denied"]
    assert terminal(events).reason == "completed"
    denials = [denial.reason for event in events if isinstance(event, Result) for denial in event.denials]
    assert ["can_use_tool" in reason for reason in (*denials, *told)] == [True, True]


WAYS_HOME: list[tuple[str, Mapping[str, Any]]] = [
    ("Read", {"file_path": "~/.ssh/key"}),
    ("Read", {"file_path": "~//.ssh/key"}),
    ("Read", {"file_path": "{home}/.ssh/key"}),
    ("Read", {"file_path": "~/../{name}/.ssh/key"}),
    ("Grep", {"pattern": "x", "path": "~/.ssh/key"}),
    ("Write", {"file_path": "~/.ssh/key", "content": "x"}),
    ("Bash", {"command": "cat ~/.ssh/key"}),
    ("Bash", {"command": "cat ~//.ssh/key"}),
    ("Bash", {"command": "cd ~//.ssh && cat key"}),
]


@pytest.mark.parametrize(("tool", "given"), WAYS_HOME, ids=[f"{tool} {given}" for tool, given in WAYS_HOME])
async def test_a_rule_about_the_home_folder_holds_for_the_home_that_the_session_was_given(
    tmp_path: Path, tool: str, given: Mapping[str, Any]
):
    home, work = tmp_path / "home", tmp_path / "work"
    (home / ".ssh").mkdir(parents=True)
    work.mkdir()
    (home / ".ssh/key").write_text("the secret")
    asked: list[str] = []

    async def yes(question: PermissionAsked) -> Allow:
        asked.append(question.tool_name)
        return Allow()

    there = {name: str(value).format(home=home, name="home") for name, value in given.items()}
    model = ScriptedModel(Reply(call(tool, "t1", **there)), Reply(say("ok")))
    chosen = Options(
        cwd=work,
        model=model,
        environment={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        can_use_tool=yes,
        permission_mode="bypassPermissions",
        disallowed_tools=("Read(~/.ssh/**)", "Edit(~/.ssh/**)"),
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["denied"]
    assert asked == []
    assert (home / ".ssh/key").read_text() == "the secret"


@pytest.mark.parametrize("path", ["~/there.txt", "./~there.txt"])
async def test_what_a_tool_opens_is_what_the_gate_judged(tmp_path: Path, path: str):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (home / "there.txt").write_text("in the home")
    (work / "~there.txt").write_text("in the home")
    model = ScriptedModel(Reply(call("Read", "t1", file_path=path)), Reply(say("ok")))
    chosen = Options(
        cwd=work, model=model, environment={"HOME": str(home)}, allowed_tools=("Read(~/there.txt)",)
    )
    async with open_engine(chosen) as engine:
        events = [event async for event in engine.submit_message("go")]
    assert [event.outcome for event in events if isinstance(event, ToolEnd)] == ["ok"]
