"""The Anthropic Messages wire: request bodies out of `ModelRequest`, and the shapes of its stream events.

A body is joined from bytes that are cached per message; cache marks are put on while joining, so that they are counted
where it matters: on the wire. At most four, never on thinking blocks or blank text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from ostinato.messages import (
    AssistantBlock,
    Document,
    Image,
    ProviderState,
    RedactedThinking,
    ResultBlock,
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.ports import MAX_SEARCHES, ModelFacts, ModelRequest, RequestMessage, ToolSchema
from ostinato.providers.encoded import EncodedBytes
from ostinato.providers.given_up import GivenUp
from ostinato.providers.lenient_json import encode
from ostinato.providers.token_counts import TokenCount

CACHE_MARK = b',"cache_control":{"type":"ephemeral"}}'
MAX_MARKS = 4
BLOCKS_BETWEEN_MARKS = 15
"""The service looks about 20 blocks back from a mark for what it has cached; 15 leaves room."""

MIN_THINKING_TOKENS = 1024

SEARCH_TOOL = b'{"type":"web_search_20250305","name":"web_search","max_uses":%d}' % MAX_SEARCHES

OPTIONAL = frozenset({"thinking", "temperature", "output_config"})
"""Parameters that a request can do without."""


# ------------------------------------------------------------------------------------------------ stream events


NOTHING = msgspec.Raw(b"")


class WireTokenDetails(msgspec.Struct, frozen=True, gc=False):
    thinking_tokens: TokenCount | None = None


class WireServerUse(msgspec.Struct, frozen=True, gc=False):
    web_search_requests: TokenCount | None = None


class WireUsage(msgspec.Struct, frozen=True):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None
    output_tokens_details: WireTokenDetails | None = None
    server_tool_use: WireServerUse | None = None


class WireBlock(msgspec.Struct, frozen=True):
    """What a block starts with; some servers leave everything out but type, id and name. `input` is an object, or from some
    servers its text; whatever else it is, it is no call that could run. `content` and `caller` are those of what the service did
    itself."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: msgspec.Raw = NOTHING
    caller: msgspec.Raw = NOTHING


class WireMessage(msgspec.Struct, frozen=True):
    """What a stream starts with: still empty. Without a stream, the whole reply."""

    id: str | None = None
    model: str | None = None
    usage: WireUsage | None = None
    content: list[WireBlock] | None = None
    stop_reason: str | None = None


class WireDelta(msgspec.Struct, frozen=True, gc=False):
    """A block's delta, or the message's at its end."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class WireEvent(msgspec.Struct, frozen=True):
    """Any event of the stream: one shape for all, so that a kind that is new to us decodes too."""

    type: str = ""
    index: int = 0
    delta: WireDelta | None = None
    content_block: WireBlock | None = None
    message: WireMessage | None = None
    usage: WireUsage | None = None
    error: msgspec.Raw = NOTHING
    request_id: str | None = None


EVENT_DECODER = msgspec.json.Decoder(WireEvent)
MESSAGE_DECODER = msgspec.json.Decoder(WireMessage)


# ------------------------------------------------------------------------------------------------ request bodies


class AnthropicBodies:
    """Encodes requests to one model; remembers the bytes of the messages, tools and system prompts it has seen."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._encoded = EncodedBytes()
        self.given_up = GivenUp(OPTIONAL)

    def body(self, request: ModelRequest) -> bytes:
        """The request body. Work grows with what is new; only the joining grows with the history."""
        parts = [b'{"model":', encode(request.model), b',"max_tokens":%d' % request.max_output_tokens]
        parts += [
            b',"%s":%s' % (name.encode(), value)
            for name, value in _optional(request, self._facts, self.given_up)
        ]
        marks = mark_places(request.messages)
        own_starts = max(0, len(request.system) - request.own_system_blocks)
        shared = self._system(request.system[:own_starts])
        own = self._system(request.system[own_starts:])
        if request.tools or request.searches_web:
            tools = self._encoded.of(request.tools, _encode_tools)
            if request.searches_web:
                tools = b",".join(filter(None, (tools, SEARCH_TOOL)))
            parts += [b',"tools":[', tools if shared else _with_mark(tools), b"]"]
        if shared or own:
            # The first mark is for other conversations; one behind what is this one's own serves it when its messages are edited.
            has_room = sum(map(len, marks.values())) < MAX_MARKS - 1
            system = (*_last_marked(shared), *(_last_marked(own) if has_room else own))
            parts += [b',"system":[', b",".join(system), b"]"]
        parts += [b',"messages":[', b",".join(self._messages(request.messages, marks)), b"]"]
        parts.append(b',"stream":true}' if request.wants_stream else b',"stream":false}')
        return b"".join(parts)

    def _system(self, texts: Sequence[str]) -> list[bytes]:
        return [self._encoded.of(text, _encode_text) for text in texts if text.strip()]

    def _messages(
        self, messages: Sequence[RequestMessage], marks: Mapping[int, frozenset[int]]
    ) -> list[bytes]:
        of, plain = self._encoded.of, self._encode_plain
        parts = [
            of(message, plain) if index not in marks else self._encode(message, marks[index])
            for index, message in enumerate(messages)
        ]
        # A turn that held nothing but another model's thinking has nothing to say here.
        return [part for part in parts if part]

    def _encode_plain(self, message: RequestMessage) -> bytes:
        return self._encode(message, frozenset())

    def _encode(self, message: RequestMessage, marked: frozenset[int]) -> bytes:
        blocks: list[bytes] = []
        for index, block in enumerate(message.content):
            wire = _wire_block(block, self._facts)
            if wire is not None:
                encoded = encode(wire)
                blocks.append(_with_mark(encoded) if index in marked else encoded)
        if not blocks:
            return b""
        return b'{"role":"%s","content":[%s]}' % (message.role.encode(), b",".join(blocks))


