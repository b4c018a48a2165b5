"""How many tokens a request has before a provider counted it: on the high side, for Latin text, code, CJK and base64 alike.

What was counted already (the usage of the last response) is taken as it is; only what is newer is estimated. Of what an edit has
taken out since, only what it had at the least is taken off. A count that cannot be true is not believed: some servers count what
was new to their cache alone, some add up every request so far.
"""

from collections.abc import Callable, Iterable, Sequence
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
    ServerBlock,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.normalise.shared_beginning import shared_beginning
from ostinato.normalise.text_density import tokens_by_kind
from ostinato.ports import ModelRequest, RequestMessage, ToolSchema
from ostinato.records import ResponseEnded

BYTES_A_TOKEN: Final = 2.5
"""UTF-8 bytes, at the most: English prose and code have 4, CJK 3 to 5; what has less is dense (`text_density.py`)."""

MOST_BYTES_A_TOKEN: Final = 8
"""No text of any length that people or tools write has more; indented code and tables come nearest."""

IMAGE_TOKENS: Final = 2_000
"""Flat, as in the field (semantics §27)."""

DOCUMENT_BYTES_A_TOKEN: Final = 25
"""Of base64: a page of a PDF is about 75 kB and 3,000 tokens."""

BLOCK_TOKENS: Final = 8
"""Around each block: roles, names, ids."""


def text_tokens(size_bytes: int) -> int:
    """Tokens of a text of this size in UTF-8."""
    return int(size_bytes / BYTES_A_TOKEN) + 1


def tokens_of(text: str) -> int:
    """Tokens of this text: by its size, or more where it is dense with digits, capitals and marks."""
    return _data_tokens(text.encode("utf-8", "replace"))


def _data_tokens(data: bytes) -> int:
    return max(text_tokens(len(data)), tokens_by_kind(data))


class _Sums:
    """A sum over messages, for the next ones: what both begin with is not looked at again."""

    def __init__(self, size_of: Callable[[RequestMessage], int]) -> None:
        self._size_of = size_of
        self._messages: Sequence[RequestMessage] = []
        self._totals: list[int] = []

    def of(self, messages: Sequence[RequestMessage]) -> int:
        totals, known = self._totals, len(self._messages)
        if messages[:known] != self._messages:  # as a rule it has only grown
            known = shared_beginning(self._messages, messages)
        del totals[known:]
        for message in messages[known:]:
            totals.append((totals[-1] if totals else 0) + self._size_of(message))
        self._messages = messages
        return totals[-1] if totals else 0


class MessageSizes:
    """The sizes of one request's messages, kept for the next one."""

    def __init__(self) -> None:
        self._totals = _Sums(lambda message: blocks_tokens(message.content))
        self._leasts = _Sums(lambda message: sum(map(_least_tokens, message.content)))

    def total(self, messages: Sequence[RequestMessage]) -> int:
        """Tokens of all of them."""
        return self._totals.of(messages)

    def least(self, messages: Sequence[RequestMessage]) -> int:
        """Fewer than so many they cannot have."""
        return self._leasts.of(messages)


def request_tokens(
    request: ModelRequest,
    history: History,
    sizes: MessageSizes | None = None,
    *,
    new_tools_tokens: int = 0,
    window_tokens: int | None = None,
) -> int:
    """Input tokens of a request that was built from this history. `sizes`: of the requests before it, if they are kept.
    `new_tools_tokens`: of tools that the request which was counted last did not have. `window_tokens`: of the model.
    """
    sizes = sizes or MessageSizes()
    known = _counted_and_newer(history, new_tools_tokens)
    if known is None or not _may_be(known, history, sizes.least(request.messages), window_tokens):
        return whole_request_tokens(request, sizes)
    return known if history.counted is None else min(whole_request_tokens(request, sizes), known)


def counted_tokens(request: ModelRequest, history: History, window_tokens: int | None = None) -> int:
    """What of the request the provider counted at the end of its last reply; 0 where it has changed since, or cannot be true."""
    last = history.last_response
    if last is None or history.counted is not None or _counted_length(history.view(), last) is None:
        return 0
    known = _counted_and_newer(history, 0)
    if known is None or not _may_be(known, history, MessageSizes().least(request.messages), window_tokens):
        return 0
    return last.usage.context_tokens


