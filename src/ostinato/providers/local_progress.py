"""What a conversation's calls have come to so far: which files may be edited, and which tools are being called in circles.

A small model that has made the same call twice makes it for ever; prose does not stop it, a menu without that tool does.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostinato.messages import ResultBlock, ToolResult, ToolUse
from ostinato.ports import RequestMessage

EDIT, WRITE, READ = "Edit", "Write", "Read"
PATH = "file_path"

MAX_REPEATS = 2
"""An edit that makes room for itself can be made for ever: so often may the same call have had the same result before."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call that was answered."""

    name: str
    input: Mapping[str, Any]
    result: str | tuple[ResultBlock, ...]
    is_error: bool

    @property
    def has_changed_a_file(self) -> bool:
        return self.name in {EDIT, WRITE} and not self.is_error


def past_calls(messages: Sequence[RequestMessage]) -> Sequence[PastCall]:
    """The answered calls, oldest first."""
    blocks = [block for message in messages for block in message.content]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    return [
        PastCall(block.name, block.input, results[block.id].content, results[block.id].is_error)
        for block in blocks
        if isinstance(block, ToolUse) and block.id in results
    ]


def seen_files(calls: Iterable[PastCall]) -> Sequence[str]:
    """The files whose content the model knows, as its calls named them."""
    shown = (call for call in calls if call.name in {READ, WRITE, EDIT} and not call.is_error)
    return list(dict.fromkeys(str(call.input[PATH]) for call in shown if call.input.get(PATH)))


def idle_tools(calls: Sequence[PastCall]) -> Collection[str]:
    """The tools of the newest calls that told nothing new: the same call had the same result, and no file has changed since,
    or it had it `MAX_REPEATS` times whatever changed.
    """
    idle: set[str] = set()
    for end in range(len(calls), 0, -1):
        newest = calls[end - 1]
        if not _is_known(newest, calls[: end - 1]):
            break
        idle.add(newest.name)
    return idle


def _is_known(newest: PastCall, before: Sequence[PastCall]) -> bool:
    if sum(call == newest for call in before) >= MAX_REPEATS:
        return True
    for call in reversed(before):
        if call == newest:
            return True
        if call.has_changed_a_file:
            return False
    return False
