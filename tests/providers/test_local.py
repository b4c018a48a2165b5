"""A local reply is an ordinary stream: whole actions become calls, cut ones output limits, and leaving it ends the inference."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from ostinato.errors import LocalModelError, ModelError
from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    TextDelta,
)
from ostinato.messages import Text, ToolUse, Usage
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.providers.local import (
    BRIDGE_CHUNKS,
    LocalModel,
    local_facts,
    local_model_file,
    open_local_model,
)
from ostinato.providers.local_runtime import Generator, LoadedModels

TOOL = ToolSchema("Bash", "Runs.", {"properties": {"command": {"type": "string"}}, "required": ["command"]})
REPLY_ID = "chatcmpl-abc"


def chunk(text: str = "", finish: str | None = None, usage: dict[str, Any] | None = None) -> str:
    choices = [] if usage else [{"index": 0, "finish_reason": finish, "delta": {"content": text or None}}]
    return json.dumps({"id": REPLY_ID, "choices": choices} | ({"usage": usage} if usage else {}))


def reply(text: str, finish: str = "stop", *, tokens: int = 30) -> list[str]:
    """The runtime's chunks for `text`, three characters each."""
    usage = {"prompt_tokens": 20, "completion_tokens": tokens, "prompt_tokens_details": {"cached_tokens": 15}}
    parts = [text[at : at + 3] for at in range(0, len(text), 3)]
    return [chunk(), *(chunk(part) for part in parts), chunk(finish=finish), chunk(usage=usage)]


class ScriptedRuntime:
    """Plays chunks as the runtime does, on the caller's thread; stops when the callback says so."""

    def __init__(self, chunks: Sequence[str], *, endless: bool = False) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.carried = 0
        self.ended = threading.Event()
        self._chunks = chunks
        self._endless = endless

    def handle_chat_completions(self, request: str, on_chunk: Callable[[str], bool], /) -> object:
        self.bodies.append(json.loads(request))
        try:
            for item in self._chunks:
                self.carried += 1
                if on_chunk(item):
                    return None
            while self._endless and not on_chunk(chunk("x")):
                self.carried += 1
        finally:
            self.ended.set()
        return None


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF....")
    return path


def model_of(runtime: Generator, path: Path) -> LocalModel:
    return LocalModel(local_facts("local"), path, LoadedModels(lambda _path, _tokens: runtime))


def request(*, tools: tuple[ToolSchema, ...] = (TOOL,), max_output_tokens: int = 500) -> ModelRequest:
    message = RequestMessage("user", (Text("go"),))
    return ModelRequest(
        "local", (), (message,), tools, max_output_tokens, QuerySource("main"), QueryTracking("c")
    )


async def read(model: LocalModel, asked: ModelRequest) -> list[AnyModelEvent]:
    async with model.stream(asked) as batches:
        return [event async for batch in batches for event in batch]


async def test_an_action_becomes_a_streamed_tool_call(gguf: Path) -> None:
    events = await read(
        model_of(ScriptedRuntime(reply('{"tool": "Bash", "command": "ls"}')), gguf), request()
    )
    deltas = [event.partial_json for event in events if isinstance(event, InputJsonDelta)]
    assert len(deltas) > 3
    assert json.loads("".join(deltas)) == {"command": "ls"}
    assert [event for event in events if not isinstance(event, InputJsonDelta)] == [
        MessageStart(REPLY_ID, "local"),
        BlockStart(0, "tool_use", "call_abc", "Bash"),
        BlockStop(0, ToolUse("call_abc", "Bash", {"command": "ls"})),
        MessageStop("tool_use", Usage(5, 30, 15), "stop"),
    ]


async def test_done_becomes_streamed_text_and_the_end_of_the_turn(gguf: Path) -> None:
    events = await read(
        model_of(ScriptedRuntime(reply('{"tool": "done", "answer": "Three \\"files\\""}')), gguf), request()
    )
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == 'Three "files"'
    assert [event for event in events if not isinstance(event, TextDelta)] == [
        MessageStart(REPLY_ID, "local"),
        BlockStart(0, "text"),
        BlockStop(0, Text('Three "files"')),
        MessageStop("end_turn", Usage(5, 30, 15), "stop"),
    ]


