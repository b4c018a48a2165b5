"""With a real small model: the protocol holds whatever it says. Answers are never asserted."""

import os
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.thoroughness import IS_EXHAUSTIVE

import ostinato
from ostinato.engine.prompt import SHORT_SYSTEM_PROMPT
from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    AssistantEvent,
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    RequestStart,
    StreamEvent,
    Terminal,
    TextDelta,
    UserEvent,
)
from ostinato.messages import Text, ToolResult, ToolUse
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.providers.local import TOOL_NAMES, LocalModel, open_local_model
from ostinato.providers.local_runtime import RUNTIME, LoadedModels, load_with_xllamacpp
from ostinato.state import QueryConfig
from ostinato.tool import Tool, ToolContext, build_tool
from ostinato.tools.builtin import builtin_tools

MODEL_VARIABLE = "OSTINATO_TEST_MODEL"
"""Names the GGUF file of SmolLM2-135M (or another small model)."""

LEGAL = {("Bash", frozenset({"command"})), ("Read", frozenset({"file_path"}))}

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(300)]


@pytest.fixture(params=["trio", "asyncio"] if IS_EXHAUSTIVE else ["trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A model takes seconds: the usual run has one event loop here and the other one in tests/acceptance."""
    return str(request.param)


BASH = ToolSchema("Bash", "Runs.", {"properties": {"command": {"type": "string"}}, "required": ["command"]})
READ = ToolSchema(
    "Read", "Reads.", {"properties": {"file_path": {"type": "string"}}, "required": ["file_path"]}
)


TOKENS_OF_AN_X = 10
"""The task itself: one token, the marks of its turn, and those that open the reply."""


def offered() -> tuple[ToolSchema, ...]:
    """The tools that a local model is given."""
    return tuple(
        ToolSchema(tool.name, tool.description, tool.input_schema, tool.flat_parameters)
        for tool in builtin_tools(is_read_only_command=lambda _command: False)
        if tool.name in TOOL_NAMES
    )


@pytest.fixture(scope="module")
def model() -> Iterator[LocalModel]:
    pytest.importorskip(RUNTIME)
    path = Path(os.environ.get(MODEL_VARIABLE) or Path.home() / ".ostinato/models/smollm2-135m.gguf")
    if not path.exists():
        pytest.skip(f"no small model: `ostinato local pull smollm2-135m`, or name a file in {MODEL_VARIABLE}")
    loaded = LoadedModels(load_with_xllamacpp)
    yield open_local_model(
        f"local/{path}", models_folder=path.parent, home=None, loaded=loaded, context_tokens=1024
    )
    loaded.close()


def request(
    text: str,
    *,
    tools: tuple[ToolSchema, ...] = (BASH, READ),
    max_output_tokens: int = 200,
    system: tuple[str, ...] = (),
) -> ModelRequest:
    message = RequestMessage("user", (Text(text),))
    return ModelRequest(
        "local", system, (message,), tools, max_output_tokens, QuerySource("main"), QueryTracking("c")
    )


async def read(model: LocalModel, asked: ModelRequest) -> list[AnyModelEvent]:
    async with model.stream(asked) as batches:
        return [event async for batch in batches for event in batch]


async def test_a_reply_is_one_legal_action_in_stream_order(model: LocalModel) -> None:
    events = await read(model, request("How many Python files are here?"))
    assert isinstance(events[0], MessageStart)
    stop = events[-1]
    assert isinstance(stop, MessageStop)
    assert stop.usage.output_tokens > 0
    assert stop.usage.input_tokens + stop.usage.cache_read_input_tokens > 50
    blocks = [event.block for event in events if isinstance(event, BlockStop)]
    for block in blocks:
        if isinstance(block, ToolUse):
            assert (block.name, frozenset(block.input)) in LEGAL
    expected = {"tool_use": [ToolUse], "end_turn": [Text]}.get(stop.stop_reason)
    if expected is not None:
        assert [type(block) for block in blocks] == expected
        assert sum(isinstance(event, BlockStart) for event in events) == 1


async def test_a_cut_call_is_an_output_limit_and_no_call(model: LocalModel) -> None:
    events = await read(model, request("List the files.", max_output_tokens=3))
    stop = events[-1]
    assert isinstance(stop, MessageStop)
    assert stop.stop_reason == "max_tokens"
    assert not [event for event in events if isinstance(event, BlockStop)]


async def test_a_prompt_beyond_the_window_asks_for_compaction(model: LocalModel) -> None:
    with pytest.raises(ModelError) as caught:
        await read(model, request("word " * 3000))
    assert (caught.value.kind, caught.value.recover) == ("prompt_too_long", "compact")


async def test_leaving_a_reply_frees_the_slot_for_the_next(model: LocalModel) -> None:
    with anyio.fail_after(60):
        for _ in range(2):
            async with model.stream(
                request("Tell a long story.", tools=(), max_output_tokens=256)
            ) as batches:
                async for batch in batches:
                    if any(isinstance(event, BlockStart) for event in batch):
                        break
        events = await read(model, request("Say hi.", tools=(), max_output_tokens=2))
    assert isinstance(events[-1], MessageStop)


async def test_the_next_request_reads_the_shared_prefix_from_the_cache(model: LocalModel) -> None:
    await read(model, request("Look around.", max_output_tokens=3))
    stop = (await read(model, request("Look around again.", max_output_tokens=3)))[-1]
    assert isinstance(stop, MessageStop)
    assert stop.usage.cache_read_input_tokens > stop.usage.input_tokens


async def test_everything_before_the_task_takes_under_400_tokens_of_its_own_tokenizer(
    model: LocalModel,
) -> None:
    """System text, tool names and worked examples, with the marks of the chat template, as the engine sends them."""
    asked = request("x", tools=offered(), max_output_tokens=1, system=(SHORT_SYSTEM_PROMPT,))
    stop = (await read(model, asked))[-1]
    assert isinstance(stop, MessageStop)
    tokens = stop.usage.input_tokens + stop.usage.cache_read_input_tokens
    assert 200 < tokens - TOKENS_OF_AN_X < 400


# ------------------------------------------------------------------------------------------------ the whole loop


async def list_files(tool_input: Mapping[str, Any], _context: ToolContext) -> str:
    return "a.py\nb.py"


async def show_file(tool_input: Mapping[str, Any], _context: ToolContext) -> str:
    return "x = 1"


def harmless_tools() -> tuple[Tool, ...]:
    """A small model calls anything: what these calls say is never done."""
    return (
        build_tool(
            "Bash",
            description="Runs.",
            input_schema={**BASH.input_schema, "type": "object"},
            call=list_files,
            is_read_only=True,
        ),
        build_tool(
            "Read",
            description="Reads.",
            input_schema={**READ.input_schema, "type": "object"},
            call=show_file,
            is_read_only=True,
        ),
    )


async def ask(
    model: LocalModel,
    folder: Path,
    prompt: str,
    *,
    max_turns: int | None = None,
    max_output_tokens: int | None = None,
) -> list[Event]:
    asked = ostinato.query(
        prompt,
        model=model,
        cwd=folder,
        tools=harmless_tools(),
        permission_mode="bypassPermissions",
        keep_session=False,
        temperature=0,
        max_turns=max_turns,
        max_output_tokens=max_output_tokens,
        config=QueryConfig(normalise_strictly=True),
    )
    async with aclosing(asked):
        return [event async for event in asked]


def terminal_of(events: list[Event]) -> Terminal:
    terminal = events[-1]
    assert isinstance(terminal, Terminal)
    return terminal


def calls_and_results(events: list[Event]) -> tuple[list[str], list[str]]:
    calls = [
        block.id
        for event in events
        if isinstance(event, AssistantEvent)
        for block in event.message.content
        if isinstance(block, ToolUse)
    ]
    results = [
        block.tool_use_id
        for event in events
        if isinstance(event, UserEvent)
        for block in event.message.content
        if isinstance(block, ToolResult)
    ]
    return calls, results


async def test_each_call_of_a_query_has_its_result_and_the_loop_stops_at_max_turns(
    model: LocalModel, tmp_path: Path
) -> None:
    events = await ask(model, tmp_path, "Count the lines of every file here.", max_turns=2)
    calls, results = calls_and_results(events)
    assert calls == results
    requests = sum(isinstance(event, RequestStart) for event in events)
    assert requests <= 2
    assert terminal_of(events).reason == ("max_turns" if len(calls) == 2 else "completed")


async def test_a_query_that_is_left_in_its_reply_frees_the_model_for_the_next(
    model: LocalModel, tmp_path: Path
) -> None:
    with anyio.fail_after(60):
        async with aclosing(
            ostinato.query("Tell a long story.", model=model, cwd=tmp_path, tools=(), keep_session=False)
        ) as events:
            async for event in events:
                if isinstance(event, StreamEvent) and isinstance(event.event, TextDelta):
                    break
        following = terminal_of(await ask(model, tmp_path, "Say hi.", max_turns=1))
    assert following.reason in {"completed", "max_turns"}


async def test_a_prompt_beyond_the_window_ends_the_query_as_too_long(
    model: LocalModel, tmp_path: Path
) -> None:
    assert terminal_of(await ask(model, tmp_path, "word " * 6000)).reason == "prompt_too_long"


async def test_a_reply_that_is_cut_is_told_and_leaves_no_call(model: LocalModel, tmp_path: Path) -> None:
    events = await ask(model, tmp_path, "List the files.", max_output_tokens=3, max_turns=2)
    stops = [
        event.event
        for event in events
        if isinstance(event, StreamEvent) and isinstance(event.event, MessageStop)
    ]
    assert "max_tokens" in [stop.stop_reason for stop in stops]
    assert calls_and_results(events) == ([], [])
    notes = [event for event in events if isinstance(event, AssistantEvent) and event.message.is_error]
    assert len(notes) == 1
    assert (terminal_of(events).reason, terminal_of(events).error_kind) == ("model_error", "empty_response")
