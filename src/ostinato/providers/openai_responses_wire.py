"""The Responses wire: request bodies out of `ModelRequest`, and the shapes of its stream events and items.

Nothing is kept on the server (`store` is false): reasoning travels with us, encrypted, and goes back as it came. Every
field of an event is optional, because compatible servers speak this wire too. A body is joined from bytes cached per message.
"""

import hashlib
from collections.abc import Iterator
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
)
from ostinato.ports import ModelFacts, ModelRequest, RequestMessage, ToolSchema
from ostinato.providers.effort import effort_name
from ostinato.providers.encoded import EncodedBytes
from ostinato.providers.given_up import GivenUp
from ostinato.providers.lenient_json import encode
from ostinato.providers.openai_wire import ERROR_PREFIX
from ostinato.providers.token_counts import TokenCount

MIN_OUTPUT_TOKENS = 16
"""The service refuses a smaller limit."""

OPTIONAL = frozenset({
    "temperature",
    "reasoning",
    "reasoning.summary",
    "include",
    "parallel_tool_calls",
    "prompt_cache_key",
    "max_tool_calls",
})
"""Parameters that a request can do without. `store` is none of them: left out, the service would keep what was said."""

MAX_KEYED_BYTES = 64 * 1024
"""How much of a conversation's beginning names its cache: enough to tell conversations apart, cheap to hash."""


# ------------------------------------------------------------------------------------------------ stream events

NOTHING = msgspec.Raw(b"")


class WirePart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a message (`output_text`, `refusal`) or of reasoning (`summary_text`, `reasoning_text`)."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class WireItem(msgspec.Struct, frozen=True):
    """An output item: `message`, `reasoning`, `function_call`, `web_search_call`, or a kind that is not for us. `arguments` is JSON
    text, or from some servers the object itself; `action` says what was searched."""

    type: str = ""
    id: str | None = None
    status: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    content: list[WirePart] | None = None
    summary: list[WirePart] | None = None
    encrypted_content: str | None = None
    action: msgspec.Raw = NOTHING


class WireTokenDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: TokenCount | None = None
    cache_write_tokens: TokenCount | None = None
    reasoning_tokens: TokenCount | None = None


class WireUsage(msgspec.Struct, frozen=True):
    """`input_tokens` holds the cached ones too, `output_tokens` those of reasoning."""

    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    input_tokens_details: WireTokenDetails | None = None
    output_tokens_details: WireTokenDetails | None = None


class WireIncomplete(msgspec.Struct, frozen=True):
    reason: str | None = None


