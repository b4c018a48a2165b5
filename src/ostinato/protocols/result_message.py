"""The one message that ends a query for its client: how it ended, what it said, what it cost, what was denied.

The engine's reasons are mapped to this protocol's words here and nowhere else.
"""

from collections.abc import Callable
from typing import Final, get_args

from ostinato.errors import ModelErrorKind
from ostinato.events import Event, RequestStart, ResponseUsage, Terminal
from ostinato.messages import NO_USAGE, Usage
from ostinato.ports import ModelFacts, Prices
from ostinato.protocols.answer import Answer
from ostinato.protocols.json_lines import JsonObject
from ostinato.protocols.wire_blocks import usage_object

_MODEL_ERRORS: Final = frozenset(get_args(ModelErrorKind))

_SUCCESS_FORMS: Final = frozenset({"completed", "tool_deferred"})
_SUBTYPES: Final = {
    "max_turns": "error_max_turns",
    "budget_exhausted": "error_max_budget_usd",
    "structured_output_retry_exhausted": "error_max_structured_output_retries",
}
_TOKENS_A_PRICE: Final = 1_000_000


class ResultAccount:
    """Gathers what the result needs while the events of one query pass."""

    def __init__(self, model: ModelFacts, session_id: str, monotonic_s: Callable[[], float]) -> None:
        self._model = model
        self._session_id = session_id
        self._monotonic_s = monotonic_s
        self._started_s = monotonic_s()
        self._request_started_s: float | None = None
        self._api_s = 0.0
        self._by_model: dict[str, Usage] = {}
        self._stop_reason: str | None = None
        self.answer = Answer()

    def take(self, event: Event) -> None:
        self.answer.take(event)
        match event:
            case RequestStart():
                self._request_ended()
                self._request_started_s = self._monotonic_s()
            case ResponseUsage():
                self._request_ended()
                self._stop_reason = event.stop_reason or None
                self._by_model[event.model] = self._by_model.get(event.model, NO_USAGE).plus(event.usage)
            case Terminal():
                self._request_ended()
            case _:
                pass

    def message(self, terminal: Terminal, uuid: str) -> JsonObject:
        """The result message. `total_cost_usd` is 0 where a price is unknown; `cost_is_known` says so."""
        usage_of = self._usage_of_models(terminal.usage)
        costs = {model: self._cost(model, usage) for model, usage in usage_of.items()}
        is_model_error = terminal.reason == "model_error" and terminal.error_kind in _MODEL_ERRORS
        return {
            "type": "result",
            "subtype": _subtype(terminal, is_model_error=is_model_error),
            "is_error": terminal.reason not in _SUCCESS_FORMS,
            "duration_ms": int((self._monotonic_s() - self._started_s) * 1000),
            "duration_api_ms": int(self._api_s * 1000),
            "num_turns": terminal.turn_count,
            **self._said(terminal, is_model_error=is_model_error),
            "session_id": self._session_id,
            "stop_reason": self._stop_reason,
            "total_cost_usd": sum(cost or 0.0 for cost in costs.values()),
            "cost_is_known": all(cost is not None for cost in costs.values()),
            "usage": usage_object(terminal.usage),
            "modelUsage": {
                model: self._model_usage(usage, costs[model] or 0.0) for model, usage in usage_of.items()
            },
            "permission_denials": [
                {
                    "tool_name": denial.tool_name,
                    "tool_use_id": denial.tool_use_id,
                    "tool_input": denial.tool_input,
                    "reason": denial.reason,
                }
                for denial in terminal.denials
            ],
            "terminal_reason": "api_error" if is_model_error else terminal.reason,
            "uuid": uuid,
        }

    def _said(self, terminal: Terminal, *, is_model_error: bool) -> JsonObject:
        if terminal.reason in _SUCCESS_FORMS:
            return {"result": self.answer.text}
        told = f"{terminal.error}\n\nhint: {terminal.hint}" if terminal.hint else terminal.error
        prose = told or "\n".join(self.answer.notes) or f"the query ended early: {terminal.reason}"
        if _is_told_as_success(terminal, is_model_error=is_model_error):
            return {"result": prose, "api_error_status": terminal.status}
        return {"errors": [prose]}

    def _usage_of_models(self, total: Usage) -> dict[str, Usage]:
        """Usage by model; what no complete response accounts for (a reply that broke off) is the main model's."""
        known = NO_USAGE
        for usage in self._by_model.values():
            known = known.plus(usage)
        rest = Usage(
            max(0, total.input_tokens - known.input_tokens),
            max(0, total.output_tokens - known.output_tokens),
            max(0, total.cache_read_input_tokens - known.cache_read_input_tokens),
            max(0, total.cache_creation_input_tokens - known.cache_creation_input_tokens),
        )
        if rest == NO_USAGE:
            return dict(self._by_model)
        own = self._by_model.get(self._model.id, NO_USAGE).plus(rest)
        return {**self._by_model, self._model.id: own}

    def _cost(self, model: str, usage: Usage) -> float | None:
        prices = self._model.prices if model == self._model.id else None
        return None if prices is None else cost_usd(usage, prices)

    def _model_usage(self, usage: Usage, cost: float) -> JsonObject:
        return {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadInputTokens": usage.cache_read_input_tokens,
            "cacheCreationInputTokens": usage.cache_creation_input_tokens,
            "webSearchRequests": 0,
            "costUSD": cost,
            "contextWindow": self._model.context_window,
            "maxOutputTokens": self._model.max_output_tokens,
        }

    def _request_ended(self) -> None:
        if self._request_started_s is not None:
            self._api_s += self._monotonic_s() - self._request_started_s
            self._request_started_s = None


def cost_usd(usage: Usage, prices: Prices) -> float:
    """US dollars for these tokens."""
    return (
        usage.input_tokens * prices.input
        + usage.output_tokens * prices.output
        + usage.cache_read_input_tokens * prices.cache_read
        + usage.cache_creation_input_tokens * prices.cache_write
    ) / _TOKENS_A_PRICE


def _is_told_as_success(terminal: Terminal, *, is_model_error: bool) -> bool:
    """Clients of this protocol expect a provider's refusal of the request as a `success` that is an error."""
    return is_model_error or terminal.reason in {"prompt_too_long", "image_error", "refused"}


def _subtype(terminal: Terminal, *, is_model_error: bool) -> str:
    if terminal.reason in _SUCCESS_FORMS or _is_told_as_success(terminal, is_model_error=is_model_error):
        return "success"
    return _SUBTYPES.get(terminal.reason, "error_during_execution")
