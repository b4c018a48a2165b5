"""The engine's events as the messages of the stream-json protocol, in its order: init first, one result last.

One assistant message per completed block, all blocks of a response under one `message.id`; raw stream events only when
asked for. Every message carries the session and its own uuid.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from ostinato.events import (
    AssistantEvent,
    Event,
    MessageStart,
    Result,
    StreamEvent,
    SystemEvent,
    Terminal,
    Tombstone,
    ToolUseSummary,
    UserEvent,
)
from ostinato.messages import NO_USAGE, AssistantMessage, SystemMessage, ToolResult, UserMessage
from ostinato.ports import ModelFacts
from ostinato.protocols.json_lines import JsonObject
from ostinato.protocols.raw_events import raw_events
from ostinato.protocols.result_message import result_message
from ostinato.protocols.wire_blocks import assistant_block, result_text, usage_object, user_block
from ostinato.version import VERSION

PROTOCOL_VERSION: Final = "2.1.332"
"""Clients read the version of the command they were made for and want at least 2.1.248; ours stands beside it."""

_ERRORS: Final = {
    "authentication": "authentication_failed",
    "permission": "authentication_failed",
    "billing": "billing_error",
    "not_found": "model_not_found",
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "server": "server_error",
    "prompt_too_long": "invalid_request",
    "request_too_large": "invalid_request",
    "media_too_large": "invalid_request",
    "invalid_history": "invalid_request",
    "invalid_request": "invalid_request",
}
"""Kinds of model errors in the protocol's words; all others are `unknown` there."""


class StreamedSession(msgspec.Struct, frozen=True):
    """What the init message tells about a session."""

    session_id: str
    cwd: str
    model: ModelFacts
    tool_names: tuple[str, ...]
    permission_mode: str
    api_key_source: str = "none"
    slash_commands: tuple[str, ...] = ()


class StreamJson:
    """Turns the events of one query into messages."""

    def __init__(
        self,
        session: StreamedSession,
        *,
        new_uuid: Callable[[], str],
        include_partial_messages: bool = False,
    ) -> None:
        self._session = session
        self._new_uuid = new_uuid
        self._include_partial_messages = include_partial_messages
        self._start_usage = NO_USAGE
        self._superseded: list[str] = []
        self._held_note: AssistantMessage | None = None

    def init_message(self) -> JsonObject:
        session = self._session
        return {
            "type": "system",
            "subtype": "init",
            "cwd": session.cwd,
            "session_id": session.session_id,
            "tools": list(session.tool_names),
            "mcp_servers": [],
            "model": session.model.id,
            "permissionMode": session.permission_mode,
            "slash_commands": list(session.slash_commands),
            "apiKeySource": session.api_key_source,
            "claude_code_version": PROTOCOL_VERSION,
            "ostinato_version": VERSION,
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
            "capabilities": [],
            "uuid": self._new_uuid(),
        }

    def messages(self, event: Event) -> Iterator[JsonObject]:
        """The messages of one event: none, one, or several."""
        match event:
            case StreamEvent():
                yield from self._streamed(event)
            case AssistantEvent(message) if message.is_error:
                yield from self._released_note("unknown")
                self._held_note = message  # its kind is known when the query has ended
            case AssistantEvent(message):
                yield self._assistant(message)
            case UserEvent(message):
                yield self._user(message)
            case SystemEvent(message):
                yield self._system(message)
            case Tombstone(uuid):
                self._superseded.append(uuid)
                yield self._own("tombstone", {"message_uuid": uuid})
            case ToolUseSummary():
                yield self._own(
                    "tool_use_summary",
                    {
                        "summary": event.summary,
                        "preceding_tool_use_ids": list(event.preceding_tool_use_ids),
                    },
                )
            case Terminal():
                yield from self._released_note(_error_word(event))
            case Result():
                yield result_message(event)
            case _:
                return

    def _streamed(self, event: StreamEvent) -> Iterator[JsonObject]:
        if isinstance(event.event, MessageStart):
            self._start_usage = event.event.usage
        if self._include_partial_messages:
            for raw in raw_events(event.event):
                yield self._own("stream_event", {"event": raw, "parent_tool_use_id": None})

    def _assistant(self, message: AssistantMessage) -> JsonObject:
        told: JsonObject = {
            "type": "assistant",
            "message": {
                "id": message.response_id,
                "type": "message",
                "role": "assistant",
                "model": message.model,
                "content": [assistant_block(block) for block in message.content],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage_object(self._start_usage),
            },
            "parent_tool_use_id": None,
            "session_id": self._session.session_id,
            "uuid": message.uuid,
        }
        if self._superseded:
            told["supersedes"], self._superseded = self._superseded, []
        return told

    def _released_note(self, error: str) -> Iterator[JsonObject]:
        note, self._held_note = self._held_note, None
        if note is not None:
            yield {**self._assistant(note), "error": error}

    def _user(self, message: UserMessage) -> JsonObject:
        told: JsonObject = {
            "type": "user",
            "message": {"role": "user", "content": [user_block(block) for block in message.content]},
            "parent_tool_use_id": None,
            "session_id": self._session.session_id,
            "uuid": message.uuid,
        }
        results = [block for block in message.content if isinstance(block, ToolResult)]
        if results:
            shown = message.display or {}
            is_marked_only = shown.keys() <= {"is_incomplete"}
            text = {"text": result_text(results[0])} if is_marked_only else {}
            told["tool_use_result"] = {**text, **shown}
        if message.is_meta:
            told["isSynthetic"] = True
        return told

    def _system(self, message: SystemMessage) -> JsonObject:
        return {
            **_fields_of_notice(message),
            "type": "system",
            "subtype": message.subtype,
            "content": message.text,
            "level": message.level,
            "session_id": self._session.session_id,
            "uuid": message.uuid,
        }

    def _own(self, kind: str, fields: JsonObject) -> JsonObject:
        return {"type": kind, **fields, "session_id": self._session.session_id, "uuid": self._new_uuid()}


def _fields_of_notice(message: SystemMessage) -> JsonObject:
    """What a notice says to a program, beside its text: of a wait, which retry it is, how long it takes, and why."""
    data = message.data or {}
    return {**data, "error": _ERRORS.get(str(data["error"]), "unknown")} if "error" in data else {**data}


def _error_word(terminal: Terminal) -> str:
    if terminal.reason == "completed":
        return "max_output_tokens"
    return _ERRORS.get(terminal.error_kind, "unknown")