class WireResponse(msgspec.Struct, frozen=True):
    """The response as it stands; whole at the end of a stream, and all there is without one."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    output: list[WireItem] | None = None
    usage: WireUsage | None = None
    incomplete_details: WireIncomplete | None = None
    error: msgspec.Raw = NOTHING


class WireEvent(msgspec.Struct, frozen=True):
    """Any event of the stream: one shape for all, so that a kind that is new to us decodes too."""

    type: str = ""
    delta: str | None = None
    output_index: int | None = None
    item_id: str | None = None
    content_index: int = 0
    summary_index: int = 0
    item: WireItem | None = None
    arguments: str | dict[str, Any] | None = None
    response: WireResponse | None = None
    error: msgspec.Raw = NOTHING


EVENT_DECODER = msgspec.json.Decoder(WireEvent)
RESPONSE_DECODER = msgspec.json.Decoder(WireResponse)


# ------------------------------------------------------------------------------------------------ reasoning


class ReasoningItem(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag="reasoning"):
    """What of a reasoning item goes back: everything that the service reads again."""

    id: str
    summary: list[WirePart]
    encrypted_content: str


REASONING_DECODER = msgspec.json.Decoder(ReasoningItem)


def reasoning_state(item: WireItem, facts: ModelFacts) -> ProviderState | None:
    """The item as opaque state of its block; None if it holds nothing that could be sent back."""
    if not item.encrypted_content:
        return None
    kept = ReasoningItem(item.id or "", item.summary or [], item.encrypted_content)
    return ProviderState(facts.provider, facts.id, encode(kept).decode())


def _reasoning_item(state: ProviderState | None, facts: ModelFacts) -> ReasoningItem | None:
    """The item behind a thinking block; None if another model or another wire wrote it."""
    if state is None or (state.provider, state.model) != (facts.provider, facts.id):
        return None
    try:
        return REASONING_DECODER.decode(state.data)
    except msgspec.DecodeError:
        return None


# ------------------------------------------------------------------------------------------------ searches


SEARCH_TOOL = b'{"type":"web_search"}'


class SearchAction(msgspec.Struct, frozen=True):
    """A search, or a look at one of the pages that it found."""

    type: str = ""
    query: str | None = None
    queries: list[str] | None = None
    url: str | None = None


SEARCH_DECODER = msgspec.json.Decoder(SearchAction)


def search_action(item: WireItem) -> SearchAction:
    """Nothing where it cannot be read."""
    try:
        return SEARCH_DECODER.decode(item.action)
    except msgspec.DecodeError:
        return SearchAction()


def search_block(item: WireItem, facts: ModelFacts) -> ServerBlock:
    """What the service searched by itself, to go back as it came."""
    action = search_action(item)
    words = action.query or ", ".join(action.queries or ())
    text = f"searched the web: {words}" if action.type == "search" else f"looked at {action.url or 'a page'}"
    kept: dict[str, object] = {"type": item.type, "id": item.id or "", "status": item.status or "completed"}
    if bytes(item.action):
        kept["action"] = item.action
    # What is passed on as it came was not checked: bytes that are no text may be in it.
    state = ProviderState(facts.provider, facts.id, encode(kept).decode("utf-8", "replace"))
    return ServerBlock("whole", item.id or "", text, state, searches=int(action.type == "search"))


# ------------------------------------------------------------------------------------------------ request bodies


class ResponsesBodies:
    """Encodes requests to one model; remembers the bytes of the messages, tools and system prompts it has seen."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._encoded = EncodedBytes()
        self.given_up = GivenUp(OPTIONAL)

    def body(self, request: ModelRequest) -> bytes:
        """The request body. Work grows with what is new; only the joining grows with the history."""
        of = self._encoded.of
        items = [part for message in request.messages if (part := of(message, self._encode_message))]
        system = of(request.system, _encode_system)
        tools = of(request.tools, _encode_tools)
        if request.searches_web:
            tools = b",".join(filter(None, (tools, SEARCH_TOOL)))
        limit = max(request.max_output_tokens, MIN_OUTPUT_TOKENS)
        parts = [b'{"model":', encode(request.model), b',"max_output_tokens":%d' % limit]
        if system:
            parts += [b',"instructions":', system]
        if tools:
            parts += [b',"tools":[', tools, b"]"]
        parts += [b',"input":[', b",".join(items), b'],"store":false']
        key = _cache_key(system, tools, items[0] if items else b"")
        parts += [
            b',"%s":%s' % (name.encode(), value)
            for name, value in self._optional(request, key, has_tools=bool(tools))
            if name not in self.given_up
        ]
        parts.append(b',"stream":true}' if request.wants_stream else b',"stream":false}')
        return b"".join(parts)

    def _optional(
        self, request: ModelRequest, cache_key: bytes, *, has_tools: bool
    ) -> Iterator[tuple[str, bytes]]:
        """Parameters that a request can do without. Models that think are asked for what they thought, encrypted, so that
        it can go back; its summaries are given to some accounts only."""
        if request.temperature is not None and self._facts.takes_temperature:
            yield "temperature", encode(request.temperature)
        effort = effort_name(request.thinking.budget_tokens)
        if self._facts.thinking_form != "none":
            if effort:
                summary = {} if "reasoning.summary" in self.given_up else {"summary": "auto"}
                yield "reasoning", encode({"effort": effort, **summary})
            yield "include", b'["reasoning.encrypted_content"]'
        if has_tools:
            yield "parallel_tool_calls", b"true"
        if request.searches_web:  # of all that the service does itself; calls of ours are not counted
            yield "max_tool_calls", b"%d" % request.max_searches
        yield "prompt_cache_key", b'"%s"' % cache_key

    def _encode_message(self, message: RequestMessage) -> bytes:
        """One message of ours as items of the wire, joined by commas; nothing if it says nothing here."""
        items = (
            _assistant_items(message, self._facts) if message.role == "assistant" else _user_items(message)
        )
        return b",".join(encode(item) for item in items)


