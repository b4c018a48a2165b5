"""A model in this process: each reply is one schema-constrained action, told to the loop as an ordinary stream.

Inference blocks, so it runs in a thread of its own; chunks cross over a bounded bridge, and leaving the stream ends the
inference at its next chunk without waiting for it. A cut action is an output limit, never half a call.
"""

import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostinato.errors import LocalModelError, ModelError
from ostinato.events import AnyModelEvent
from ostinato.home_folder import expand_home
from ostinato.ports import ModelFacts, ModelRequest, Prices
from ostinato.providers.local_actions import chat_messages
from ostinato.providers.local_bridge import INFERENCE_THREAD, Bridge, Item
from ostinato.providers.local_menu import action_schema
from ostinato.providers.local_models import find_local_model, model_path
from ostinato.providers.local_reply import Reply
from ostinato.providers.local_runtime import LoadedModels, check_file, check_runtime

CONTEXT_TOKENS = 4096
MAX_OUTPUT_TOKENS = 512
"""An action takes 20 to 60 tokens, a small file a few hundred; more is a model that runs in circles at ten tokens a second."""

MAX_RESULT_CHARACTERS = 1500
TOOL_NAMES = ("Bash", "Read", "Write", "Edit")
"""The subset these models were measured with; `done` is the fifth. With Grep beside them they search instead of reading, and
the shell has a grep they know.
"""

BRIDGE_CHUNKS = 16
SEED = 7


def local_facts(model_id: str, *, context_tokens: int = CONTEXT_TOKENS) -> ModelFacts:
    """What the engine should know of any local model: small window, four tools, short results, a forgiving Edit."""
    return ModelFacts(
        provider="local",
        id=model_id,
        context_window=context_tokens,
        max_output_tokens=min(MAX_OUTPUT_TOKENS, context_tokens // 4),
        prices=Prices(0.0, 0.0),
        tool_names=TOOL_NAMES,
        max_result_characters=MAX_RESULT_CHARACTERS,
        forgiving_edit=True,
        short_prompt=True,
    )


def local_model_file(name: str, models_folder: Path, home: Path | None) -> Path:
    """The file that a model name means: `local`, `local/CATALOGUE-NAME` or `local/PATH.gguf` (`~` is `home`)."""
    rest = name.removeprefix("local").removeprefix("/")
    if rest.endswith(".gguf"):
        return expand_home(rest, home)
    return model_path(find_local_model(rest or "local"), models_folder)


def open_local_model(
    name: str,
    *,
    models_folder: Path,
    home: Path | None,
    loaded: LoadedModels,
    context_tokens: int = CONTEXT_TOKENS,
) -> "LocalModel":
    """The model called `name`, its file and runtime looked for but not loaded yet. Raises `LocalModelError`, and `UsageError` for
    a path that begins with another user's home."""
    path = local_model_file(name, models_folder, home)
    check_file(path)
    check_runtime()
    return LocalModel(local_facts(name, context_tokens=context_tokens), path, loaded)


class LocalModel:
    """The `Model` of one GGUF file. `loaded` is shared by all models of the process."""

    def __init__(self, facts: ModelFacts, path: Path, loaded: LoadedModels) -> None:
        self._facts = facts
        self._path = path
        self._loaded = loaded

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[Sequence[AnyModelEvent]]]:
        """One reply. Raises `ModelError` while it is read, `not_found` when the model cannot be loaded."""
        bridge = Bridge(BRIDGE_CHUNKS)
        body = json.dumps(request_body(request, self._facts))
        threading.Thread(target=self._infer, args=(body, bridge), name=INFERENCE_THREAD).start()
        try:
            yield _Batches(bridge, Reply(self._facts, constrained=bool(request.tools)))
        finally:
            bridge.leave()

    def _infer(self, body: str, bridge: Bridge) -> None:
        try:
            model = self._loaded.get(self._path, self._facts.context_window)
            if not bridge.is_left:
                model.handle_chat_completions(body, bridge.carry)
        except (LocalModelError, RuntimeError) as error:
            bridge.carry(error)
        finally:
            bridge.end()


@dataclass(slots=True)
class _Batches:
    """The reply as batches of events. Not a generator: a reader may leave it anywhere without closing it."""

    bridge: Bridge
    reply: Reply

    def __aiter__(self) -> AsyncIterator[Sequence[AnyModelEvent]]:
        return self

    async def __anext__(self) -> Sequence[AnyModelEvent]:
        items = await self.bridge.receive()
        if not items and self.reply.is_stopped:
            raise StopAsyncIteration
        if not items:
            raise ModelError(
                "the local model stopped in the middle of its reply", kind="stream_cut", retry=True
            )
        return tuple(event for item in items for event in self._events(item))

    def _events(self, item: Item) -> Sequence[AnyModelEvent]:
        match item:
            case str():
                return self.reply.take(item)
            case LocalModelError():
                raise ModelError(item.message, kind="not_found", hint=item.hint) from item
            case _:
                raise ModelError(f"the local runtime failed: {item}", kind="server") from item


def request_body(request: ModelRequest, facts: ModelFacts) -> dict[str, Any]:
    """What the runtime is asked: greedy, a fixed seed, one action of the schema when there are tools."""
    limit = facts.max_result_characters or MAX_RESULT_CHARACTERS
    body: dict[str, Any] = {
        "messages": chat_messages(request, max_result_characters=limit),
        "max_tokens": min(request.max_output_tokens, facts.max_output_tokens),
        "temperature": request.temperature or 0.0,
        "seed": SEED,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # chunks during the prompt, so that an abort is heard there too
        "cache_prompt": True,
    }
    if request.tools:
        schema = {"name": "action", "strict": True, "schema": action_schema(request.tools, request.messages)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body
