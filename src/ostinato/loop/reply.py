"""What one response has said so far: completed blocks as fragments, and whether any of them asks for a tool."""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

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
from ostinato.messages import AssistantMessage, ToolUse, Usage, assistant_fragment
from ostinato.normalise.token_estimate import text_tokens
from ostinato.ports import Ids


class Reply(msgspec.Struct):
    """Grows while a response streams.

    `needs_follow_up` is set by a completed `tool_use` block and by nothing else: `stop_reason` is not always right.
    """

    model: str
    previous_id: str = ""
    response_id: str = ""
    assistant_messages: list[AssistantMessage] = msgspec.field(default_factory=list[AssistantMessage])
    tool_use_blocks: list[ToolUse] = msgspec.field(default_factory=list[ToolUse])
    needs_follow_up: bool = False
    streamed_characters: int = 0
    start_usage: Usage = msgspec.field(default_factory=Usage)
    stop: MessageStop | None = None

    def take(self, event: AnyModelEvent, ids: Ids) -> AssistantMessage | None:
        """Take in one event; returns the fragment if the event completed a block."""
        match event:
            case MessageStart():
                self.response_id = self._own_id(event.response_id, ids)
                self.start_usage = event.usage
            case BlockStop():
                return self._complete(event, ids)
            case MessageStop():
                self.stop = event
            case TextDelta(text=piece) | ThinkingDelta(thinking=piece) | InputJsonDelta(partial_json=piece):
                self.streamed_characters += len(piece)
            case BlockStart():
                pass
        return None

    def _own_id(self, given: str, ids: Ids) -> str:
        """`given`, unless the reply before had it too (some servers give all replies one id): they would be one message."""
        if given and (self.previous_id == given or self.previous_id.startswith(f"{given}-")):
            return f"{given}-{ids.uuid()}"
        return given or ids.uuid()

    def _complete(self, event: BlockStop, ids: Ids) -> AssistantMessage:
        if not self.response_id:
            self.response_id = ids.uuid()
        fragment = assistant_fragment(ids.uuid(), self.response_id, self.model, event.block)
        self.assistant_messages.append(fragment)
        if isinstance(event.block, ToolUse):
            self.tool_use_blocks.append(event.block)
            self.needs_follow_up = True
        return fragment

    def known_usage(self, estimated_input: Callable[[], int]) -> Usage:
        """What the response has used, as far as it is known: of one that broke off, what it said, counted by its length, and
        an input that was not reported as estimated. Nothing if nothing of it came.
        """
        if self.stop is not None or not self.response_id:
            return self.usage
        said = max(self.start_usage.output_tokens, text_tokens(self.streamed_characters))
        known = replace(self.start_usage, output_tokens=said)
        is_reported = self.start_usage.context_tokens > self.start_usage.output_tokens
        return known if is_reported else replace(known, input_tokens=estimated_input())

    @property
    def usage(self) -> Usage:
        return self.stop.usage if self.stop else self.start_usage

    @property
    def stop_reason(self) -> str:
        return self.stop.stop_reason if self.stop else ""
