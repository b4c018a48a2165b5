"""A real model that nobody here wrote, behind both HTTP wires: the protocol holds whatever it says.

The template beside this file has the model write its calls as fenced JSON, which the runtime's own server turns into
streamed calls on either endpoint. SmolLM2 hardly ever calls a tool; a 1.5B coding model does at once.
"""

import os
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from tests.thoroughness import IS_EXHAUSTIVE

import ostinato
from ostinato.engine.call_facts import is_read_only_shell
from ostinato.events import AssistantEvent, Event, RequestStart, ResponseUsage, Terminal, UserEvent
from ostinato.messages import ToolResult
from ostinato.providers.local_runtime import RUNTIME, import_runtime
from ostinato.tools.builtin import builtin_tools

TEMPLATE = Path(__file__).with_name("fenced_tools.jinja")
WINDOW_TOKENS = 4096
KEY = "a key for this machine only"

pytestmark = [pytest.mark.local_model, pytest.mark.timeout(600)]


@pytest.fixture(params=["asyncio", "trio"] if IS_EXHAUSTIVE else ["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """A model takes seconds: the usual run has one event loop here and the other one in tests/providers."""
    return str(request.param)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip(RUNTIME)
    named = os.environ.get("OSTINATO_TEST_MODEL")
    model = Path(named) if named else Path.home() / ".ostinato/models/smollm2-135m.gguf"
    if not model.exists():
        pytest.skip("no small model: name a file in OSTINATO_TEST_MODEL")
    server = _serve(import_runtime(), model)
    yield server.listening_address
    del server


def _serve(runtime: Any, model: Path) -> Any:
    parameters = runtime.CommonParams()
    parameters.model.path = str(model)
    parameters.n_ctx = WINDOW_TOKENS
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    parameters.chat_template = TEMPLATE.read_text()
    parameters.use_jinja = True
    parameters.ui = False
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [KEY]
    return runtime.Server(parameters)


def environment(wire: str, address: str) -> dict[str, str]:
    if wire == "anthropic":
        return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address}
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{address}/v1"}


async def events_of(wire: str, address: str, prompt: str, cwd: Path) -> list[Event]:
    bash = next(
        tool for tool in builtin_tools(is_read_only_command=is_read_only_shell) if tool.name == "Bash"
    )
    asked = ostinato.query(
        prompt,
        cwd=cwd,
        model=f"{wire}/real",
        tools=[bash],
        system_prompt="You work in a folder. Use the tool.",
        instructions=False,
        allowed_tools=["Bash(ls:*)"],
        max_turns=2,
        max_output_tokens=60,
        temperature=0.0,
        keep_session=False,
        environment={**environment(wire, address), "HOME": str(cwd), "PATH": os.environ["PATH"]},
    )
    async with aclosing(asked) as events:
        return [event async for event in events]


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_real_model_is_streamed_its_calls_are_answered_and_its_usage_is_known(
    wire: str, address: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    events = await events_of(wire, address, "List the files here with ls.", tmp_path)
    terminal = events[-1]
    assert isinstance(terminal, Terminal)
    assert terminal.reason in {"completed", "max_turns"}
    calls = [
        call.id for event in events if isinstance(event, AssistantEvent) for call in event.message.tool_uses
    ]
    results = [
        block.tool_use_id
        for event in events
        if isinstance(event, UserEvent)
        for block in event.message.content
        if isinstance(block, ToolResult)
    ]
    assert results == calls
    assert any(isinstance(event, RequestStart) for event in events)
    assert all(event.usage.output_tokens > 0 for event in events if isinstance(event, ResponseUsage))
    assert terminal.usage.output_tokens > 0


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_prompt_beyond_the_real_window_is_told_apart_from_other_errors(
    wire: str, address: str, tmp_path: Path
) -> None:
    events = await events_of(wire, address, "word " * (2 * WINDOW_TOKENS), tmp_path)
    terminal = events[-1]
    assert isinstance(terminal, Terminal)
    assert terminal.error_kind == "prompt_too_long"
