"""The loop of the teaching interface: ask the model, run the tools, feed the results back, until it asks for none.

It only schedules: registry, stream and conversation are parts it is given.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol

import msgspec
from msgspec.structs import replace

from ostinato.errors import OstinatoError
from ostinato.events import AnyModelEvent, BlockStop, MessageStop, TextDelta
from ostinato.invariants import missing_tool_results
from ostinato.loop.abort import AbortSignal
from ostinato.loop.abortable import unless_aborted
from ostinato.messages import NO_USAGE, AssistantBlock, Message, ToolResult, ToolUse, Usage
from ostinato.ports import Model, RequestMessage, ToolSchema
from ostinato.simple.conversation import ConversationManager
from ostinato.simple.execution import OnToolEnd, OnToolStart, Surroundings, execute_all_tools
from ostinato.simple.registry import TOOL_REGISTRY, get_tool_schemas
from ostinato.simple.stream import model_from_key, stream_query
from ostinato.tool import Tool

LoopReason = Literal["completed", "max_turns", "error", "aborted"]
INTERRUPTED = "The run was interrupted before this call was answered."


class LoopResult(msgspec.Struct, frozen=True):
    """How the loop ended, the conversation it leaves, and what it cost. `error` says why if the reason is `error`."""

    reason: LoopReason
    final_messages: list[Message]
    turn_count: int
    total_input_tokens: int
    total_output_tokens: int
    error: str = ""


class StreamQuery(Protocol):
    """What `stream_query` is; tests pass a recording one."""

    def __call__(
        self,
        messages: Sequence[RequestMessage],
        system_prompt: str | None = None,
        tools: Sequence[ToolSchema] = (),
        *,
        model: Model | None = None,
    ) -> AsyncIterator[AnyModelEvent]: ...


class Parts(msgspec.Struct, frozen=True):
    """What the loop schedules; every part can be another one, for tests or for teaching."""

    model: Model | None = None
    registry: Mapping[str, Tool] = msgspec.field(default_factory=lambda: TOOL_REGISTRY)
    stream: StreamQuery = stream_query
    conversation: ConversationManager | None = None
    surroundings: Surroundings = msgspec.field(default_factory=Surroundings)


class _Reply(msgspec.Struct):
    """One reply, gathered. `needs_follow_up` is set by a completed call and by nothing else."""

    blocks: list[AssistantBlock] = msgspec.field(default_factory=list[AssistantBlock])
    calls: list[ToolUse] = msgspec.field(default_factory=list[ToolUse])
    needs_follow_up: bool = False
    usage: Usage = NO_USAGE


async def agentic_loop(
    initial_messages: Iterable[Message],
    system_prompt: str | None = None,
    max_turns: int | None = None,
    *,
    on_text: Callable[[str], None] | None = None,
    on_tool_start: OnToolStart | None = None,
    on_tool_end: OnToolEnd | None = None,
    signal: AbortSignal | None = None,
    parts: Parts | None = None,
) -> LoopResult:
    """Run until the model asks for no tool, `max_turns` model calls were made, an error, or an abort."""
    used = parts or Parts()
    abort = signal or AbortSignal()
    around = replace(used.surroundings, signal=abort)
    talk = used.conversation or ConversationManager(initial_messages)
    model = used.model or model_from_key()
    turn_count, usage, error = 0, NO_USAGE, ""
    reason: LoopReason = "max_turns"
    while abort.reason is None and (max_turns is None or turn_count < max_turns):
        turn_count += 1
        reply = _Reply()
        try:
            tools = get_tool_schemas(used.registry)
            events = used.stream(talk.api_messages(model.facts), system_prompt, tools, model=model)
            await unless_aborted(abort, partial(_gather, events, reply, on_text), otherwise=None)
        except OstinatoError as failed:
            reason, error = "error", str(failed)
        usage = usage.plus(reply.usage)
        if reply.blocks:
            talk.add_assistant(model.facts.id, reply.blocks)
        if error or abort.reason is not None or not reply.needs_follow_up:
            reason = reason if error else "completed"
            break
        run = partial(execute_all_tools, reply.calls, on_tool_start, on_tool_end)
        none: list[ToolResult] = []
        execute = partial(run, registry=used.registry, surroundings=around)
        talk.add_tool_results(await unless_aborted(abort, execute, otherwise=none))
    talk.add_tool_results(missing_tool_results(talk.messages, INTERRUPTED))
    ended: LoopReason = "aborted" if abort.reason is not None else reason
    tokens_in = usage.context_tokens - usage.output_tokens
    return LoopResult(ended, talk.messages, turn_count, tokens_in, usage.output_tokens, error)


async def _gather(
    events: AsyncIterator[AnyModelEvent], reply: _Reply, on_text: Callable[[str], None] | None
) -> None:
    async for event in events:
        match event:
            case TextDelta():
                if on_text:
                    on_text(event.text)
            case BlockStop():
                if isinstance(event.block, ToolUse) and event.block in reply.calls:
                    continue  # the same call, sent twice
                reply.blocks.append(event.block)
                if isinstance(event.block, ToolUse):
                    reply.calls.append(event.block)
                    reply.needs_follow_up = True
            case MessageStop():
                reply.usage = event.usage
            case _:
                pass
