"""The budget is used up: the query ends before a call that could exceed it, with everything that it has said and done kept."""

from ostinato.loop.budget import BudgetSpent
from ostinato.loop.transitions.step import End, Why
from ostinato.messages import Message
from ostinato.state import Exhausted


def exhausted(outcome: Exhausted) -> End:
    """Nothing is added: what the next query needs is there, and the user is told by the `Terminal`."""
    return over_budget(BudgetSpent(outcome.limit, outcome.message, outcome.hint))


def over_budget(spent: BudgetSpent, added: tuple[Message, ...] = ()) -> End:
    return End("budget_exhausted", added, Why(spent.message, spent.hint, f"budget_{spent.limit}"))
