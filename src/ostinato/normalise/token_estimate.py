"""How many tokens a request has before a provider counted it: on the high side, for Latin text, code, CJK and base64 alike.

What was counted already (the usage of the last response) is taken as it is; only what is newer is estimated.
"""

from collections.abc import Iterable, Sequence
from typing import Final, assert_never

from ostinato.codec import encode
from ostinato.history import History
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    Document,
    Image,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.ports import ModelRequest

BYTES_A_TOKEN: Final = 2.5
"""UTF-8 bytes. English prose has 4 and more, code about 3.3, JSON and base64 2 to 3, CJK 3 (one character)."""

IMAGE_TOKENS: Final = 2_000
"""Flat, as in the field (semantics §27)."""

DOCUMENT_BYTES_A_TOKEN: Final = 25
"""Of base64: a page of a PDF is about 75 kB and 3,000 tokens."""

BLOCK_TOKENS: Final = 8
"""Around each block: roles, names, ids."""


def text_tokens(size_bytes: int) -> int:
    """Tokens of a text of this size in UTF-8."""
    return int(size_bytes / BYTES_A_TOKEN) + 1


def request_tokens(request: ModelRequest, history: History) -> int:
    """Input tokens of a request that was built from this history."""
    newer = _since_counted(history)
    if newer is not None:
        counted = history.last_response.usage.context_tokens if history.last_response else 0
        return counted + sum(blocks_tokens(_blocks(message)) for message in newer)
    system = sum(text_tokens(_size(text)) for text in request.system)
    tools = sum(
        text_tokens(len(encode(tool.input_schema)) + _size(tool.description)) for tool in request.tools
    )
    return system + tools + sum(blocks_tokens(message.content) for message in request.messages)


def blocks_tokens(blocks: Iterable[UserBlock | AssistantBlock]) -> int:
    return sum(_block_tokens(block) + BLOCK_TOKENS for block in blocks)


def _since_counted(history: History) -> list[Message] | None:
    """The messages that no usage counts yet; None if nothing in the view was counted."""
    last = history.last_response
    if last is None or last.usage.context_tokens == 0:
        return None
    newer: list[Message] = []
    for message in reversed(history.view()):
        if isinstance(message, AssistantMessage) and message.response_id == last.response_id:
            return newer
        newer.append(message)
    return None


def _blocks(message: Message) -> Sequence[UserBlock | AssistantBlock]:
    if isinstance(message, AssistantMessage):
        return message.content
    return rendered_user_blocks(message)


def _block_tokens(block: UserBlock | AssistantBlock) -> int:
    match block:
        case Text():
            return text_tokens(_size(block.text))
        case Thinking():
            return text_tokens(_size(block.thinking))
        case RedactedThinking():
            return text_tokens(len(block.state.data))
        case ToolUse():
            return text_tokens(len(block.name) + len(encode(dict(block.input))))
        case ToolResult():
            content = block.content
            return text_tokens(_size(content)) if isinstance(content, str) else blocks_tokens(content)
        case Image():
            return IMAGE_TOKENS
        case Document():
            return max(IMAGE_TOKENS, len(block.data) // DOCUMENT_BYTES_A_TOKEN)
        case _:
            assert_never(block)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
