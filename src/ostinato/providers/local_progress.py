"""What a conversation's calls have come to so far: which files may be edited, and which tools are being called in circles.

A small model that has made the same call twice makes it for ever; prose does not stop it, a menu without that tool does.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostinato.messages import ResultBlock, ToolResult, ToolUse
from ostinato.ports import RequestMessage

EDIT, WRITE, READ = "Edit", "Write", "Read"
PATH, OLD, NEW, CONTENT = "file_path", "old_string", "new_string", "content"

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

    @property
    def changes_nothing(self) -> bool:
        return self.name == EDIT and self.is_error and self.input.get(OLD) == self.input.get(NEW)


def past_calls(messages: Sequence[RequestMessage]) -> Sequence[PastCall]:
    """The answered calls, oldest first."""
    blocks = [block for message in messages for block in message.content]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    return [
        PastCall(block.name, block.input, results[block.id].content, results[block.id].is_error)
        for block in blocks
        if isinstance(block, ToolUse) and block.id in results
    ]


def known_files(calls: Iterable[PastCall]) -> Mapping[str, str | None]:
    """The files that the model has seen, as its calls named them, with the text that they have now; None where that cannot
    be told (a shell command may have changed it, which the next Edit will say).
    """
    texts: dict[str, str | None] = {}
    for call in calls:
        path = str(call.input.get(PATH) or "")
        if not path or call.is_error:
            continue
        if call.name == READ:
            texts[path] = _text_shown(call.result) or texts.get(path)
        elif call.name == WRITE:
            texts[path] = str(call.input.get(CONTENT, ""))
        elif call.name == EDIT:
            texts[path] = _edited(texts.get(path), call.input)
    return texts


def refused_passages(calls: Iterable[PastCall], path: str) -> Collection[str]:
    """What an Edit of that file was refused for since the file was last read."""
    refused: set[str] = set()
    for call in calls:
        if call.input.get(PATH) != path:
            continue
        if call.name == READ and not call.is_error:
            refused.clear()
        elif call.name == EDIT and call.is_error:
            refused.add(str(call.input.get(OLD)))
    return refused


def _text_shown(result: str | tuple[ResultBlock, ...]) -> str | None:
    """The numbered lines of what Read said, without the numbers."""
    if not isinstance(result, str):
        return None
    lines = [line for line in result.split("\n") if _LINE_NUMBER.match(line)]
    return "\n".join(without_line_numbers(line) for line in lines) if lines else None


def _edited(text: str | None, change: Mapping[str, Any]) -> str | None:
    old, new = str(change.get(OLD, "")), str(change.get(NEW, ""))
    return text.replace(old, new) if text is not None and text.count(old) == 1 else None


_LINE_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)


def without_line_numbers(text: str) -> str:
    """What Read shows, as it stands in the file."""
    return _LINE_NUMBER.sub("", text)


def idle_tools(calls: Sequence[PastCall]) -> Collection[str]:
    """The tools of the newest calls that told nothing new: the same call had the same result, and no file has changed since,
    or it had it `MAX_REPEATS` times whatever changed; or an Edit was to put in what is there.
    """
    idle: set[str] = set()
    for end in range(len(calls), 0, -1):
        newest = calls[end - 1]
        if not (newest.changes_nothing or _is_known(newest, calls[: end - 1])):
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
