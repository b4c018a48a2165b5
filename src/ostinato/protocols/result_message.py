"""The one message that ends a query for its client: the engine's `Result` in this protocol's words.

The words are mapped here and nowhere else; every number is the engine's.
"""

from typing import Final, get_args

from ostinato.errors import ModelErrorKind
from ostinato.events import LIMITS_REACHED, ModelCost, Result
from ostinato.protocols.json_lines import JsonObject
from ostinato.protocols.wire_blocks import usage_object

_MODEL_ERRORS: Final = frozenset(get_args(ModelErrorKind))
_TOLD_AS_SUCCESS: Final = frozenset({"prompt_too_long", "image_error", "refused"})
"""Clients of this protocol expect a provider's refusal of the request as a `success` that is an error."""


def result_message(result: Result) -> JsonObject:
    """`total_cost_usd` is 0 where a price is unknown; `cost_is_known` says so."""
    is_model_error = result.terminal_reason == "model_error" and result.error_kind in _MODEL_ERRORS
    is_told_as_success = is_model_error or result.terminal_reason in _TOLD_AS_SUCCESS
    return {
        "type": "result",
        "subtype": "success" if is_told_as_success else result.subtype,
        "is_error": result.is_error,
        "duration_ms": result.duration_ms,
        "duration_api_ms": result.duration_api_ms,
        "num_turns": result.turn_count,
        **_said(result, is_told_as_success=is_told_as_success),
        "session_id": result.session_id,
        "stop_reason": result.stop_reason,
        "total_cost_usd": result.total_cost_usd,
        "cost_is_known": result.cost_is_known,
        "usage": usage_object(result.usage),
        "modelUsage": {model: _model_usage(cost) for model, cost in result.costs.items()},
        "permission_denials": [
            {
                "tool_name": denial.tool_name,
                "tool_use_id": denial.tool_use_id,
                "tool_input": denial.tool_input,
                "reason": denial.reason,
            }
            for denial in result.denials
        ],
        **_ended(result, is_model_error=is_model_error),
        "uuid": result.uuid,
    }


def _said(result: Result, *, is_told_as_success: bool) -> JsonObject:
    if not result.is_error:
        return {"result": result.text}
    told = "\n".join(result.errors)
    prose = f"{told}\n\nhint: {result.hint}" if result.hint else told
    if is_told_as_success:
        return {"result": prose, "api_error_status": result.status}
    if result.text and result.terminal_reason in LIMITS_REACHED:
        return {"result": result.text, "errors": [prose]}
    return {"errors": [prose]}


def _ended(result: Result, *, is_model_error: bool) -> JsonObject:
    """Nothing for a command that no query was run for."""
    if result.terminal_reason is None:
        return {}
    return {"terminal_reason": "api_error" if is_model_error else result.terminal_reason}


def _model_usage(cost: ModelCost) -> JsonObject:
    return {
        "inputTokens": cost.usage.input_tokens,
        "outputTokens": cost.usage.output_tokens,
        "cacheReadInputTokens": cost.usage.cache_read_input_tokens,
        "cacheCreationInputTokens": cost.usage.cache_creation_input_tokens,
        "webSearchRequests": cost.usage.web_searches,
        "costUSD": cost.cost_usd or 0.0,
        "contextWindow": cost.context_window,
        "maxOutputTokens": cost.max_output_tokens,
    }
