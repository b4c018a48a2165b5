"""What the user and programs are told when the provider's prompt cache was missed: how much, and why, in words and as data."""

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ostinato.cache_breaks import KEPT_S, NO_FAULT, CacheBreak, CacheBreakCause, Replied
from ostinato.events import SystemEvent
from ostinato.loop.deps import Deps
from ostinato.loop.ledger import Ledger
from ostinato.loop.reply import Reply
from ostinato.loop.request import RequestBuilder
from ostinato.messages import SystemMessage, notice_message
from ostinato.state import State

SUBTYPE: Final = "cache_break"
MAX_NAMED: Final = 3
"""Edits in the text; the data has them all."""

WHY: Final[Mapping[CacheBreakCause, str]] = MappingProxyType({
    "model": "another model answers ({what})",
    "thinking": "the model is to think more, or less",
    "tools": "the list of tools is another one ({what})",
    "system": "the system prompt is another one",
    "instructions": "the instructions or the date at the beginning are others",
    "messages": "something that was sent before has changed, and no record says why",
    "edit": "the conversation was shortened, or what was shortened was taken back ({what})",
    "compaction": "the conversation was summarised ({what})",
    "time": f"more than {KEPT_S / 60:.0f} minutes had passed",
    "server": "nothing was changed here; the provider did not keep it",
})


async def tell_cache_break(
    reply: Reply, state: State, began_s: float, deps: Deps, ledger: Ledger, requests: RequestBuilder
) -> None:
    """After a complete reply. Most have nothing to tell."""
    if deps.watch_cache is None:
        return
    context = state.tool_use_context
    replied = Replied(
        reply.response_id, context.model, requests.build(state), state.messages, reply.usage, began_s
    )
    found = deps.watch_cache(replied)
    if found is not None:
        notice = cache_break_notice(deps.ids.uuid(), found)
        logging.getLogger("ostinato.cache").info(notice.text)
        await ledger.record_then_emit((notice, SystemEvent(notice)))


def cache_break_notice(uuid: str, found: CacheBreak) -> SystemMessage:
    edits = _named(found.edits)
    causes: list[tuple[CacheBreakCause, str]] = [(found.cause, found.what), *found.also]
    why = "; and ".join(WHY[cause].format(what=what or edits) for cause, what in causes)
    text = (
        f"the provider read {found.read_tokens:,} of {found.expected_tokens:,} tokens from its cache: {why}"
    )
    data = {
        "cause": found.cause,
        "what": found.what,
        "edits": list(found.edits),
        "also": [{"cause": cause, "what": what} for cause, what in found.also],
        "expected_tokens": found.expected_tokens,
        "read_tokens": found.read_tokens,
    }
    level = "info" if all(cause in NO_FAULT for cause, _ in causes) else "warning"
    return notice_message(uuid, SUBTYPE, text, level=level, data=data)


def _named(edits: Sequence[str]) -> str:
    named = ", ".join(f"edit {edit[:8]}" for edit in edits[:MAX_NAMED])
    return f"{named} and {len(edits) - MAX_NAMED} more" if len(edits) > MAX_NAMED else named
