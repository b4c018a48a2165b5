"""What a scripted model says, as values: a reply, a failure, or a reply that breaks off.

The in-process model and the strict server play the same values, so a scenario can be told once and run on any wire.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

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
    ServerBlock,
    Text,
    Thinking,
    ToolUse,
    Usage,
)
from ostinato.testing.gate import Gate

SCRIPTED_PROVIDER = "scripted"
SCRIPTED_MODEL = "scripted-1"
SCRIPTED_USAGE = Usage(input_tokens=100, output_tokens=20)
"""Fixed, so that nothing is counted that a test did not ask for."""

DEFAULT_PIECE_CHARACTERS = 8

Part = AssistantBlock | Gate
Step = AnyModelEvent | Gate


def say(text: str) -> Text:
    return Text(text)


def think(text: str, *, signature: str = "") -> Thinking:
    """A thinking block, signed if `signature` is given; the model that plays it puts its own name on the signature."""
    return Thinking(text, ProviderState(SCRIPTED_PROVIDER, SCRIPTED_MODEL, signature) if signature else None)


def think_hidden(data: str) -> RedactedThinking:
    return RedactedThinking(ProviderState(SCRIPTED_PROVIDER, SCRIPTED_MODEL, data))


def call(name: str, /, id: str, **arguments: Any) -> ToolUse:  # ruff: ignore[builtin-argument-shadowing] - the field's own word
    """A tool call with these arguments."""
    return ToolUse(id, name, arguments)


def call_with(name: str, /, id: str, arguments: Mapping[str, Any]) -> ToolUse:  # ruff: ignore[builtin-argument-shadowing] - as in `call`
    """The same for arguments that are no Python names."""
    return ToolUse(id, name, arguments)


def broken_call(name: str, /, id: str, text: str) -> ToolUse:  # ruff: ignore[builtin-argument-shadowing] - as in `call`
    """A call whose arguments are this text, which is not a JSON object."""
    return ToolUse(id, name, {}, text)


@dataclass(frozen=True, slots=True, init=False)
class Reply:
    """A complete reply: its blocks in order, with gates between them where the model should wait.

    `stop_reason` None is `tool_use` if there is a call, else `end_turn`. `piece_characters` is the length of a delta.
    `holds` puts a gate before the event of that index (0 is `message_start`), for points inside a block.
    """

    parts: tuple[Part, ...]
    stop_reason: str | None = None
    usage: Usage = SCRIPTED_USAGE
    piece_characters: int = DEFAULT_PIECE_CHARACTERS
    holds: Mapping[int, Gate] = field(default_factory=dict[int, Gate])

    def __init__(
        self,
        *parts: Part,
        stop_reason: str | None = None,
        usage: Usage = SCRIPTED_USAGE,
        piece_characters: int = DEFAULT_PIECE_CHARACTERS,
        holds: Mapping[int, Gate] | None = None,
    ) -> None:
        set_field = object.__setattr__  # the class is frozen, and its blocks are positional
        set_field(self, "parts", parts)
        set_field(self, "stop_reason", stop_reason)
        set_field(self, "usage", usage)
        set_field(self, "piece_characters", piece_characters)
        set_field(self, "holds", dict(holds or {}))

    @property
    def blocks(self) -> tuple[AssistantBlock, ...]:
        return tuple(part for part in self.parts if not isinstance(part, Gate))

    @property
    def reason(self) -> str:
        """The stop reason that the model gives."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(block, ToolUse) for block in self.blocks) else "end_turn"


@dataclass(frozen=True, slots=True)
class Fails:
    """The request is refused with this error; `before` is waited for first."""

    error: ModelError
    before: Gate | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """The reply breaks off after `after_events` events, or after `after_blocks` complete blocks (all, if neither is given).

    In process it breaks with `error`, by default `stream_cut`. On a wire the connection ends there, or, if an error is
    given, the wire's own error event is sent.
    """

    reply: Reply
    after_events: int | None = None
    after_blocks: int | None = None
    error: ModelError | None = None


Turn = Reply | Fails | Cut


