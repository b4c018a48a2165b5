"""What a server once signed: thinking comes back whole and unchanged with its calls, or not at all (V4)."""

from collections.abc import Iterable, Sequence
from typing import Any

from ostinato.testing.wire_json import as_dicts, as_text
from ostinato.testing.wire_rules import Problem

THINKING = frozenset({"thinking", "redacted_thinking"})


class IssuedThinking:
    """The thinking blocks of every reply, by the ids of the calls that came with them, in wire form."""

    def __init__(self) -> None:
        self._by_call: dict[str, list[dict[str, Any]]] = {}
        self._by_signature: dict[str, str] = {}

    def remember(self, blocks: Sequence[dict[str, Any]], *, begun: Sequence[dict[str, Any]] = ()) -> None:
        """Keep what one reply said; `begun` is the message that it went on in."""
        thinking = [_bare(block) for block in (*begun, *blocks) if block.get("type") in THINKING]
        for block in blocks:
            if block.get("type") == "tool_use":
                self._by_call[as_text(block.get("id"))] = thinking
        for block in thinking:
            if block.get("signature"):
                self._by_signature[as_text(block["signature"])] = as_text(block.get("thinking"))

    def problems(self, messages: Sequence[dict[str, Any]]) -> Iterable[Problem]:
        for index, message in enumerate(messages):
            if message.get("role") == "assistant":
                yield from self._message_problems(index, as_dicts(message.get("content")))

    def _message_problems(self, index: int, content: list[dict[str, Any]]) -> Iterable[Problem]:
        thinking = [_bare(block) for block in content if block.get("type") in THINKING]
        for block in thinking:
            issued = self._by_signature.get(as_text(block.get("signature")))
            if issued is not None and issued != block.get("thinking"):
                yield Problem("V4", f"messages.{index}.content: Invalid `signature` in `thinking` block")
        calls = [as_text(block.get("id")) for block in content if block.get("type") == "tool_use"]
        issued_with = next((self._by_call[call] for call in calls if call in self._by_call), None)
        if thinking and issued_with is not None and thinking != issued_with:
            text = (
                f"messages.{index}.content: `thinking` or `redacted_thinking` blocks in the latest assistant message "
                "cannot be modified. These blocks must remain as they were in the original response."
            )
            yield Problem("V4", text)


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}