async def test_without_tools_the_reply_is_plain_text_and_unconstrained(gguf: Path) -> None:
    runtime = ScriptedRuntime(reply('{"not": "an action"}'))
    events = await read(model_of(runtime, gguf), request(tools=()))
    assert events[-2:] == [
        BlockStop(0, Text('{"not": "an action"}')),
        MessageStop("end_turn", Usage(5, 30, 15), "stop"),
    ]
    assert "response_format" not in runtime.bodies[0]


@pytest.mark.parametrize(
    "cut", ['{"tool": "Bash", "command": "l', '{"tool": "Ba', "", '{"tool": "Bash", "command": "ls"']
)
async def test_a_cut_call_is_an_output_limit_and_never_a_call(gguf: Path, cut: str) -> None:
    events = await read(model_of(ScriptedRuntime(reply(cut, "length")), gguf), request())
    assert events[-1] == MessageStop("max_tokens", Usage(5, 30, 15), "length")
    assert not [event for event in events if isinstance(event, BlockStop)]


async def test_a_cut_answer_keeps_what_came(gguf: Path) -> None:
    events = await read(
        model_of(ScriptedRuntime(reply('{"tool": "done", "answer": "half an', "length")), gguf), request()
    )
    assert events[-2:] == [
        BlockStop(0, Text("half an")),
        MessageStop("max_tokens", Usage(5, 30, 15), "length"),
    ]


async def test_a_reply_cut_by_the_end_of_the_window_says_so(gguf: Path) -> None:
    events = await read(
        model_of(ScriptedRuntime(reply('{"tool": "B', "length", tokens=4076)), gguf), request()
    )
    assert events[-1] == MessageStop("model_context_window_exceeded", Usage(5, 4076, 15), "length")


async def test_the_request_is_greedy_seeded_capped_and_constrained(gguf: Path) -> None:
    runtime = ScriptedRuntime(reply('{"tool": "done", "answer": "x"}'))
    await read(model_of(runtime, gguf), request(max_output_tokens=32_000))
    body = runtime.bodies[0]
    assert (body["temperature"], body["max_tokens"], body["stream"]) == (0.0, 512, True)
    assert "seed" in body
    actions = body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [action["properties"]["tool"]["const"] for action in actions] == ["Bash", "done"]


