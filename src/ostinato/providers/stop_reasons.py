"""Why a reply ended, in Anthropic's words, whatever a provider calls it. Content outranks metadata: an unknown word
ends a turn that asked for tools with `tool_use`, any other with `end_turn`."""

from collections.abc import Mapping
from types import MappingProxyType

ANTHROPIC_STOP_REASONS = frozenset({
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
})

OPENAI_STOP_REASONS: Mapping[str, str] = MappingProxyType({
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "tool_use": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
})
"""Lower-cased finish reasons that say more than "ended"; `stop`, `eos` and everything unknown do not."""


def anthropic_stop_reason(raw: str, *, has_calls: bool) -> str:
    return raw if raw in ANTHROPIC_STOP_REASONS else _from_content(has_calls=has_calls)


def openai_stop_reason(raw: str, *, has_calls: bool) -> str:
    return OPENAI_STOP_REASONS.get(raw.lower(), _from_content(has_calls=has_calls))


def responses_stop_reason(status: str, incomplete_reason: str, *, has_calls: bool, is_refusal: bool) -> str:
    """From a response's `status` and the reason it gives for being incomplete."""
    if incomplete_reason == "content_filter":
        return "refusal"
    if status == "incomplete":
        return OPENAI_STOP_REASONS.get(
            incomplete_reason, "max_tokens" if not incomplete_reason else _from_content(has_calls=has_calls)
        )
    return "refusal" if is_refusal and not has_calls else _from_content(has_calls=has_calls)


def _from_content(*, has_calls: bool) -> str:
    return "tool_use" if has_calls else "end_turn"
