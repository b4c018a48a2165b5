"""The Chat Completions wire: request bodies out of `ModelRequest`, and the shapes of its stream chunks.

Every field of a chunk is optional: a dozen servers speak this wire, each with gaps of its own. A body is joined from
bytes that are cached per message.
"""

from typing import Any

import msgspec

from ostinato.messages import Document, Image, ResultBlock, Text, Thinking, ToolResult, ToolUse
from ostinato.ports import ModelFacts, ModelRequest, RequestMessage, ToolSchema
from ostinato.providers.effort import effort_name
from ostinato.providers.encoded import EncodedBytes
from ostinato.providers.given_up import GivenUp
from ostinato.providers.lenient_json import encode
from ostinato.providers.token_counts import TokenCount

ERROR_PREFIX = "Error: "
"""The wire has no field for a failed tool: the text says it."""

STREAMED = b',"stream":true}'
COUNTED = b',"stream_options":{"include_usage":true}'
OPTIONAL = frozenset({"temperature", "reasoning_effort", "stream_options"})
"""Parameters that a request can do without."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put plain reasoning text; it goes back under the name it came with."""


# ------------------------------------------------------------------------------------------------ stream chunks

NOTHING = msgspec.Raw(b"")


class WireFunction(msgspec.Struct, frozen=True, gc=False):
    """`arguments` is a piece of JSON text, or from some servers the object itself."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class WireCall(msgspec.Struct, frozen=True):
    index: int | None = None
    id: str | None = None
    function: WireFunction | None = None


class WirePart(msgspec.Struct, frozen=True):
    text: str | None = None


class WireDelta(msgspec.Struct, frozen=True):
    content: str | list[WirePart] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[WireCall] | None = None
    function_call: WireFunction | None = None


class WireTokenDetails(msgspec.Struct, frozen=True, gc=False):
    cached_tokens: TokenCount | None = None
    cache_write_tokens: TokenCount | None = None
    reasoning_tokens: TokenCount | None = None


class WireUsage(msgspec.Struct, frozen=True):
    """`prompt_tokens` holds the cached ones too."""

    prompt_tokens: TokenCount | None = None
    completion_tokens: TokenCount | None = None
    prompt_tokens_details: WireTokenDetails | None = None
    completion_tokens_details: WireTokenDetails | None = None
    prompt_cache_hit_tokens: TokenCount | None = None


class WireChoice(msgspec.Struct, frozen=True):
    """`message` stands in for `delta` in a reply that does not stream."""

    index: int | None = None
    delta: WireDelta | None = None
    message: WireDelta | None = None
    finish_reason: str | None = None
    usage: WireUsage | None = None


class WireChunk(msgspec.Struct, frozen=True):
    id: str | None = None
    model: str | None = None
    choices: list[WireChoice] | None = None
    usage: WireUsage | None = None
    error: msgspec.Raw = NOTHING


CHUNK_DECODER = msgspec.json.Decoder(WireChunk)


# ------------------------------------------------------------------------------------------------ request bodies


class OpenAIBodies:
    """Encodes requests to one model; remembers the bytes of the messages, tools and system prompts it has seen."""

    def __init__(self, facts: ModelFacts) -> None:
        self._facts = facts
        self._encoded = EncodedBytes()
        self.given_up = GivenUp(OPTIONAL)

    def body(self, request: ModelRequest) -> bytes:
        """The request body. Work grows with what is new; only the joining grows with the history."""
        facts, given_up = self._facts, self.given_up
        messages = [self._encoded.of(message, self._encode_message) for message in request.messages]
        if any(text.strip() for text in request.system):
            messages.insert(0, self._encoded.of(request.system, _encode_system))
        parts = [b'{"model":', encode(request.model)]
        limit_name = given_up.name_of(facts.output_parameter)
        parts.append(b',"%s":%d' % (limit_name.encode(), request.max_output_tokens))
        if request.temperature is not None and facts.takes_temperature and "temperature" not in given_up:
            parts.append(b',"temperature":' + encode(request.temperature))
        effort = _effort(request, facts)
        if effort and "reasoning_effort" not in given_up:
            parts.append(b',"reasoning_effort":' + encode(effort))
        if request.tools:
            parts += [b',"tools":[', self._encoded.of(request.tools, _encode_tools), b"]"]
        parts += [b',"messages":[', b",".join(part for part in messages if part), b"]"]
        if request.wants_stream and "stream_options" not in given_up:
            parts.append(COUNTED)
        parts.append(STREAMED if request.wants_stream else b',"stream":false}')
        return b"".join(parts)

    def _encode_message(self, message: RequestMessage) -> bytes:
        """One message of ours as the messages of the wire, joined by commas; nothing if it says nothing here."""
        wire = (
            [_assistant_message(message, self._facts)]
            if message.role == "assistant"
            else _user_messages(message)
        )
        return b",".join(encode(part) for part in wire if part)


def _effort(request: ModelRequest, facts: ModelFacts) -> str:
    """How much the model may think; empty leaves the choice to it."""
    if facts.thinking_form == "effort_without_tools" and request.tools:
        # These models think by default, and here refuse tools while they do: only an explicit `none` is accepted.
        return "none"
    if facts.thinking_form not in {"effort", "effort_without_tools"}:
        return ""
    return effort_name(request.thinking.budget_tokens)


def _encode_system(system: tuple[str, ...]) -> bytes:
    return encode({"role": "system", "content": "\n\n".join(text for text in system if text.strip())})


def _encode_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    return b",".join(
        encode({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.input_schema),
            },
        })
        for tool in tools
    )


def _assistant_message(message: RequestMessage, facts: ModelFacts) -> dict[str, object]:
    """Text, calls and, where it belongs, reasoning; empty if nothing of it is for this wire."""
    text = "\n\n".join(block.text for block in message.content if isinstance(block, Text))
    calls = [_call(block) for block in message.content if isinstance(block, ToolUse)]
    if not text and not calls:
        return {}
    wire: dict[str, object] = {"role": "assistant", "content": text or None}
    if calls:
        wire["tool_calls"] = calls
    return wire | _reasoning(message, facts, has_calls=bool(calls))


def _reasoning(message: RequestMessage, facts: ModelFacts, *, has_calls: bool) -> dict[str, str]:
    """Reasoning goes back whole, under the name it came with, to the model that wrote it; never to another."""
    if facts.reasoning_echo == "never":
        return {}
    fields: dict[str, str] = {}
    for block in message.content:
        if not isinstance(block, Thinking) or block.state is None:
            continue
        state = block.state
        if (state.provider, state.model) == (facts.provider, facts.id) and state.data in REASONING_FIELDS:
            fields[state.data] = fields.get(state.data, "") + block.thinking
    if not fields and has_calls and facts.reasoning_echo == "always":
        return {"reasoning_content": ""}
    return fields


def _call(block: ToolUse) -> dict[str, object]:
    arguments = encode(dict(block.input)).decode()
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": arguments},
    }


def _user_messages(message: RequestMessage) -> list[dict[str, object]]:
    """Results first, right behind their calls; then what the user says, the results' images in front."""
    results = [block for block in message.content if isinstance(block, ToolResult)]
    wire = [_result(block) for block in results]
    shown = [part for block in results for part in _shown_parts(block)]
    said = [block for block in message.content if isinstance(block, Text | Image | Document)]
    content = shown + [_part(block) for block in said]
    if content:
        only_text = all(isinstance(block, Text) for block in said) and not shown
        text = "\n\n".join(block.text for block in said if isinstance(block, Text))
        wire.append({"role": "user", "content": text if only_text else content})
    return wire


def _result(block: ToolResult) -> dict[str, object]:
    parts = (Text(block.content),) if isinstance(block.content, str) else block.content
    text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
    if any(not isinstance(part, Text) for part in parts):
        text = f"{text}\n\n(see the attachment below)" if text else "(see the attachment below)"
    return {
        "role": "tool",
        "tool_call_id": block.tool_use_id,
        "content": ERROR_PREFIX + text if block.is_error else text,
    }


def _shown_parts(block: ToolResult) -> list[object]:
    """What a result shows: a tool message takes text only, so it follows in the user's name."""
    if isinstance(block.content, str):
        return []
    shown = [_part(part) for part in block.content if not isinstance(part, Text)]
    return (
        [{"type": "text", "text": f"Attachment of the tool result {block.tool_use_id}:"}, *shown]
        if shown
        else []
    )


def _part(block: ResultBlock) -> object:
    match block:
        case Text():
            return block
        case Image():
            return {"type": "image_url", "image_url": {"url": _data_url(block)}}
        case Document():
            name = block.title or "document.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": _data_url(block)}}


def _data_url(block: Image | Document) -> str:
    return f"data:{block.media_type};base64,{block.data}"