def _counted_and_newer(history: History, new_tools_tokens: int) -> int | None:
    """None where nothing of the view was counted."""
    last, view = history.last_response, history.view()
    if last is None or last.usage.context_tokens == 0:
        return None
    then = view if history.counted is None else history.counted
    length = _counted_length(then, last)
    if length is None:
        return None
    counted = last.usage.context_tokens + new_tools_tokens
    if history.counted is not None:
        return counted + _grown_by(then[:length], view)
    return counted + sum(blocks_tokens(_blocks(message)) for message in view[length:])


def _may_be(known_tokens: int, history: History, least_tokens: int, window_tokens: int | None) -> bool:
    """Whether so many can be right: no fewer than the text has at the least, and no more than the model could take when it answered."""
    last = history.last_response
    taken = 0 if last is None else last.usage.context_tokens - last.usage.output_tokens
    return known_tokens >= least_tokens and (window_tokens is None or taken <= window_tokens)


def whole_request_tokens(request: ModelRequest, sizes: MessageSizes | None = None) -> int:
    """Input tokens of a request of which nothing was counted."""
    system = sum(text_tokens(_size(text)) for text in request.system)
    return system + tools_tokens(request.tools) + (sizes or MessageSizes()).total(request.messages)


def tools_tokens(tools: Iterable[ToolSchema]) -> int:
    """Of what the model is told of them."""
    return sum(text_tokens(len(encode(tool.input_schema)) + _size(tool.description)) for tool in tools)


def blocks_tokens(blocks: Iterable[UserBlock | AssistantBlock]) -> int:
    return sum(_block_tokens(block) + BLOCK_TOKENS for block in blocks)


def _grown_by(counted: Sequence[Message], view: Sequence[Message]) -> int:
    """Tokens by which the view is at the most longer than what was counted; below zero for a shorter one."""
    then, now = {id(message) for message in counted}, {id(message) for message in view}
    gone = [b for m in counted if id(m) not in now and not _is_error(m) for b in _blocks(m)]
    added = [b for m in view if id(m) not in then for b in _blocks(m)]
    shared = {id(block) for block in gone} & {id(block) for block in added}
    less = sum(_least_tokens(block) for block in gone if id(block) not in shared)
    return blocks_tokens(block for block in added if id(block) not in shared) - less


def _is_error(message: Message) -> bool:
    """A note for the user, which no model read."""
    return isinstance(message, AssistantMessage) and message.is_error


def _least_tokens(block: UserBlock | AssistantBlock) -> int:
    """What a block has counted for at the least. Media may be tiny, and thinking may not have been sent."""
    match block:
        case Text():
            return _size(block.text) // MOST_BYTES_A_TOKEN
        case ToolUse():
            return len(encode(dict(block.input))) // MOST_BYTES_A_TOKEN
        case ToolResult():
            content = block.content
            whole = _size(content) if isinstance(content, str) else 0
            return whole // MOST_BYTES_A_TOKEN
        case Thinking() | RedactedThinking() | ServerBlock() | Image() | Document():
            return 0
        case _:
            assert_never(block)


def _counted_length(view: Sequence[Message], last: ResponseEnded) -> int | None:
    """How many messages of the view the usage of that response counts; None if the reply is not there."""
    for index in range(len(view) - 1, -1, -1):
        message = view[index]
        if isinstance(message, AssistantMessage) and message.response_id == last.response_id:
            return index + 1
    return None


def _blocks(message: Message) -> Sequence[UserBlock | AssistantBlock]:
    if isinstance(message, AssistantMessage):
        return message.content
    return rendered_user_blocks(message)


def _block_tokens(block: UserBlock | AssistantBlock) -> int:
    match block:
        case Text():
            return tokens_of(block.text)
        case Thinking():
            return tokens_of(block.thinking)
        case RedactedThinking() | ServerBlock():
            return text_tokens(len(block.state.data))
        case ToolUse():
            return _data_tokens(block.name.encode() + encode(dict(block.input)))
        case ToolResult():
            content = block.content
            return tokens_of(content) if isinstance(content, str) else blocks_tokens(content)
        case Image():
            return IMAGE_TOKENS
        case Document():
            return max(IMAGE_TOKENS, len(block.data) // DOCUMENT_BYTES_A_TOKEN)
        case _:
            assert_never(block)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
