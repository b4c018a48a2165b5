"""The Anthropic Messages API as a `Model`: one streamed request, once, from the service itself or a server that speaks alike."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import msgspec

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
)
from ostinato.messages import (
    AssistantBlock,
    ProviderState,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from ostinato.ports import ModelFacts, ModelRequest
from ostinato.providers.address import endpoint_url
from ostinato.providers.anthropic_search import is_search, server_block
from ostinato.providers.anthropic_wire import (
    EVENT_DECODER,
    MESSAGE_DECODER,
    AnthropicBodies,
    WireBlock,
    WireDelta,
    WireEvent,
    WireUsage,
)
from ostinato.providers.calls import CallIds, legal_name
from ostinato.providers.exchange import HttpFailure, HttpSettings
from ostinato.providers.lenient_json import Unreadable, decode_event, encode, no_reply
from ostinato.providers.sse import ServerSentEvent
from ostinato.providers.stop_reasons import anthropic_stop_reason
from ostinato.providers.streaming import LazyClient, reply_cut, stream_reply

API_VERSION = "2023-06-01"

CALLS = frozenset({"tool_use", "server_block"})
"""Blocks that stream as JSON."""


class AnthropicModel:
    """`api_key` goes out as `x-api-key`, `auth_token` as a bearer token; without either, the server wants none."""

    def __init__(
        self,
        facts: ModelFacts,
        *,
        base_url: str,
        api_key: str = "",
        auth_token: str = "",
        settings: HttpSettings | None = None,
    ) -> None:
        self._facts = facts
        self._bodies = AnthropicBodies(facts)
        self._client = LazyClient(
            endpoint_url(base_url, "v1/messages", version_is_implied=True), settings or HttpSettings()
        )
        self._headers = {"content-type": "application/json", "anthropic-version": API_VERSION}
        if auth_token:
            self._headers["authorization"] = f"Bearer {auth_token}"
        elif api_key:
            self._headers["x-api-key"] = api_key

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[AnyModelEvent]]]:
        """Send `request` once. What travels besides it (`source`, `tracking`) stays here: the wire has no field for it."""
        return stream_reply(
            self._client,
            self._headers,
            self._bodies.body(request),
            decoder=AnthropicReply(self._facts, CallIds(request.messages)),
            classify=self._classify,
            wants_stream=request.wants_stream,
        )

    def use_key(self, api_key: str) -> None:
        """From the next request on."""
        if "authorization" in self._headers:
            self._headers["authorization"] = f"Bearer {api_key}"
        else:
            self._headers["x-api-key"] = api_key

    async def aclose(self) -> None:
        await self._client.aclose()

    def _classify(self, failure: HttpFailure) -> ModelError:
        from ostinato.providers.classify import classify_anthropic  # ruff: ignore[import-outside-top-level] - only failures need it
        from ostinato.providers.refused_parameters import adjusted  # ruff: ignore[import-outside-top-level] - as above

        return adjusted(classify_anthropic(failure, self._facts), failure, self._bodies.given_up)


class OpenBlock(msgspec.Struct):
    """A block that still streams; `parts` are its pieces of text, thinking or JSON."""

    index: int
    type: str
    tool_use_id: str = ""
    name: str = ""
    parts: list[str] = msgspec.field(default_factory=list[str])
    sealed: str = ""
    """The signature of thinking, or redacted thinking itself."""
    started: WireBlock = msgspec.field(default_factory=WireBlock)
    """What the server does itself, as it began."""


class AnthropicReply:
    """Decodes one reply. A block becomes a block when the wire closes it, begins another, or ends the message."""

    def __init__(self, facts: ModelFacts, call_ids: CallIds) -> None:
        self.has_odd_text = False
        self._facts = facts
        self._call_ids = call_ids
        self._blocks: dict[int, OpenBlock | None] = {}  # by the wire's index; None: a kind that is not for us
        self._undecided: list[OpenBlock] = []  # calls without arguments that can be read
        self._next_index = 0
        self._has_calls = False
        self._response_id = ""
        self._usage = Usage()
        self._stop_reason = ""
        self._is_complete = False
        self._readers: Mapping[str, Callable[[WireEvent], list[AnyModelEvent]]] = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    @property
    def is_complete(self) -> bool:
        return self._is_complete

    @property
    def is_settled(self) -> bool:
        return False  # this wire has an end mark of its own, which says how it ended

    def read(self, events: Iterable[ServerSentEvent], into: list[AnyModelEvent]) -> None:
        """The model events of a chunk; `ping` and kinds unknown to us give none."""
        decode, readers, blocks = EVENT_DECODER.decode, self._readers, self._blocks
        for event in events:
            if self._is_complete or not event.data:
                continue
            try:
                wire = decode(event.data)
            except Unreadable:
                self.has_odd_text = True
                wire = decode_event(EVENT_DECODER, event.data)
            delta = wire.delta
            if delta is not None and delta.text and wire.type == "content_block_delta":
                block = blocks.get(wire.index)
                if block is not None and block.type == "text":  # most of what there is, by the shortest way
                    block.parts.append(delta.text)
                    into.append(TextDelta(block.index, delta.text))
                    continue
            reader = readers.get(wire.type)
            if reader is not None:
                into += reader(wire)

    def read_whole(self, data: bytes, into: list[AnyModelEvent]) -> None:
        """A reply that did not stream, taken as the stream it would have been."""
        try:
            message = MESSAGE_DECODER.decode(data)
        except Unreadable:
            self.has_odd_text = True
            message = decode_event(MESSAGE_DECODER, data)
        if message.content is None:
            raise no_reply(data)
        into += self._message_start(WireEvent(message=message))
        for place, block in enumerate(message.content):
            into += self._block_start(WireEvent(index=place, content_block=block))
            into += self._block_stop(WireEvent(index=place))
        into += self._message_delta(WireEvent(delta=WireDelta(stop_reason=message.stop_reason)))
        into += self._message_stop(WireEvent())

    def end(self) -> list[AnyModelEvent]:
        raise reply_cut("the reply ended before its `message_stop`")

    def _message_start(self, wire: WireEvent) -> list[AnyModelEvent]:
        message = wire.message
        self._response_id = (message and message.id) or f"msg_{uuid4().hex}"
        self._add_usage(message and message.usage)
        model = (message and message.model) or self._facts.id
        return [MessageStart(self._response_id, model, self._usage)]

    def _block_start(self, wire: WireEvent) -> list[AnyModelEvent]:
        events = [*self._close_unclosed(wire.index), *self._release_undecided()]
        started = wire.content_block or WireBlock()
        index = self._next_index
        match started.type:
            case "text":
                events += self._open(wire.index, OpenBlock(index, "text"), BlockStart(index, "text"))
                return events + self._text(wire.index, started.text)
            case "thinking":
                block = OpenBlock(index, "thinking", sealed=started.signature or "")
                events += self._open(wire.index, block, BlockStart(index, "thinking"))
                return events + self._thinking(wire.index, started.thinking)
            case "redacted_thinking":
                block = OpenBlock(index, "redacted_thinking", sealed=started.data or "")
                return events + self._open(wire.index, block, BlockStart(index, "redacted_thinking"))
            case "tool_use":
                return events + self._open_call(wire.index, started)
            case "server_tool_use" | "web_search_tool_result" if is_search(started):
                block = OpenBlock(index, "server_block", started=started)
                return events + self._open(wire.index, block, BlockStart(index, "server_block"))
            case _:
                # What the server does on its own account and was not asked for is not ours to run or to show.
                self._blocks[wire.index] = None
                return events

    def _open_call(self, wire_index: int, started: WireBlock) -> list[AnyModelEvent]:
        index = self._next_index
        call_id = self._call_ids.take(started.id or "", response_id=self._response_id, index=index)
        block = OpenBlock(index, "tool_use", call_id, legal_name(started.name or ""))
        if started.input:
            given: object = started.input
            block.parts.append(given if isinstance(given, str) else encode(given).decode())
        return self._open(wire_index, block, BlockStart(index, "tool_use", call_id, block.name))

    def _open(self, wire_index: int, block: OpenBlock, start: BlockStart) -> list[AnyModelEvent]:
        self._blocks[wire_index] = block
        self._next_index += 1
        return [start]

    def _block_delta(self, wire: WireEvent) -> list[AnyModelEvent]:
        delta = wire.delta
        if delta is None:
            return []
        if delta.text is not None:
            return self._text(wire.index, delta.text)
        if delta.partial_json is not None:
            block = self._blocks.get(wire.index)
            if block is None or block.type not in CALLS or not delta.partial_json:
                return []
            block.parts.append(delta.partial_json)
            if block.type == "server_block":
                return []
            return [InputJsonDelta(block.index, delta.partial_json)]
        if delta.thinking is not None:
            return self._thinking(wire.index, delta.thinking)
        return self._signature(wire.index, delta)

    def _text(self, wire_index: int, text: str | None) -> list[AnyModelEvent]:
        if not text:
            return []
        block = self._blocks.get(wire_index)
        if block is None:
            if wire_index in self._blocks:
                return []
            # Text of a block that nobody opened is still text.
            block = OpenBlock(self._next_index, "text", parts=[text])
            return [
                *self._open(wire_index, block, BlockStart(block.index, "text")),
                TextDelta(block.index, text),
            ]
        if block.type != "text":
            return []
        block.parts.append(text)
        return [TextDelta(block.index, text)]

    def _thinking(self, wire_index: int, thinking: str | None) -> list[AnyModelEvent]:
        block = self._blocks.get(wire_index)
        if block is None or block.type != "thinking" or not thinking:
            return []
        block.parts.append(thinking)
        return [ThinkingDelta(block.index, thinking)]

    def _signature(self, wire_index: int, delta: WireDelta) -> list[AnyModelEvent]:
        block = self._blocks.get(wire_index)
        if block is not None and delta.signature:
            block.sealed += delta.signature
        return []

    def _block_stop(self, wire: WireEvent) -> list[AnyModelEvent]:
        return self._close(wire.index)

    def _close(self, wire_index: int) -> list[AnyModelEvent]:
        block = self._blocks.pop(wire_index, None)
        if block is None:
            return []
        finished = self._finished(block)
        has_arguments = any(not part.isspace() for part in block.parts)
        if isinstance(finished, ToolUse) and (finished.invalid_input is not None or not has_arguments):
            # Cut at the output limit, or just so? What comes next tells.
            self._undecided.append(block)
            return []
        return [BlockStop(block.index, finished)]

    def _close_unclosed(self, taken: int) -> list[AnyModelEvent]:
        """Blocks come one after the other: some servers say so only with the start of the next. A call may still go on, as long
        as its index is not `taken` by another."""
        over = [
            index
            for index, block in self._blocks.items()
            if block is not None and (index == taken or block.type != "tool_use")
        ]
        return [event for index in over for event in self._close(index)]

    def _finished(self, block: OpenBlock) -> AssistantBlock:
        text = "".join(block.parts)
        match block.type:
            case "text":
                return Text(text)
            case "thinking":
                return Thinking(text, self._state(block.sealed) if block.sealed else None)
            case "redacted_thinking":
                return RedactedThinking(self._state(block.sealed))
            case "server_block":
                return server_block(block.started, text, self._state)
            case _:
                self._has_calls = True
                return self._call_ids.finish(block.tool_use_id, block.name, text)

    def _state(self, data: str) -> ProviderState:
        return ProviderState(self._facts.provider, self._facts.id, data)

    def _release_undecided(self) -> list[AnyModelEvent]:
        blocks, self._undecided = self._undecided, []
        return [BlockStop(block.index, self._finished(block)) for block in blocks]

    def _message_delta(self, wire: WireEvent) -> list[AnyModelEvent]:
        self._add_usage(wire.usage)
        if wire.delta is not None and wire.delta.stop_reason:
            self._stop_reason = wire.delta.stop_reason
        return []

    def _message_stop(self, wire: WireEvent) -> list[AnyModelEvent]:
        self._add_usage(wire.usage)
        self._is_complete = True
        events = [event for index in list(self._blocks) for event in self._close(index)]
        if self._stop_reason in {"max_tokens", "model_context_window_exceeded"}:
            self._undecided = []
        events += self._release_undecided()
        reason = anthropic_stop_reason(self._stop_reason, has_calls=self._has_calls)
        return [*events, MessageStop(reason, self._usage, self._stop_reason)]

    def _error(self, wire: WireEvent) -> list[AnyModelEvent]:
        from ostinato.providers.classify import classify_anthropic_event  # ruff: ignore[import-outside-top-level] - as above

        raise classify_anthropic_event(bytes(wire.error), self._facts, request_id=wire.request_id or "")

    def _add_usage(self, usage: WireUsage | None) -> None:
        """Later counts replace earlier ones, but a zero does not erase what the start of the message said."""
        if usage is not None:
            known, details = self._usage, usage.output_tokens_details
            served = usage.server_tool_use
            self._usage = Usage(
                usage.input_tokens or known.input_tokens,
                usage.output_tokens or known.output_tokens,
                usage.cache_read_input_tokens or known.cache_read_input_tokens,
                usage.cache_creation_input_tokens or known.cache_creation_input_tokens,
                (details and details.thinking_tokens) or known.reasoning_tokens,
                (served and served.web_search_requests) or known.web_searches,
            )