async def test_a_prompt_beyond_the_window_asks_for_compaction(gguf: Path) -> None:
    error = {
        "error": {"code": 400, "message": "too many", "type": "exceed_context_size_error", "n_ctx": 4096}
    }
    with pytest.raises(ModelError) as caught:
        await read(model_of(ScriptedRuntime([json.dumps(error)]), gguf), request())
    assert (caught.value.kind, caught.value.recover) == ("prompt_too_long", "compact")


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        (['{"error": {"code": 500, "message": "broken", "type": "server_error"}}'], "server"),
        (['{"error": {"code": 400, "message": "bad", "type": "invalid_request_error"}}'], "invalid_request"),
        (reply('{"tool": "Bash"}')[:-1], "stream_cut"),
        ([], "stream_cut"),
        (reply("no action at all"), "malformed_response"),
    ],
)
async def test_every_failure_of_the_runtime_has_its_kind(gguf: Path, chunks: list[str], kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        await read(model_of(ScriptedRuntime(chunks), gguf), request())
    assert caught.value.kind == kind


async def test_a_model_that_cannot_be_loaded_is_a_model_error_with_the_way_out(tmp_path: Path) -> None:
    model = model_of(ScriptedRuntime([]), tmp_path / "missing.gguf")
    with pytest.raises(ModelError) as caught:
        await read(model, request())
    assert caught.value.kind == "not_found"
    assert "ostinato local pull" in caught.value.hint


async def test_leaving_the_stream_ends_the_inference_even_when_the_bridge_is_full(gguf: Path) -> None:
    runtime = ScriptedRuntime(reply('{"tool": "done", "answer": "')[:-2], endless=True)
    async with model_of(runtime, gguf).stream(request()) as batches:
        async for _ in batches:
            break
    with anyio.fail_after(5):
        await anyio.to_thread.run_sync(runtime.ended.wait)


async def test_cancelling_the_reader_ends_the_inference(gguf: Path) -> None:
    runtime = ScriptedRuntime(reply('{"tool": "done", "answer": "')[:-2], endless=True)
    with anyio.CancelScope() as scope:
        async with model_of(runtime, gguf).stream(request()) as batches:
            async for _ in batches:
                scope.cancel()
    assert scope.cancelled_caught
    with anyio.fail_after(5):
        await anyio.to_thread.run_sync(runtime.ended.wait)


async def test_a_slow_reader_holds_the_inference_within_the_bridge(gguf: Path) -> None:
    runtime = ScriptedRuntime(reply('{"tool": "done", "answer": "')[:-2], endless=True)
    async with model_of(runtime, gguf).stream(request()) as batches:
        read_batches = 0
        async for _ in batches:
            read_batches += 1
            # One batch empties the bridge, and one item may be in the inference's hand.
            assert runtime.carried <= (read_batches + 1) * (BRIDGE_CHUNKS + 1)
            if read_batches == 200:
                break


def test_a_loop_that_ends_around_an_open_stream_leaves_no_thread_behind(
    gguf: Path, anyio_backend: str
) -> None:
    """The reader's loop is gone before the inference notices: nobody may wait for an answer from it."""
    for _ in range(20):
        runtime = ScriptedRuntime(reply('{"tool": "done", "answer": "')[:-2], endless=True)

        async def leave_early(model: LocalModel) -> None:
            async with model.stream(request()) as batches:
                await anext(aiter(batches))

        anyio.run(leave_early, model_of(runtime, gguf), backend=anyio_backend)
        assert runtime.ended.wait(5)


async def test_one_file_is_loaded_once_however_many_models_use_it(gguf: Path) -> None:
    loads: list[Path] = []

    def load(path: Path, _tokens: int) -> Generator:
        loads.append(path)
        return ScriptedRuntime(reply('{"tool": "done", "answer": "x"}'))

    loaded = LoadedModels(load)
    first, second = (LocalModel(local_facts("local"), gguf, loaded) for _ in range(2))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, first, request())
        tasks.start_soon(read, second, request())
    assert loads == [gguf]
    loaded.close()
    await read(first, request())
    assert loads == [gguf, gguf]


def test_closing_does_not_wait_for_a_model_that_is_being_loaded(gguf: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load(_path: Path, _tokens: int) -> Generator:
        begun.set()
        assert go_on.wait(5)
        return ScriptedRuntime([])

    loaded = LoadedModels(load)
    loading = threading.Thread(target=loaded.get, args=(gguf, 1))
    loading.start()
    assert begun.wait(5)
    closing = threading.Thread(target=loaded.close)
    closing.start()
    closing.join(5)
    was_closed = not closing.is_alive()
    go_on.set()
    loading.join()
    closing.join()
    assert was_closed


def test_names_mean_files(tmp_path: Path) -> None:
    assert local_model_file("local", tmp_path, Path("/home/me")) == tmp_path / "qwen2.5-coder-1.5b.gguf"
    assert (
        local_model_file("local/smollm2-135m", tmp_path, Path("/home/me")) == tmp_path / "smollm2-135m.gguf"
    )
    assert local_model_file("local//data/x.gguf", tmp_path, Path("/home/me")) == Path("/data/x.gguf")
    assert local_model_file("local/x.gguf", tmp_path, Path("/home/me")) == Path("x.gguf")
    assert local_model_file("local/~/x.gguf", tmp_path, Path("/home/me")) == Path("/home/me/x.gguf")
    with pytest.raises(LocalModelError):
        local_model_file("local/unknown", tmp_path, None)


def test_opening_a_model_that_is_missing_or_no_model_says_so_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "prose.gguf").write_bytes(b"hello")
    loaded = LoadedModels(lambda _path, _tokens: ScriptedRuntime([]))
    for name in ("local", f"local/{tmp_path}/prose.gguf", f"local/{tmp_path}"):
        with pytest.raises(LocalModelError) as caught:
            open_local_model(name, models_folder=tmp_path, home=None, loaded=loaded)
        assert caught.value.hint
