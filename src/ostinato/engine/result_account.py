"""One submission's account: what was said, spent and waited for while its events passed, and the `Result` made of it.

Every front end gets its numbers from here, so that no two of them count differently.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.engine.answer import Answer
from ostinato.engine.costs import FactsOf, Spent, is_cost_known, total_cost_usd
from ostinato.events import (
    LIMITS_REACHED,
    Event,
    RequestStart,
    ResponseUsage,
    Result,
    ResultSubtype,
    SideUsage,
    StreamEvent,
    Terminal,
)
from ostinato.messages import NO_USAGE, Usage
from ostinato.window_limits import room_left_percent

SUCCESSES: Final = frozenset({"completed", "stop_hook_prevented", "hook_stopped", "tool_deferred"})
"""Terminal reasons that are no error (semantics §3.2)."""

_SUBTYPES: Final[dict[str, ResultSubtype]] = {
    "max_turns": "error_max_turns",
    "structured_output_retry_exhausted": "error_max_structured_output_retries",
}


class ResultAccount:
    """Gathers what the result needs. `rest` is what no complete response accounts for (a reply that broke off), once the
    Terminal came; it is put down to `model`. `is_summarised`: the conversation is, by itself, when it grows too long.
    """

    def __init__(self, model: str, facts_of: FactsOf, monotonic_s: Callable[[], float]) -> None:
        self.model = model
        self._facts_of = facts_of
        self._monotonic_s = monotonic_s
        self._started_s = monotonic_s()
        self._request_started_s: float | None = None
        self._api_s = 0.0
        self._spent = Spent()
        self._beside = NO_USAGE
        self.rest = NO_USAGE
        self._turn_count = 0
        self._stop_reason: str | None = None
        self._last_reply: tuple[str, int] | None = None  # its model, and the tokens that it read and wrote
        self.is_summarised = False
        self._answer = Answer()

    def take_all(self, batch: Sequence[Event]) -> None:
        stream = self._answer.stream
        for event in batch:
            if type(event) is StreamEvent:  # by far the most: nothing else is to be learnt from it
                stream(event.event)
            else:
                self.take(event)

    def take(self, event: Event) -> None:
        self._answer.take(event)
        match event:
            case RequestStart():
                self._request_ended()
                self._request_started_s = self._monotonic_s()
                self._turn_count = max(self._turn_count, event.turn_count)
            case ResponseUsage():
                self._request_ended()
                self._stop_reason = event.stop_reason or None
                self._last_reply = (event.model, event.usage.context_tokens)
                self._spent.add(event.model, event.usage)
            case SideUsage():
                self.spend_beside(event.model, event.usage)
            case Terminal():
                self._request_ended()
                self.rest = event.usage.minus(self._spent.usage.minus(self._beside))
                self._spent.add(self.model, self.rest)
            case _:
                pass

    def spend_beside(self, model: str, usage: Usage) -> None:
        """For what is no reply of the conversation: a summary, a question of a tool."""
        self._spent.add(model, usage)
        self._beside = self._beside.plus(usage)

    def result(self, terminal: Terminal, session_id: str, uuid: str) -> Result:
        """What the query came to. `terminal` was taken before."""
        is_error = terminal.reason not in SUCCESSES
        return replace(
            self.local_result("", session_id, uuid),
            subtype=_error_subtype(terminal) if is_error else "success",
            text=self._answer.text_so_far if terminal.reason in LIMITS_REACHED else self._answer.text,
            usage=terminal.usage,
            turn_count=self._turn_count,
            stop_reason=self._stop_reason,
            transitions=terminal.transitions,
            denials=terminal.denials,
            terminal_reason=terminal.reason,
            errors=self._errors(terminal) if is_error else (),
            hint=terminal.hint,
            error_kind=terminal.error_kind,
            status=terminal.status,
            context_left_percent=self._context_left_percent(),
        )

    def local_result(self, text: str, session_id: str, uuid: str, *, is_error: bool = False) -> Result:
        """What a submission came to that began no query. A command may have asked a model all the same: for a summary."""
        costs = self._spent.costs(self._facts_of)
        return Result(
            "error_during_execution" if is_error else "success",
            session_id,
            uuid,
            text=text,
            tree_usage=self._spent.usage,
            costs=costs,
            total_cost_usd=total_cost_usd(costs),
            cost_is_known=is_cost_known(costs),
            errors=(text,) if is_error else (),
            duration_ms=int((self._monotonic_s() - self._started_s) * 1000),
            duration_api_ms=int(self._api_s * 1000),
        )

    def _context_left_percent(self) -> int | None:
        if self._last_reply is None or not self.is_summarised:
            return None
        model, context_tokens = self._last_reply
        facts = self._facts_of(model)
        return None if facts is None else room_left_percent(facts, context_tokens)

    def _errors(self, terminal: Terminal) -> tuple[str, ...]:
        if terminal.error:
            return (
                self._answer.explained(terminal.error)
                if terminal.reason in LIMITS_REACHED
                else terminal.error,
            )
        return tuple(self._answer.notes) or (f"the query ended early: {terminal.reason}",)

    def _request_ended(self) -> None:
        if self._request_started_s is not None:
            self._api_s += self._monotonic_s() - self._request_started_s
            self._request_started_s = None


def _error_subtype(terminal: Terminal) -> ResultSubtype:
    """Only a limit in dollars is called so: clients know no word for one of time or tokens."""
    if terminal.error_kind == "budget_usd":
        return "error_max_budget_usd"
    return _SUBTYPES.get(terminal.reason, "error_during_execution")
