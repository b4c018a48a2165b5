"""The teaching interface: four reasons, every call answered, the loop only schedules the parts it is given."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ostinato.engine.options import Allow, PermissionAsked
from ostinato.errors import ModelError
from ostinato.events import AnyModelEvent
from ostinato.loop.abort import AbortSignal
from ostinato.messages import ToolResult, ToolUse, Usage, UserMessage, user_prompt
from ostinato.ports import Model, RequestMessage, ToolSchema
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.simple import (
    TOOL_REGISTRY,
    ConversationManager,
    LoopResult,
    Parts,
    Surroundings,
    agentic_loop,
    build_tool,
    count_tool_calls,
    execute_all_tools,
    get_tool_schemas,
    stream_query,
    to_anthropic_tools,
)
from ostinato.testing import Fails, Gate, Reply, ScriptedModel, call, fake_tool, raises, say, waits_at
from ostinato.tool import Tool

PROMPT = user_prompt("p", "go")


def parts(model: ScriptedModel, *tools: Tool, folder: Path | None = None) -> Parts:
    async def yes(_asked: PermissionAsked) -> Allow:
        await anyio.lowlevel.checkpoint()
        return Allow()

    where = folder or Path.cwd()
    around = Surroundings(workspace=LocalWorkspace(where, (where,)), can_use_tool=yes)
    return Parts(model=model, registry={tool.name: tool for tool in tools}, surroundings=around)


async def test_a_plain_answer_completes_after_one_turn_and_counts_its_tokens():
    heard: list[str] = []
    result = await agentic_loop(
        [PROMPT],
        "Be brief.",
        on_text=heard.append,
        parts=parts(ScriptedModel(Reply(say("hello there"), usage=Usage(10, 3, 5, 0)))),
    )
    assert (result.reason, result.turn_count) == ("completed", 1)
    assert (result.total_input_tokens, result.total_output_tokens) == (15, 3)
    assert "".join(heard) == "hello there"


async def test_the_callbacks_see_each_tool_start_and_end():
    seen: list[tuple[str, str]] = []

    def start(name: str, arguments: Mapping[str, Any]) -> None:
        seen.append(("start", f"{name} {arguments['n']}"))

    def end(name: str, result: ToolResult) -> None:
        seen.append(("end", f"{name} {result.content}"))

    model = ScriptedModel(Reply(call("Look", "t1", n=1)), Reply(say("done")))
    result = await agentic_loop(
        [PROMPT], on_tool_start=start, on_tool_end=end, parts=parts(model, fake_tool("Look"))
    )
    assert seen == [("start", "Look 1"), ("end", "Look ok")]
    assert count_tool_calls(result.final_messages) == 1


async def test_max_turns_counts_model_calls_and_leaves_no_call_open():
    model = ScriptedModel(script=lambda _request, number: Reply(call("Look", f"t{number}")))
    result = await agentic_loop([PROMPT], max_turns=2, parts=parts(model, fake_tool("Look")))
    assert (result.reason, result.turn_count) == ("max_turns", 2)
    assert len(model.requests) == 2


async def test_a_failed_call_is_an_error_and_a_failed_tool_is_not():
    failing = ScriptedModel(Fails(ModelError("down", kind="server")))
    assert (await agentic_loop([PROMPT], parts=parts(failing))).reason == "error"
    model = ScriptedModel(Reply(call("Bad", "t1")), Reply(say("I see")))
    result = await agentic_loop([PROMPT], parts=parts(model, fake_tool("Bad", raises(ValueError("no")))))
    assert result.reason == "completed"


async def test_an_abort_while_a_tool_runs_answers_its_call():
    gate, signal = Gate(), AbortSignal()
    model = ScriptedModel(Reply(call("Wait", "t1")))

    async def stop() -> None:
        await gate.reached()
        signal.abort("user")

    ended: list[LoopResult] = []

    async def play() -> None:
        used = parts(model, fake_tool("Wait", waits_at(gate)))
        ended.append(await agentic_loop([PROMPT], signal=signal, parts=used))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        tasks.start_soon(play)
    (result,) = ended
    assert result.reason == "aborted"
    last = result.final_messages[-1]
    assert isinstance(last, UserMessage)
    assert isinstance(last.content[0], ToolResult)
    assert last.content[0].is_error


async def test_all_calls_of_a_reply_overlap_and_their_results_keep_their_order():
    first = Gate()

    async def opens(_input: object, _context: object) -> None:
        first.open()

    used = parts(ScriptedModel(), fake_tool("Waits", waits_at(first)), fake_tool("Opens", opens))
    blocks = [ToolUse("t1", "Waits", {}), ToolUse("t2", "Opens", {}), ToolUse("t3", "Nothing", {})]
    results = await execute_all_tools(blocks, registry=used.registry, surroundings=used.surroundings)
    assert [(r.tool_use_id, r.is_error) for r in results] == [("t1", False), ("t2", False), ("t3", True)]


async def test_the_loop_only_schedules_the_parts_it_is_given():
    used: list[str] = []

    class Recording(ConversationManager):
        def add_assistant(self, model: str, blocks: Sequence[Any]) -> None:
            used.append("conversation")
            super().add_assistant(model, blocks)

    async def recording(
        messages: Sequence[RequestMessage],
        system_prompt: str | None = None,
        tools: Sequence[ToolSchema] = (),
        *,
        model: Model | None = None,
    ) -> AsyncIterator[AnyModelEvent]:
        used.append("stream")
        async for event in stream_query(messages, system_prompt, tools, model=model):
            yield event

    model = ScriptedModel(Reply(say("hi")))
    given = Parts(model=model, registry={}, stream=recording, conversation=Recording([PROMPT]))
    assert (await agentic_loop([], parts=given)).reason == "completed"
    assert used == ["stream", "conversation"]


def test_the_schemas_are_those_of_the_registered_tools():
    assert [schema.name for schema in get_tool_schemas()] == list(TOOL_REGISTRY)
    first = to_anthropic_tools()[0]
    assert set(first) == {"name", "description", "input_schema"}
    assert first["input_schema"]["type"] == "object"


def test_a_tool_from_its_parts_gets_careful_defaults():
    async def nothing(_input: Mapping[str, Any], _context: object) -> str:
        return ""

    tool = build_tool("Thing", description="d", input_schema={"type": "object"}, call=nothing)
    assert tool.is_read_only({}) is False
    assert tool.access({}, LocalWorkspace(Path.cwd(), (Path.cwd(),))).exclusive


# ------------------------------------------------------------------ the two worked examples


async def test_listing_all_todos_over_several_tools(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "login.py").write_text("def login():\n    pass  # TODO: check the password\n")
    (tmp_path / "src" / "other.py").write_text("x = 1\n")
    model = ScriptedModel(
        Reply(say("I search."), call("Grep", "t1", pattern="TODO", path="src")),
        Reply(say("I look."), call("Read", "t2", file_path="src/login.py")),
        Reply(say("src/login.py:2 TODO: check the password")),
    )
    used = Parts(model=model, surroundings=Surroundings(workspace=LocalWorkspace(tmp_path, (tmp_path,))))
    result = await agentic_loop([user_prompt("p", "find all open TODOs")], parts=used)
    assert (result.reason, result.turn_count, count_tool_calls(result.final_messages)) == ("completed", 3, 2)
    found, read = (request.messages[-1].content[0] for request in model.requests[1:])
    assert isinstance(found, ToolResult)
    assert isinstance(read, ToolResult)
    assert "login.py" in str(found.content)
    assert "check the password" in str(read.content)


async def test_one_reply_with_two_reads_and_a_command_is_answered_in_one_message(tmp_path: Path):
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "b.txt").write_text("beta\n")
    model = ScriptedModel(
        Reply(
            say("I read both."),
            call("Read", "t1", file_path="a.txt"),
            call("Read", "t2", file_path="b.txt"),
            call("Bash", "t3", command="ls"),
        ),
        Reply(say("done")),
    )
    used = Parts(model=model, surroundings=Surroundings(workspace=LocalWorkspace(tmp_path, (tmp_path,))))
    result = await agentic_loop([PROMPT], parts=used)
    answers = [block for block in model.requests[1].messages[-1].content if isinstance(block, ToolResult)]
    assert [(a.tool_use_id, a.is_error) for a in answers] == [("t1", False), ("t2", False), ("t3", False)]
    assert "alpha" in str(answers[0].content)
    assert "a.txt" in str(answers[2].content)
    assert result.reason == "completed"


async def test_a_tool_that_fails_shows_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    """Also one without the form of a key: what is said goes to the model."""
    monkeypatch.setenv("DB_PASSWORD", "correct horse battery")
    registry = {"Look": fake_tool("Look", raises(RuntimeError("cannot log in with correct horse battery")))}
    (result,) = await execute_all_tools(
        [call("Look", "t1")], registry=registry, surroundings=parts(ScriptedModel()).surroundings
    )
    assert result.is_error
    assert "horse" not in str(result.content)
    assert "cannot log in" in str(result.content)


async def test_nobody_is_asked_about_a_call_that_cannot_succeed_unless_another_may_change_that(
    tmp_path: Path,
):
    (tmp_path / "a.txt").write_text("old")
    asked: list[str] = []

    async def yes(question: PermissionAsked) -> Allow:
        asked.append(question.tool_use_id)
        await anyio.lowlevel.checkpoint()
        return Allow()

    around = Surroundings(workspace=LocalWorkspace(tmp_path, (tmp_path,)), can_use_tool=yes)
    edit = call("Edit", "t1", file_path="a.txt", old_string="old", new_string="new")
    (alone,) = await execute_all_tools([edit], surroundings=around)
    assert (alone.is_error, "Read it first" in str(alone.content), asked) == (True, True, [])
    await execute_all_tools([edit, call("Read", "t2", file_path="a.txt")], surroundings=around)
    assert asked == ["t1"]
