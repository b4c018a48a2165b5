"""The floor of a fleet's queries: the loop that one would write by hand on the same libraries, for the same model and the same
tool. What it does, nothing of it in reserve:

- a session with an id of its own; if it is kept, a file for it with as many lines as ostinato's has, each for the same thing: beginning,
  prompt, each block of a reply, each request and what it used, each call allowed, started, answered and finished, each further turn,
  end. Each line is numbered, timed and sealed, each message names the one before it; all are written before anything is shown, and
  safe from power loss at the end (the file, and its name in the folder);
- the events that a consumer of the engine gets, in batches as they come, over a channel that a slow consumer holds up;
- the request made of what was said so far; a deadline around each model call; each tool in a task of its own, with a deadline.

It has no permissions (the line says that the call was allowed), checks neither input nor history, knows no abort, no recovery, no
settings, instructions, budgets or summaries, and never looks whether its file is still the one that it wrote.
"""

import os
import uuid
import zlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec

from ostinato.events import BlockStop, MessageStop
from ostinato.messages import AssistantBlock, Text, ToolResult, ToolUse
from ostinato.ports import ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.testing import ScriptedModel
from ostinato.tool import Tool

CALL_S, TOOL_S = 600, 1_800
WAITING_BATCHES = 16

Emit = Callable[[Sequence[object]], Awaitable[None]]


class Session:
    """`folder` None: nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.id = str(uuid.uuid4())
        self._folder = folder
        self._number = 0
        self._last_message: str | None = None
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self._file = None if folder is None else os.open(folder / f"{self.id}.jsonl", flags, 0o600)
        self.keep("started")

    def keep(self, kind: str, **facts: object) -> None:
        """A fact."""
        if self._file is not None:
            self._number += 1
            line = {
                "type": kind,
                "number": self._number,
                "session": self.id,
                "time": datetime.now(UTC),
                "cwd": str(self._folder),
                **facts,
            }
            body = msgspec.json.encode(line)[:-1]
            os.write(self._file, b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body)))

    def keep_message(self, message: object) -> None:
        if self._file is not None:
            before, self._last_message = self._last_message, str(uuid.uuid4())
            self.keep("message", uuid=self._last_message, parent=before, message=message)

    async def close(self) -> None:
        if self._file is not None:
            await anyio.to_thread.run_sync(self._make_safe, self._file)
            os.close(self._file)

    def _make_safe(self, file: int) -> None:
        os.fdatasync(file)
        folder = os.open(str(self._folder), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


async def lean_query(model: ScriptedModel, tool: Tool, folder: Path | None) -> None:
    """The least that can be written: who reads the events is called by the loop. So nobody can walk away from it,
    or be slow, without holding up the reading of the model itself.
    """

    async def read(batch: Sequence[object]) -> None:
        for _event in batch:
            pass

    session = Session(folder)
    await _loop(session, model, tool, read)
    await session.close()


async def bare_query(model: ScriptedModel, tool: Tool, folder: Path | None) -> None:
    """One prompt, consumed to its end."""
    send, receive = anyio.create_memory_object_stream[Sequence[object]](WAITING_BATCHES)
    session = Session(folder)

    async def work() -> None:
        async with send:
            await _loop(session, model, tool, send.send)
            await session.close()
            await send.send([{"type": "terminal", "session": session.id}])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        async with receive:
            async for batch in receive:
                for _event in batch:
                    pass


async def _loop(session: Session, model: ScriptedModel, tool: Tool, emit: Emit) -> None:
    messages = [RequestMessage("user", (Text("go"),))]
    session.keep_message(messages[-1])
    while True:
        blocks = await _reply(session, model, _request(model, tool, messages), emit)
        messages.append(RequestMessage("assistant", tuple(blocks)))
        calls = [block for block in blocks if isinstance(block, ToolUse)]
        if not calls:
            session.keep("ended", reason="completed")
            return
        results: list[ToolResult | None] = [None] * len(calls)
        async with anyio.create_task_group() as tasks:
            for index, call in enumerate(calls):
                tasks.start_soon(_called, session, tool, call, results, index, emit)
        messages.append(RequestMessage("user", tuple(result for result in results if result is not None)))
        session.keep("further", turn=len(messages) // 2 + 1)
        await emit([messages[-1]])


async def _reply(
    session: Session, model: ScriptedModel, request: ModelRequest, emit: Emit
) -> list[AssistantBlock]:
    blocks: list[AssistantBlock] = []
    await emit([{"type": "request_start", "model": request.model}])
    with anyio.fail_after(CALL_S):
        async with model.stream(request) as stream:
            async for batch in stream:
                for event in batch:
                    if isinstance(event, BlockStop):
                        blocks.append(event.block)
                        session.keep_message(event.block)
                    elif isinstance(event, MessageStop):
                        session.keep("request", model=request.model, outcome="ok")
                        session.keep("usage", usage=event.usage, stop_reason=event.stop_reason)
                await emit(batch)
    return blocks


async def _called(
    session: Session, tool: Tool, call: ToolUse, results: list[ToolResult | None], index: int, emit: Emit
) -> None:
    session.keep("allowed", call=call.id, tool=call.name)
    session.keep("tool_start", call=call.id, tool=call.name, input=call.input)
    await emit([{"type": "tool_start", "call": call.id}])
    context: Any = None  # the tool of this benchmark asks for nothing
    with anyio.fail_after(TOOL_S):
        outcome = await tool.call(call.input, context)
    text = outcome if isinstance(outcome, str) else outcome.content
    results[index] = result = ToolResult(call.id, text)
    session.keep_message(result)
    session.keep("tool_end", call=call.id, outcome="ok")
    await emit([{"type": "tool_end", "call": call.id}])


def _request(model: ScriptedModel, tool: Tool, messages: Sequence[RequestMessage]) -> ModelRequest:
    return ModelRequest(
        model=model.facts.id,
        system=("You are a helpful agent.",),
        messages=tuple(messages),
        tools=(ToolSchema(tool.name, tool.description, tool.input_schema),),
        max_output_tokens=32_000,
        source=QuerySource("sdk"),
        tracking=QueryTracking("floor"),
    )
