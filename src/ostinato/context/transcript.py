"""Messages as one plain text, for a summary that is asked for on its own: who said what, which tools ran, how their results began."""

from collections.abc import Iterator, Sequence
from typing import Final

from ostinato.codec import encode
from ostinato.context.deeds import cut
from ostinato.messages import AssistantMessage, Message, Text, ToolResult, ToolUse, UserMessage
from ostinato.normalise.rendering import rendered_user_blocks

MAX_RESULT_CHARACTERS: Final = 2_000
MAX_INPUT_CHARACTERS: Final = 1_000


def transcript_text(messages: Sequence[Message]) -> str:
    return "\n\n".join(part for message in messages for part in _parts(message))


def _parts(message: Message) -> Iterator[str]:
    if isinstance(message, AssistantMessage):
        if message.is_error:
            return
        for block in message.content:
            if isinstance(block, Text) and block.text.strip():
                yield f"ASSISTANT: {block.text}"
            elif isinstance(block, ToolUse):
                given = cut(encode(dict(block.input)).decode(), MAX_INPUT_CHARACTERS)
                yield f"ASSISTANT calls {block.name}: {given}"
        return
    speaker = "USER" if isinstance(message, UserMessage) and not message.is_meta else "CONTEXT"
    for block in rendered_user_blocks(message):
        if isinstance(block, ToolResult):
            yield f"RESULT: {cut(_text(block), MAX_RESULT_CHARACTERS)}"
        elif isinstance(block, Text):
            yield f"{speaker}: {block.text}"
        else:
            yield f"{speaker}: [an image or a document]"


def _text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(
        part.text if isinstance(part, Text) else "[an image or a document]" for part in result.content
    )