def _cache_key(*beginning: bytes) -> bytes:
    """The same for every request of one conversation, another one for any other: requests of one key meet one cache."""
    digest = hashlib.blake2b(digest_size=16)
    for part in beginning:
        digest.update(part[:MAX_KEYED_BYTES])
    return digest.hexdigest().encode()


def _encode_system(system: tuple[str, ...]) -> bytes:
    text = "\n\n".join(text for text in system if text.strip())
    return encode(text) if text else b""


def _encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    # Left out, `strict` is true: the service then rewrites schemas, and optional arguments become required ones.
    return b",".join(
        encode({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
            "strict": False,
        })
        for tool in tools
    )


def _assistant_items(message: RequestMessage, facts: ModelFacts) -> list[object]:
    """Blocks in their order; reasoning that nothing follows is left out, because the service refuses it alone."""
    items: list[object] = []
    waiting: list[object] = []
    for block in message.content:
        if isinstance(block, Thinking | RedactedThinking):
            reasoning = _reasoning_item(block.state, facts)
            if reasoning is not None:
                waiting.append(reasoning)
            continue
        item = _said_item(block, facts)
        if item is not None:
            items += [*waiting, item]
            waiting = []
    return items


def _said_item(block: AssistantBlock | Image | Document | ToolResult, facts: ModelFacts) -> object | None:
    match block:
        case Text():
            return {"type": "message", "role": "assistant", "content": block.text} if block.text else None
        case ToolUse():
            return {
                "type": "function_call",
                "call_id": block.id,
                "name": block.name,
                "arguments": encode(dict(block.input)).decode(),
            }
        case ServerBlock(state=state) if (state.provider, state.model) == (facts.provider, facts.id):
            return msgspec.Raw(state.data.encode())
        case _:
            return None


def _user_items(message: RequestMessage) -> list[object]:
    """Results first, then what the user says."""
    items: list[object] = [_result(block) for block in message.content if isinstance(block, ToolResult)]
    said = [_part(block) for block in message.content if isinstance(block, Text | Image | Document)]
    if said:
        items.append({"type": "message", "role": "user", "content": said})
    return items


def _result(block: ToolResult) -> object:
    """An answer; this wire takes pictures in it, and has no field for a failed call: the text says it."""
    prefix = ERROR_PREFIX if block.is_error else ""
    if isinstance(block.content, str):
        output: object = prefix + block.content
    elif all(isinstance(part, Text) for part in block.content):
        output = prefix + "\n\n".join(part.text for part in block.content if isinstance(part, Text))
    else:
        output = [_part(part) for part in block.content]
    return {"type": "function_call_output", "call_id": block.tool_use_id, "output": output}


def _part(block: ResultBlock) -> object:
    match block:
        case Text():
            return {"type": "input_text", "text": block.text}
        case Image():
            return {"type": "input_image", "image_url": _data_url(block), "detail": "auto"}
        case Document():
            name = block.title or "document.pdf"
            return {"type": "input_file", "filename": name, "file_data": _data_url(block)}
        case _:
            assert_never(block)


def _data_url(block: Image | Document) -> str:
    return f"data:{block.media_type};base64,{block.data}"
