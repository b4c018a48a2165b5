"""What counts as the answer of a query: the last thing said, whole, without what was taken back."""

import pickle

import pytest

from ostinato.engine.answer import Answer
from ostinato.events import AssistantEvent, Event, Tombstone, Transition
from ostinato.messages import Text, api_error_message, assistant_fragment
from ostinato.records import Continued


def said(uuid: str, response: str, text: str) -> Event:
    return AssistantEvent(assistant_fragment(uuid, response, "m", Text(text)))


CUT = Transition(Continued("max_output_tokens_recovery", 1, attempt=1))
TOOLS = Transition(Continued("next_turn", 2))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((), ""),
        ((said("a", "r1", "one "), said("b", "r1", "two")), "one two"),
        ((said("a", "r1", "I look"), TOOLS, said("b", "r2", "done")), "done"),
        ((said("a", "r1", "I look"), TOOLS), "I look"),
        (
            (said("a", "r1", "one "), CUT, said("b", "r2", "two "), CUT, said("c", "r3", "three")),
            "one two three",
        ),
        ((said("a", "r1", "one "), CUT, said("b", "r2", "two"), TOOLS, said("c", "r3", "done")), "done"),
        ((said("a", "r1", "one "), CUT, TOOLS), "one "),
        ((said("a", "r1", "one"), Tombstone("a"), said("b", "r2", "one, whole")), "one, whole"),
        (
            (said("a", "r1", "one "), said("b", "r1", "two"), TOOLS, said("c", "r2", "no"), Tombstone("c")),
            "one two",
        ),
        ((said("a", "r1", "one"), AssistantEvent(api_error_message("e", "m", "failed"))), "one"),
    ],
    ids=[
        "nothing",
        "blocks",
        "later",
        "only earlier",
        "cut",
        "cut before tools",
        "cut alone",
        "taken back",
        "all of the later one taken back",
        "note",
    ],
)
def test_the_answer(events: tuple[Event, ...], expected: str):
    answer = Answer()
    for event in events:
        answer.take(event)
    assert answer.text == expected


def test_a_query_of_many_passes_holds_the_words_of_its_last_ones_alone():
    answer, sizes = Answer(), [0, 0]
    for number in range(100, 200):
        answer.take(said(f"a{number}", f"r{number}", f"Now part {number}."))
        answer.take(TOOLS)
        sizes = [sizes[-1], len(pickle.dumps(answer))]
    assert sizes[0] == sizes[1]
    assert answer.text == "Now part 199."
