"""A local model's reply, chunk by chunk, as model events: the same stream that any other wire brings."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never, cast

from ostinato.errors import ModelError
from ostinato.events import (
    AnyModelEvent,
    BlockStart,
    BlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    TextDelta,
)
from ostinato.messages import Text, ToolUse, Usage
from ostinato.ports import ModelFacts
from ostinato.providers.local_actions import (
    Called,
    Finished,
    growing_answer,
    input_json,
    opened_tool,
    read_action,
)
from ostinato.providers.local_menu import DONE


@dataclass(slots=True)
class Reply:
    """Folds the runtime's chunks into model events: one block, started when its kind is certain, stopped when it is whole."""

    facts: ModelFacts
    constrained: bool
    is_stopped: bool = False
    _id: str = ""
    _text: str = ""
    _sent_characters: int = 0
    _is_call_open: bool = False
    _finish: str = ""

    def take(self, chunk: str) -> Sequence[AnyModelEvent]:
        """The events that this chunk brings; empty while the prompt is read."""
        decoded = cast("dict[str, Any]", json.loads(chunk))
        if error := decoded.get("error"):
            raise read_error(error)
        events: list[AnyModelEvent] = []
        if not self._id:
            self._id = str(decoded["id"])
            events.append(MessageStart(self._id, self.facts.id))
        for choice in decoded["choices"]:
            self._text += choice["delta"].get("content") or ""
            self._finish = choice["finish_reason"] or self._finish
        events += self._grow()
        if usage := decoded.get("usage"):
            events += self._stop(read_usage(usage))
        return events

    @property
    def _call_id(self) -> str:
        return "call_" + self._id.removeprefix("chatcmpl-")

    def _grow(self) -> Sequence[AnyModelEvent]:
        """What is new and certain in the text."""
        if not self.constrained:
            return self._grow_text(self._text)
        opened = opened_tool(self._text)
        if opened is None:
            return ()
        name, start = opened
        if name == DONE:
            return self._grow_text(growing_answer(self._text, start))
        return self._grow_call(name, input_json(self._text, start))

    def _grow_call(self, name: str, so_far: str) -> Sequence[AnyModelEvent]:
        events: list[AnyModelEvent] = []
        if not self._is_call_open:
            self._is_call_open = True
            events.append(BlockStart(0, "tool_use", self._call_id, name))
        if len(so_far) > self._sent_characters:
            events.append(InputJsonDelta(0, so_far[self._sent_characters :]))
            self._sent_characters = len(so_far)
        return events

    def _grow_text(self, so_far: str) -> Sequence[AnyModelEvent]:
        if len(so_far) <= self._sent_characters:
            return ()
        start = (BlockStart(0, "text"),) if self._sent_characters == 0 else ()
        delta = TextDelta(0, so_far[self._sent_characters :])
        self._sent_characters = len(so_far)
        return (*start, delta)

    def _stop(self, usage: Usage) -> Sequence[AnyModelEvent]:
        action = read_action(self._text) if self.constrained else None
        is_cut = self._finish == "length"
        match action:
            case Called(name=name, input=arguments):
                block = ToolUse(self._call_id, name, arguments)
                return (BlockStop(0, block), self._message_stop("tool_use", usage))
            case Finished(answer=answer):
                return (*self._whole_text(answer), self._message_stop("end_turn", usage))
            case None if self.constrained and not is_cut:
                raise ModelError(
                    "the local model's action is no JSON object", kind="malformed_response", retry=True
                )
            case None:
                stop_reason = self._cut_reason(usage) if is_cut else "end_turn"
                return (*self._whole_text(self._text_so_far()), self._message_stop(stop_reason, usage))
            case _:
                assert_never(action)

    def _text_so_far(self) -> str:
        """The prose of a reply that was cut or not constrained; half a call has none and leaves no block."""
        if not self.constrained:
            return self._text
        opened = opened_tool(self._text)
        return growing_answer(self._text, opened[1]) if opened and opened[0] == DONE else ""

    def _whole_text(self, text: str) -> Sequence[AnyModelEvent]:
        return (*self._grow_text(text), BlockStop(0, Text(text))) if text else ()

    def _cut_reason(self, usage: Usage) -> str:
        is_full = usage.context_tokens >= self.facts.context_window - 1
        return "model_context_window_exceeded" if is_full else "max_tokens"

    def _message_stop(self, stop_reason: str, usage: Usage) -> MessageStop:
        self.is_stopped = True
        return MessageStop(stop_reason, usage, self._finish)


def read_usage(usage: dict[str, Any]) -> Usage:
    """The runtime counts cached prompt tokens among the prompt's; here they stand apart."""
    details = cast("dict[str, Any]", usage.get("prompt_tokens_details") or {})
    cached = int(details.get("cached_tokens", 0))
    return Usage(
        input_tokens=int(usage["prompt_tokens"]) - cached,
        output_tokens=int(usage["completion_tokens"]),
        cache_read_input_tokens=cached,
    )


def read_error(error: dict[str, Any]) -> ModelError:
    """The runtime's error object as the one thing the loop may do about it."""
    code, message = int(error.get("code", 500)), str(error.get("message", "unknown error"))
    provider_code = str(error.get("type", ""))
    if provider_code == "exceed_context_size_error":
        return ModelError(
            message, kind="prompt_too_long", status=code, recover="compact", provider_code=provider_code
        )
    kind = "server" if code >= 500 else "invalid_request"
    return ModelError(
        f"the local runtime refuses: {message}", kind=kind, status=code, provider_code=provider_code
    )
