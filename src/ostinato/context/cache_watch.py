"""Whether the provider read from its prompt cache what it had written there, and if not, why: after each reply what was read is
compared with what was cached after the one before, and only a loss that is worth a word is looked into.

Nothing of a request is kept but hashes, so nothing that a summary hides stays in memory for this.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from ostinato.cache_breaks import KEPT_S, CacheBreak, CacheBreakCause, Replied
from ostinato.messages import (
    AssistantBlock,
    Document,
    Image,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.ports import RequestMessage, ToolSchema
from ostinato.records import AnyEdit, Boundary, Edit, ResponseEnded

MIN_LOST_SHARE: Final = 0.05
MIN_LOST_TOKENS: Final = 2_000
"""Both must be reached, or it is no break: providers count in steps, and not always alike (semantics §31.4)."""

REMINDER: Final = "<system-reminder>"
"""So what stands before a conversation begins."""


class _Sent(msgspec.Struct):
    """A request in short, and what was in the cache after its reply. `context`: a hash of what stands before the conversation, 0 if
    nothing does. `blocks`: one for each block of its messages, in order; those of the last message begin at `last_starts`, and it is
    number `count`. `blocks` None: a request of an earlier run, of which only the end of its reply is known.
    """

    response_id: str
    model: str
    thinking: object
    tools: Sequence[ToolSchema]
    system: tuple[str, ...]
    context: int
    blocks: "array[int] | None"
    last_starts: int
    count: int
    cached_tokens: int
    began_s: float


class CacheWatch:
    """Watches one conversation. Implements `WatchCache`. `replied_s`: when the last reply of an earlier run ended (monotonic seconds).
    A loss of which nothing from then explains anything is not told: what else differs from that run is not known.
    """

    def __init__(self, replied_s: float | None = None) -> None:
        self._before: _Sent | None = None
        self._replied_s = replied_s

    def __call__(self, replied: Replied, /) -> CacheBreak | None:
        before, usage = self._before, replied.usage
        if before is None and self._replied_s is not None:
            before = _of_earlier_run(replied, self._replied_s)
        expected, read = before.cached_tokens if before else 0, usage.cache_read_input_tokens
        lost = expected - read
        is_lost = lost >= MIN_LOST_TOKENS and lost > MIN_LOST_SHARE * expected
        edits = _edits_since(before.response_id, replied) if before else []
        sent = self._before = _sent(replied, None if is_lost or edits else before)
        if before is None or not is_lost:
            return None
        (cause, what), *also = causes = _causes(before, sent, edits)
        if cause == "server" and before.blocks is None:
            return None
        is_edited = any(named in {"edit", "compaction"} for named, _ in causes)
        changed_by = tuple(edit.edit_id for edit in edits) if is_edited else ()
        return CacheBreak(cause, expected, read, what, changed_by, tuple(also))


def _sent(replied: Replied, before: _Sent | None) -> _Sent:
    """`before`: a request that this one is known to go on from, so that only what is new is looked at."""
    request, usage = replied.request, replied.usage
    blocks, count = array("q"), 0
    if before is not None and before.blocks is not None and before.count <= len(request.messages):
        blocks, count = before.blocks[: before.last_starts], max(0, before.count - 1)
    context = _context(request.messages)
    last_starts = len(blocks)
    for place, message in enumerate(request.messages[count:], count):
        last_starts = len(blocks)
        blocks.extend(_hashes(message, skipped=1 if context and place == 0 else 0))
    return _Sent(
        replied.response_id,
        _name(replied),
        request.thinking,
        request.tools,
        request.system,
        context,
        blocks,
        last_starts,
        len(request.messages),
        usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        replied.began_s,
    )


def _of_earlier_run(replied: Replied, replied_s: float) -> _Sent | None:
    """The last request of that run as far as its reply tells of it; the rest counts as unchanged."""
    log = reversed(replied.messages.log())
    last = next((record for record in log if isinstance(record, ResponseEnded)), None)
    if last is None:
        return None
    request, usage = replied.request, last.usage
    is_same = last.model == request.model
    return _Sent(
        last.response_id,
        _name(replied) if is_same else last.model,
        request.thinking,
        request.tools,
        request.system,
        _context(request.messages),
        None,
        0,
        0,
        usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        replied_s,
    )


def _name(replied: Replied) -> str:
    return f"{replied.model.provider}/{replied.request.model}"


def _causes(before: _Sent, sent: _Sent, edits: Sequence[AnyEdit]) -> Sequence[tuple[CacheBreakCause, str]]:
    """All that differs, in the order in which providers read a request, and what that was; never empty."""
    if before.model != sent.model:
        return (("model", f"{before.model} → {sent.model}"),)
    found: list[tuple[CacheBreakCause, str]] = []
    if before.thinking != sent.thinking:
        found.append(("thinking", ""))
    if before.tools != sent.tools:
        found.append(("tools", _changed_tools(before.tools, sent.tools)))
    if before.system != sent.system:
        found.append(("system", ""))
    found += _changed_messages(before, sent, edits)
    if sent.began_s - before.began_s > KEPT_S:
        found.append(("time", ""))
    return found or (("server", ""),)


def _changed_messages(
    before: _Sent, sent: _Sent, edits: Sequence[AnyEdit]
) -> Iterator[tuple[CacheBreakCause, str]]:
    # A reminder of the conversation's own can stand first where nothing stands before it: an edit may take that away.
    is_taken_away = bool(edits) and bool(before.context) != bool(sent.context)
    if before.context != sent.context and not is_taken_away:
        yield "instructions", ""
    if is_taken_away or _has_changed(before.blocks, sent.blocks, edits):
        yield _changed_by(edits), ""


def _has_changed(before: "array[int] | None", sent: "array[int] | None", edits: Sequence[AnyEdit]) -> bool:
    """Of blocks that are not known, an edit is all that tells of a change."""
    if before is None or sent is None:
        return bool(edits)
    return sent[: len(before)] != before


def _changed_by(edits: Sequence[AnyEdit]) -> CacheBreakCause:
    if not edits:
        return "messages"
    return "compaction" if any(isinstance(edit, Boundary) for edit in edits) else "edit"


def _changed_tools(before: Sequence[ToolSchema], now: Sequence[ToolSchema]) -> str:
    then, new = {tool.name: tool for tool in before}, {tool.name: tool for tool in now}
    told = {
        "new": [name for name in new if name not in then],
        "gone": [name for name in then if name not in new],
        "changed": [name for name in new if name in then and new[name] != then[name]],
    }
    parts = [f"{how}: {', '.join(names)}" for how, names in told.items() if names]
    return "; ".join(parts) or "in another order"


def _edits_since(response_id: str, replied: Replied) -> list[AnyEdit]:
    """What was edited after that response, oldest first."""
    edits: list[AnyEdit] = []
    for record in reversed(replied.messages.log()):
        if isinstance(record, ResponseEnded) and record.response_id == response_id:
            break
        if isinstance(record, Edit):
            edits.append(record)
    return edits[::-1]


def _context(messages: Sequence[RequestMessage]) -> int:
    first = messages[0].content[0] if messages and messages[0].content else None
    return hash(first.text) if isinstance(first, Text) and first.text.startswith(REMINDER) else 0


def _hashes(message: RequestMessage, *, skipped: int) -> Iterator[int]:
    for block in message.content[skipped:]:
        yield hash((message.role, _key(block)))


def _key(block: UserBlock | AssistantBlock) -> object:
    """What tells one block from another. The input of a call never changes without its id."""
    match block:
        case Text():
            return block.text
        case ToolUse():
            return block.name, block.id
        case ToolResult():
            content = block.content
            whole = content if isinstance(content, str) else tuple(map(_key, content))
            return block.tool_use_id, block.is_error, whole
        case Image() | Document():
            return block.media_type, block.data
        case Thinking():
            return block.thinking, block.state
        case _:
            return block.state
