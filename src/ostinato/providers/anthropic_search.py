"""Searches that the Anthropic service runs inside a reply: kept block by block as they came, and told in words."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

from ostinato.messages import ProviderState, ServerBlock
from ostinato.providers.anthropic_wire import WireBlock
from ostinato.providers.lenient_json import Unreadable, encode

MAX_SHOWN = 10
"""Results that are told by name."""


class Found(msgspec.Struct, frozen=True):
    """One result, as far as it is shown; what is in it is encrypted."""

    title: str = ""
    url: str = ""


class Failed(msgspec.Struct, frozen=True):
    error_code: str = "unavailable"


_FOUND = msgspec.json.Decoder(list[Found])
_FAILED = msgspec.json.Decoder(Failed)


def is_search(block: WireBlock) -> bool:
    """Whether it is a call of the search tool with an id, or what one found."""
    if block.type == "server_tool_use":
        return block.name == "web_search" and bool(block.id)
    return bool(block.tool_use_id) and bytes(block.content) != b""


def server_block(started: WireBlock, streamed: str, state: Callable[[str], ProviderState]) -> ServerBlock:
    """A complete one; `streamed` is the text of a call's input."""
    caller = {"caller": started.caller} if bytes(started.caller) else {}
    if started.type == "server_tool_use":
        tool_input = _object(streamed) or _object(started.input)
        wire: dict[str, object] = {
            "type": started.type,
            "id": started.id,
            "name": started.name,
            "input": tool_input,
            **caller,
        }
        text = f"searched the web: {tool_input.get('query', '')}"
        kept = state(encode(wire).decode("utf-8", "replace"))
        # The service counts at the end of its reply only: of one that is cut before, each search that was begun is taken for paid.
        return ServerBlock("call", started.id or "", text, kept, searches=1)
    # What is not looked into was not checked either: bytes that are no text may be in it.
    content = bytes(started.content).decode("utf-8", "replace").encode()
    wire = {
        "type": started.type,
        "tool_use_id": started.tool_use_id,
        "content": msgspec.Raw(content),
        **caller,
    }
    told = _told(content)
    return ServerBlock(
        "result", started.tool_use_id or "", told, state(encode(wire).decode("utf-8", "replace"))
    )


def _object(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given) if given else {}
        except Unreadable:  # cut off: it has no result either, and is never sent
            return {}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _told(content: bytes) -> str:
    try:
        found = _FOUND.decode(content)
    except msgspec.MsgspecError:
        try:
            return f"the search failed: {_FAILED.decode(content).error_code}"
        except msgspec.MsgspecError:
            return "the search has an answer that cannot be read"
    lines = [f"{one.title} – {one.url}" for one in found[:MAX_SHOWN]]
    return "\n".join([f"found {len(found)} page{'' if len(found) == 1 else 's'}", *lines])
