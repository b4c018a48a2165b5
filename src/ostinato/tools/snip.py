"""Snip: the model asks for old rounds to be hidden, whole; nothing is lost, and the user can bring them back.

The call is the wish: what hides them, before the next request, reads it from the conversation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ostinato.hideable_rounds import TOOL_NAME, HideableRound, HideableRounds
from ostinato.tool import NO_ACCESS, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import MAX_FAILURE_CHARACTERS, refusal, success

PROMPT: Final = (
    "Hide old calls and results that you need no more, to make room. Use the names a reminder lists."
)

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"rounds": {"type": "array", "items": {"type": "string"}}},
    "required": ["rounds"],
    "additionalProperties": False,
}
MAX_LISTED: Final = 40


class SnipInput(msgspec.Struct, frozen=True):
    rounds: tuple[str, ...]


def snip_tool(hideable: HideableRounds) -> Tool:
    """It counts as read-only: it touches nothing but what the model itself sees, so nobody is asked."""

    async def snip(tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        del context
        chosen = _chosen(tool_input, hideable)
        if isinstance(chosen, str):
            return refusal(chosen)
        hidden = "; ".join(one.what for one in chosen[:MAX_LISTED])
        text = f"From your next request on these are hidden (about {_tokens(chosen):,} tokens): {hidden}."
        return success(text, max_characters=MAX_FAILURE_CHARACTERS)

    async def why_not_snip(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
        del context
        chosen = _chosen(tool_input, hideable)
        return chosen if isinstance(chosen, str) else None

    return Tool(
        name=TOOL_NAME,
        description=PROMPT,
        input_schema=SCHEMA,
        call=snip,
        cannot_succeed=why_not_snip,
        access=lambda _input, _workspace: NO_ACCESS,
        is_read_only=lambda _input: True,
    )


def _chosen(tool_input: Mapping[str, Any], hideable: HideableRounds) -> Sequence[HideableRound] | str:
    """The rounds that are named, or why they are not hidden."""
    wanted = msgspec.convert(dict(tool_input), SnipInput).rounds
    known = {one.name: one for one in hideable.look()}
    unknown = [name for name in dict.fromkeys(wanted) if name not in known]
    chosen = [one for one in known.values() if one.name in wanted]
    if unknown or not chosen:
        return _not_there(unknown, tuple(known.values()))
    if _tokens(chosen) < hideable.least_tokens:
        return (
            f"Nothing was hidden: these are about {_tokens(chosen):,} tokens, and below {hideable.least_tokens:,} it costs more than "
            "it gains. Name more at once, or leave them."
        )
    return chosen


def _tokens(rounds: Sequence[HideableRound]) -> int:
    return sum(one.tokens for one in rounds)


def _not_there(unknown: Sequence[str], known: Sequence[HideableRound]) -> str:
    if not known:
        return "There is nothing that may be hidden: your newest two rounds and the user's words stay."
    what = (
        f"These may not be hidden: {', '.join(unknown[:MAX_LISTED])}." if unknown else "No round was named."
    )
    listed = "\n".join(f"- {one.name}: {one.what} ({one.tokens:,} tokens)" for one in known[-MAX_LISTED:])
    return f"{what} Nothing was hidden. These may be:\n{listed}"
