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
from ostinato.messages import AssistantMessage, ServerBlock, Text, ToolUse, Usage, assistant_fragment
from ostinato.normalise.token_estimate import text_tokens
from ostinato.ports import Ids


def _knows_none(_call_id: str) -> bool:
    return False


class Reply(msgspec.Struct):
    """Grows while a response streams.

    `needs_follow_up` is set by a completed `tool_use` block and by nothing else: `stop_reason` is not always right.
    `knows_call` says whether the conversation has a call with this id already.
    """

    model: str
    previous_id: str = ""
    response_id: str = ""
    assistant_messages: list[AssistantMessage] = msgspec.field(default_factory=list[AssistantMessage])
    tool_use_blocks: list[ToolUse] = msgspec.field(default_factory=list[ToolUse])
    given_calls: list[ToolUse] = msgspec.field(default_factory=list[ToolUse])
    """The same calls as they came, before their ids were made unique."""
    needs_follow_up: bool = False
    open_text: list[str] = msgspec.field(default_factory=list[str])
    """What came of a text that is not complete yet."""
    streamed_characters: int = 0
    start_usage: Usage = msgspec.field(default_factory=Usage)
    stop: MessageStop | None = None
    knows_call: Callable[[str], bool] = _knows_none

    def take(self, event: AnyModelEvent, ids: Ids) -> AssistantMessage | None:
        """Take in one event; returns the fragment if the event completed a block."""
        if type(event) is TextDelta:  # by far the most
            self.streamed_characters += len(event.text)
            self.open_text.append(event.text)
            return None
        match event:
            case MessageStart():
                self.response_id = self._own_id(event.response_id, ids)
                self.start_usage = event.usage
            case BlockStop():
                return self._complete(event, ids)
            case MessageStop():
                self.stop = event
            case ThinkingDelta(thinking=piece) | InputJsonDelta(partial_json=piece):
                self.streamed_characters += len(piece)
            case BlockStart() | TextDelta():
                pass
        return None

    def _own_id(self, given: str, ids: Ids) -> str:
        """`given`, unless the reply before had it too (some servers give all replies one id): they would be one message."""
        if given and (self.previous_id == given or self.previous_id.startswith(f"{given}-")):
            return f"{given}-{ids.uuid()}"
        return given or ids.uuid()

    def _complete(self, event: BlockStop, ids: Ids) -> AssistantMessage | None:
        if not self.response_id:
            self.response_id = ids.uuid()
        block = event.block
        if isinstance(block, Text):
            self.open_text.clear()
        if isinstance(block, ToolUse):
            if block.id and block in self.given_calls:
                return None  # the same call, sent twice
            self.given_calls.append(block)
            block = self._with_own_id(block, ids)
            self.tool_use_blocks.append(block)
            self.needs_follow_up = True
        fragment = assistant_fragment(ids.uuid(), self.response_id, self.model, block)
        self.assistant_messages.append(fragment)
        return fragment

    def cut_off(self, ids: Ids) -> AssistantMessage | None:
        """The text that will not be completed any more, as it was shown: the last fragment of the reply. An open thought or call
        is nothing that could be sent again.
        """
        text = "".join(self.open_text)
        self.open_text.clear()
        if not text.strip():
            return None
        self.response_id = self.response_id or ids.uuid()
        fragment = replace(
            assistant_fragment(ids.uuid(), self.response_id, self.model, Text(text)), is_incomplete=True
        )
        self.assistant_messages.append(fragment)
        return fragment

    def _with_own_id(self, block: ToolUse, ids: Ids) -> ToolUse:
        """Results find their calls by id: an empty one, and one that another call has, would lose a result."""
        is_taken = any(other.id == block.id for other in self.tool_use_blocks) or self.knows_call(block.id)
        return replace(block, id=ids.uuid()) if is_taken or not block.id else block

    @property
    def said(self) -> AssistantMessage | None:
        """All of it in one message; None if no block is complete."""
        if not self.assistant_messages:
            return None
        blocks = tuple(block for message in self.assistant_messages for block in message.content)
        return AssistantMessage(self.assistant_messages[0].uuid, self.response_id, self.model, blocks)

    def known_usage(self, estimated_input: Callable[[], int]) -> Usage:
        """What the response has used, as far as it is known: of one that broke off, what it said, counted by its length, and
        an input that was not reported as estimated. Nothing if nothing of it came.
        """
        if self.stop is not None or not self.response_id:
            return self.usage
        said = max(self.start_usage.output_tokens, text_tokens(self.streamed_characters))
        known = replace(self.usage, output_tokens=said)
        is_reported = self.start_usage.context_tokens > self.start_usage.output_tokens
        return known if is_reported else replace(known, input_tokens=estimated_input())

    @property
    def usage(self) -> Usage:
        """As the provider reported it; of a reply that broke off, the searches that were seen count too."""
        if self.stop is not None:
            return self.stop.usage
        blocks = (block for message in self.assistant_messages for block in message.content)
        searches = sum(block.searches for block in blocks if isinstance(block, ServerBlock))
        known = self.start_usage
        return replace(known, web_searches=searches) if searches > known.web_searches else known

    @property
    def stop_reason(self) -> str:
        return self.stop.stop_reason if self.stop else ""
