"""However long a session goes on, the writer remembers the newest messages alone, and still knows the last that stands."""

from ostinato.journal.chain import MAX_REMEMBERED, Chain
from ostinato.messages import user_prompt
from ostinato.records import Retract


def test_a_session_of_days_remembers_the_newest_messages_alone():
    chain = Chain(user_prompt(f"p{number}", "x") for number in range(10 * MAX_REMEMBERED))
    assert chain.last == f"p{10 * MAX_REMEMBERED - 1}"
    newest = tuple(f"p{10 * MAX_REMEMBERED - number}" for number in range(1, 1_000))
    chain.follow(Retract("e", newest))
    assert chain.last == f"p{10 * MAX_REMEMBERED - 1_000}"
    everything = tuple(f"p{number}" for number in range(10 * MAX_REMEMBERED))
    chain.follow(Retract("f", everything[MAX_REMEMBERED:]))
    assert chain.last is None
