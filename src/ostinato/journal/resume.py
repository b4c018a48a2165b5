"""What a crash left open, and the one answer each open call gets. Nothing is ever run again by itself.

Pure: `open_calls` reads records, `answers` makes messages. What was certainly not started says so; what may have
happened says exactly how much is known, and the model decides.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from ostinato.codec import encode
from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Message,
    ToolResult,
    ToolUse,
    UserMessage,
    tool_result_message,
)
from ostinato.records import FileIntended, Record, ToolFinished, ToolStarted

NOT_RUN = "This call was not run: the session was interrupted before it started."
READ_ONLY_INTERRUPTED = (
    "This call was interrupted and its result is lost. It changes nothing, so you may make it again."
)
ENDED = (
    "`{name}` had ended (`{outcome}`) before the session was interrupted, but its result is lost. Look at what it did; do not "
    "just repeat it."
)
_MAX_INPUT_CHARACTERS = 500


class OpenCall(msgspec.Struct, frozen=True):
    """A call of the view without a result. `started` is None if it had not begun; `intended` are the files it was about
    to replace, in order; `outcomes` are the ways in which it is written to have ended: none, or one, unless the file was tampered
    with.
    """

    call: ToolUse
    started: ToolStarted | None = None
    intended: tuple[FileIntended, ...] = ()
    outcomes: tuple[str, ...] = ()


def open_calls(records: Iterable[Record]) -> tuple[OpenCall, ...]:
    """The unanswered calls of the newest response, in request order; retracted and summarised ones are not among them.

    Only these can still be answered in place. An older call without an answer, which this engine does not leave behind,
    is the normaliser's.
    """
    history = History.fold(records)
    known = _known_of_calls(history.log())
    return tuple(known.get(call.id, OpenCall(call)) for call in _unanswered(history))


def _known_of_calls(log: Iterable[Record]) -> dict[str, OpenCall]:
    """By id. Some servers count their ids anew in each reply: what is written of an id says nothing of a later call of that id."""
    known: dict[str, OpenCall] = {}
    for record in log:
        match record:
            case AssistantMessage():
                known.update((call.id, OpenCall(call)) for call in record.tool_uses)
            case ToolStarted(tool_use_id=call_id) if call_id in known:
                known[call_id] = replace(known[call_id], started=record)
            case FileIntended(tool_use_id=call_id) if call_id in known:
                known[call_id] = replace(known[call_id], intended=(*known[call_id].intended, record))
            case ToolFinished(tool_use_id=call_id) if call_id in known:
                outcomes = dict.fromkeys((*known[call_id].outcomes, record.outcome))
                known[call_id] = replace(known[call_id], outcomes=tuple(outcomes))
            case _:
                pass
    return known


def answers(
    calls: Iterable[OpenCall],
    *,
    uuid: Callable[[], str],
    content_hash: Callable[[str], str | None],
) -> tuple[UserMessage, ...]:
    """One result per open call, in their order, to be appended before anything else.

    `content_hash` gives the SHA-256 of a file's bytes now, by its path; empty if there is no such file, None if it
    cannot be read.
    """
    return tuple(
        tool_result_message(uuid(), ToolResult(found.call.id, _account(found, content_hash), is_error=True))
        for found in calls
    )


def _unanswered(history: History) -> list[ToolUse]:
    tail: tuple[Message, ...] = history.tail
    if not tail or not isinstance(tail[0], AssistantMessage):
        return []
    answered = {
        block.tool_use_id
        for message in tail
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResult)
    }
    return [call for call in tail[0].tool_uses if call.id not in answered]


def _account(found: OpenCall, content_hash: Callable[[str], str | None]) -> str:
    if found.started is None:
        return NOT_RUN
    if found.started.is_read_only:
        return READ_ONLY_INTERRUPTED
    if found.intended:
        states = [_file_account(file, content_hash(file.path)) for file in found.intended]
        return "The session was interrupted while this call ran. " + " ".join(states)
    if len(found.outcomes) == 1:
        return ENDED.format(name=found.started.name, outcome=found.outcomes[0])
    return (
        f"Outcome unknown: `{found.started.name}` had started when the session was interrupted. It may have had all, "
        f"some or none of its effect. Check before you repeat it. Its input was: {_shown(found)}"
    )


def _file_account(file: FileIntended, now: str | None) -> str:
    if now is None:
        return f"Outcome unknown: `{file.path}` cannot be read now."
    if now == file.after:
        return f"The change of `{file.path}` was made: the file has the intended content."
    if now == file.before:
        return f"The change of `{file.path}` was not made: the file is as it was before."
    return f"Outcome unknown: `{file.path}` has neither its old nor the intended content. Read it first."


def _shown(found: OpenCall) -> str:
    text = encode(dict(found.call.input)).decode()
    return text if len(text) <= _MAX_INPUT_CHARACTERS else f"{text[:_MAX_INPUT_CHARACTERS]}…"
