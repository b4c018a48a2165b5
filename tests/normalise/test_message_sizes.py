"""The size of a request from the size of the one before it: always what a fresh count gives, whatever has changed."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.messages import Text
from ostinato.normalise.shared_beginning import shared_beginning
from ostinato.normalise.token_estimate import MessageSizes
from ostinato.ports import RequestMessage

CONVERSATIONS = st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=8)
POOL = [RequestMessage("user", (Text("word " * number),)) for number in range(7)]


@given(CONVERSATIONS, st.booleans())
def test_it_is_the_same_as_a_fresh_count(requests: list[list[int]], is_copied: bool):
    kept = MessageSizes()
    for request in requests:
        messages = [POOL[number] for number in request]
        if is_copied:
            messages = [RequestMessage(one.role, one.content) for one in messages]
        assert kept.total(messages) == MessageSizes().total(messages)


def test_the_shared_beginning_is_that_of_the_same_objects():
    first, second, third = POOL[:3]
    assert shared_beginning([first, second], [first, second, third]) == 2
    assert shared_beginning([first, second, third], [first, third, third]) == 1
    assert shared_beginning([], [first]) == 0
    assert shared_beginning([first], [RequestMessage(first.role, first.content)]) == 0
