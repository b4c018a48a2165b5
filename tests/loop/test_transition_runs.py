"""What a query remembers of its transitions is what it went through, in the room of the few kinds that there were."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.loop.transition_runs import TransitionRuns
from ostinato.records import Continued

TRANSITIONS = st.builds(
    Continued,
    reason=st.sampled_from(["next_turn", "max_output_tokens_recovery"]),
    turn_count=st.integers(1, 4),
    attempt=st.sampled_from([None, 1, 2]),
)


def runs_of(transitions: list[Continued]) -> TransitionRuns:
    runs = TransitionRuns()
    for one in transitions:
        runs.append(one)
    return runs


@given(st.lists(TRANSITIONS, max_size=12))
def test_what_comes_out_is_what_went_in(transitions: list[Continued]):
    assert list(runs_of(transitions)) == transitions


def test_ten_thousand_turns_that_went_on_alike_take_the_room_of_one():
    turns = [Continued("next_turn", number) for number in range(2, 10_002)]
    runs = runs_of(turns)
    assert tuple(runs) == tuple(turns)
    assert len(vars(runs)["_runs"]) == 1
