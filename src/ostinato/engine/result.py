"""What a query came to, in one value, for callers who do not want the events."""

from collections.abc import Mapping, Sequence

import msgspec

from ostinato.events import Event, ModelCost, Result, Terminal, TerminalReason
from ostinato.messages import Usage


class QueryResult(msgspec.Struct, frozen=True):
    """`events` is everything that happened, in order, up to the Terminal; `result` holds the accounts."""

    terminal: Terminal
    result: Result
    events: tuple[Event, ...]

    @property
    def reason(self) -> TerminalReason:
        return self.terminal.reason

    @property
    def text(self) -> str:
        """The text of the last reply that said something."""
        return self.result.text

    @property
    def usage(self) -> Usage:
        """Tokens of the conversation's own replies, those that broke off or were asked for again included; as `Result.usage`."""
        return self.result.usage

    @property
    def tree_usage(self) -> Usage:
        """Those, and what was spent beside them: summaries and questions of tools. `costs` adds up to this."""
        return self.result.tree_usage

    @property
    def turn_count(self) -> int:
        """The turns that were taken, as `Result` counts them."""
        return self.result.turn_count

    @property
    def costs(self) -> Mapping[str, ModelCost]:
        """What was spent, by model."""
        return self.result.costs

    @property
    def total_cost_usd(self) -> float:
        """The sum of what has known prices; `cost_is_known` says whether that is all."""
        return self.result.total_cost_usd

    @property
    def cost_is_known(self) -> bool:
        return self.result.cost_is_known

    @property
    def session_id(self) -> str:
        return self.result.session_id


def terminal_of(result: Result) -> Terminal:
    """The end of a submission that needed no query, for those who wait for a Terminal."""
    if result.is_error:
        return Terminal("model_error", 0, error="\n".join(result.errors), error_kind="command")
    return Terminal("completed", 0)


def result_of_events(events: Sequence[Event]) -> QueryResult:
    """From all events of a submission. Raises ValueError if the last is no Result."""
    result = events[-1] if events else None
    if not isinstance(result, Result):
        raise ValueError("the events of a submission end with its Result")
    happened = tuple(events[:-1])
    last = happened[-1] if happened else None
    if not isinstance(last, Terminal):
        last = terminal_of(result)
        happened = (*happened, last)
    return QueryResult(last, result, happened)