def stream_cut() -> ModelError:
    """What an adapter raises for a stream without its end."""
    return ModelError("the stream ended before the reply was complete", kind="stream_cut", retry=True)


def steps(turn: Reply | Cut, *, response_id: str, provider: str, model: str) -> Iterator[Step]:
    """The events of a reply and its gates, in order; of a cut reply only those before the cut."""
    match turn:
        case Reply():
            yield from _reply_steps(turn, response_id, provider, model)
        case Cut():
            yield from _cut_steps(turn, response_id, provider, model)
        case _:
            assert_never(turn)


def _cut_steps(cut: Cut, response_id: str, provider: str, model: str) -> Iterator[Step]:
    events = blocks = 0
    wanted_blocks = len(cut.reply.blocks) if cut.after_blocks is None else cut.after_blocks
    for step in _reply_steps(cut.reply, response_id, provider, model):
        if cut.after_events is None and blocks >= wanted_blocks and events > 0 and not isinstance(step, Gate):
            return
        if cut.after_events is not None and events >= cut.after_events and not isinstance(step, Gate):
            return
        yield step
        events += not isinstance(step, Gate)
        blocks += isinstance(step, BlockStop)


def _reply_steps(reply: Reply, response_id: str, provider: str, model: str) -> Iterator[Step]:
    count = 0
    for step in _unheld_steps(reply, response_id, provider, model):
        if not isinstance(step, Gate):
            if count in reply.holds:
                yield reply.holds[count]
            count += 1
        yield step


def _unheld_steps(reply: Reply, response_id: str, provider: str, model: str) -> Iterator[Step]:
    before = msgspec.structs.replace(reply.usage, output_tokens=0)
    yield MessageStart(response_id, model, before)
    index = 0
    for part in reply.parts:
        if isinstance(part, Gate):
            yield part
            continue
        block = _stamped(part, provider, model)
        yield _block_start(index, block)
        yield from _deltas(index, block, reply.piece_characters)
        yield BlockStop(index, block)
        index += 1
    yield MessageStop(reply.reason, reply.usage, reply.reason)


def _stamped(block: AssistantBlock, provider: str, model: str) -> AssistantBlock:
    """The block with the playing model's name on its opaque state."""
    if isinstance(block, Thinking) and block.state is not None:
        return Thinking(block.thinking, ProviderState(provider, model, block.state.data))
    if isinstance(block, RedactedThinking):
        return RedactedThinking(ProviderState(provider, model, block.state.data))
    if isinstance(block, ServerBlock):
        return msgspec.structs.replace(block, state=ProviderState(provider, model, block.state.data))
    return block


def _block_start(index: int, block: AssistantBlock) -> BlockStart:
    match block:
        case Text():
            return BlockStart(index, "text")
        case Thinking():
            return BlockStart(index, "thinking")
        case RedactedThinking():
            return BlockStart(index, "redacted_thinking")
        case ServerBlock():
            return BlockStart(index, "server_block")
        case ToolUse():
            return BlockStart(index, "tool_use", block.id, block.name)
        case _:
            assert_never(block)


def _deltas(index: int, block: AssistantBlock, piece_characters: int) -> Iterator[AnyModelEvent]:
    match block:
        case Text():
            yield from (TextDelta(index, piece) for piece in pieces(block.text, piece_characters))
        case Thinking():
            yield from (ThinkingDelta(index, piece) for piece in pieces(block.thinking, piece_characters))
        case ToolUse():
            yield from (
                InputJsonDelta(index, piece) for piece in pieces(arguments_text(block), piece_characters)
            )
        case RedactedThinking() | ServerBlock():
            return
        case _:
            assert_never(block)


def pieces(text: str, characters: int) -> Iterator[str]:
    """The text in pieces of that many characters; nothing for an empty text."""
    for start in range(0, len(text), characters):
        yield text[start : start + characters]


def arguments_text(block: ToolUse) -> str:
    """The arguments as the model writes them."""
    return (
        block.invalid_input if block.invalid_input is not None else msgspec.json.encode(block.input).decode()
    )
