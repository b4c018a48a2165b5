"""What no provider accepts, checked on requests before any wire: grammar, tools, opaque state, output limit.

The grammar is that of `invariants.py`; the strict server has its own, written from the providers' side.
"""

from collections.abc import Sequence

from ostinato.invariants import problems, tool_problems
from ostinato.messages import RedactedThinking, ServerBlock, Text, Thinking, ToolResult
from ostinato.ports import ModelFacts, ModelRequest, RequestMessage


def request_problems(request: ModelRequest, facts: ModelFacts) -> tuple[str, ...]:
    """Every break of the rules, each named by place; empty for a legal request."""
    return (
        *problems(request.messages, continues_reply=request.continues_reply),
        *_blank_results(request.messages),
        *tool_problems(request.tools),
        *_state_problems(request.messages, facts),
        *_limit_problems(request, facts),
    )


def _blank_results(messages: Sequence[RequestMessage]) -> tuple[str, ...]:
    return tuple(
        f"messages.{position}.content.{place}: a blank text in a result"
        for position, message in enumerate(messages)
        for place, block in enumerate(message.content)
        if isinstance(block, ToolResult) and _has_blank_text(block)
    )


def _has_blank_text(result: ToolResult) -> bool:
    if isinstance(result.content, str):
        return False
    return any(isinstance(part, Text) and not part.text.strip() for part in result.content)


def _state_problems(messages: Sequence[RequestMessage], facts: ModelFacts) -> tuple[str, ...]:
    """Thinking that this model did not write (V4: whole and its own, or absent)."""
    found: list[str] = []
    for position, message in enumerate(messages):
        for place, block in enumerate(message.content):
            if not isinstance(block, Thinking | RedactedThinking | ServerBlock):
                continue
            where = f"messages.{position}.content.{place}"
            if block.state is None:
                found.append(f"{where}: thinking without its signature")
            elif (block.state.provider, block.state.model) != (facts.provider, facts.id):
                found.append(f"{where}: thinking signed by {block.state.provider}/{block.state.model}")
    return tuple(found)


def _limit_problems(request: ModelRequest, facts: ModelFacts) -> tuple[str, ...]:
    if not 0 < request.max_output_tokens <= facts.max_output_tokens:
        return (f"max_output_tokens: {request.max_output_tokens} is not in 1..{facts.max_output_tokens}",)
    return ()