def mark_places(messages: Sequence[RequestMessage]) -> dict[int, frozenset[int]]:
    """Where cache marks go: message index to block indexes.

    One at the very end. After a long turn (the newest reply and its results) one more 15 blocks before, and one where the request
    before ended: there the service finds what it had cached, however many blocks have come since.
    """
    reply = next((i for i in range(len(messages) - 1, 0, -1) if messages[i].role == "assistant"), 0)
    newest = [
        (index, place)
        for index in range(len(messages) - 1, reply - 1, -1)
        for place in range(len(messages[index].content) - 1, -1, -1)
    ]
    wanted = [newest] if len(newest) <= BLOCKS_BETWEEN_MARKS else [newest, newest[BLOCKS_BETWEEN_MARKS:]]
    if len(wanted) > 1 and reply:
        wanted.append([(reply - 1, place) for place in range(len(messages[reply - 1].content) - 1, -1, -1)])
    places: dict[int, frozenset[int]] = {}
    for blocks in wanted:
        index, place = next(((i, p) for i, p in blocks if _may_carry_mark(messages[i].content[p])), (-1, 0))
        if index >= 0:
            places[index] = places.get(index, frozenset()) | {place}
    return places


def _may_carry_mark(block: UserBlock | AssistantBlock) -> bool:
    if isinstance(block, Text):
        return bool(block.text.strip())
    return not isinstance(block, Thinking | RedactedThinking | ServerBlock)


def _with_mark(blocks: bytes) -> bytes:
    """The last of the encoded blocks gets a cache mark."""
    return blocks[:-1] + CACHE_MARK


def _last_marked(blocks: Sequence[bytes]) -> Sequence[bytes]:
    return [*blocks[:-1], *map(_with_mark, blocks[-1:])]


def _optional(request: ModelRequest, facts: ModelFacts, given_up: GivenUp) -> Iterator[tuple[str, bytes]]:
    """Thinking, temperature and effort. The first two exclude one another; only the models that decide themselves how much
    to think take a word for it."""
    thinking = b"" if "thinking" in given_up else _thinking(request, facts)
    if thinking:
        yield "thinking", thinking
    elif request.temperature is not None and facts.takes_temperature and "temperature" not in given_up:
        yield "temperature", encode(request.temperature)
    effort = request.thinking.effort
    if facts.thinking_form == "adaptive" and effort is not None and "output_config" not in given_up:
        yield "output_config", b'{"effort":%s}' % encode(effort)


def _thinking(request: ModelRequest, facts: ModelFacts) -> bytes:
    budget = min(request.thinking.budget_tokens, request.max_output_tokens - 1)
    if facts.thinking_form == "adaptive" and request.thinking.budget_tokens > 0:
        # Without a display these models also keep to themselves what they say between two calls.
        return b'{"type":"adaptive","display":"summarized"}'
    if facts.thinking_form == "budget" and budget >= MIN_THINKING_TOKENS:
        return b'{"type":"enabled","budget_tokens":%d}' % budget
    return b""


def _encode_text(text: str) -> bytes:
    return encode(Text(text))


def _encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    return b",".join(
        encode({
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.input_schema),
        })
        for tool in tools
    )


def _wire_block(block: UserBlock | AssistantBlock, facts: ModelFacts) -> object | None:
    """What goes on the wire for `block`; None for what only another model could read, which is left out whole."""
    match block:
        case Text() | Image() | Document():
            return _wire_content(block)
        case ToolUse():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
        case ToolResult():
            content = (
                block.content
                if isinstance(block.content, str)
                else [_wire_content(part) for part in block.content]
            )
            result: dict[str, object] = {
                "type": "tool_result",
                "tool_use_id": block.tool_use_id,
                "content": content,
            }
            return result | {"is_error": True} if block.is_error else result
        case Thinking():
            if block.state is None or not _is_own(block.state, facts):
                return None
            return {"type": "thinking", "thinking": block.thinking, "signature": block.state.data}
        case RedactedThinking():
            return (
                {"type": "redacted_thinking", "data": block.state.data}
                if _is_own(block.state, facts)
                else None
            )
        case ServerBlock():
            return msgspec.Raw(block.state.data.encode()) if _is_own(block.state, facts) else None
        case _:
            assert_never(block)


def _wire_content(block: ResultBlock) -> object:
    match block:
        case Text():
            return block
        case Image():
            return {"type": "image", "source": _source(block)}
        case Document():
            document: dict[str, object] = {"type": "document", "source": _source(block)}
            return document | {"title": block.title} if block.title else document
        case _:
            assert_never(block)


def _source(block: Image | Document) -> dict[str, str]:
    return {"type": "base64", "media_type": block.media_type, "data": block.data}


def _is_own(state: ProviderState, facts: ModelFacts) -> bool:
    return state.provider == facts.provider and state.model == facts.id
