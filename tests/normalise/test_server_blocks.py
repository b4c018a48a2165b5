"""What a provider did itself inside a reply: whole pairs to the model that wrote them, nothing to any other, nothing by halves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.history import History
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    Message,
    ProviderState,
    ServerBlock,
    Text,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.pairing import without_halves
from ostinato.ports import ModelFacts

MODEL = ModelFacts("anthropic", "m", 200_000, 8_000)
OTHER = ModelFacts("anthropic", "n", 200_000, 8_000)


def block(part: str, call_id: str = "s1") -> ServerBlock:
    assert part in {"call", "result", "whole"}
    return ServerBlock(part, call_id, "searched", ProviderState("anthropic", "m", "{}"))  # pyright: ignore[reportArgumentType] - checked above


CALL, FOUND, BOTH = block("call"), block("result"), block("whole")


def reply(*blocks: AssistantBlock, uuid: str = "a1") -> AssistantMessage:
    return AssistantMessage(uuid, f"r-{uuid}", "m", blocks, (uuid,) * len(blocks))


def sent(
    *messages: Message, facts: ModelFacts = MODEL, continues_reply: bool = False
) -> list[tuple[object, ...]]:
    history = History.empty().extend(messages)
    made = Normaliser(facts, strict=True).request_messages(history, continues_reply=continues_reply)
    return [message.content for message in made]


def test_a_pair_stays_as_it_is_and_before_what_was_said_of_it():
    said = (CALL, FOUND, Text("so"))
    assert sent(user_prompt("u", "hi"), reply(*said), user_prompt("v", "and"))[1] == said


def test_another_model_sees_only_what_was_said():
    assert sent(user_prompt("u", "hi"), reply(CALL, FOUND, Text("so")), facts=OTHER)[1] == (Text("so"),)


@pytest.mark.parametrize("half", [CALL, FOUND])
def test_a_half_is_left_out(half: ServerBlock):
    assert sent(user_prompt("u", "hi"), reply(half, Text("so")))[1] == (Text("so"),)
    assert sent(user_prompt("u", "hi"), reply(half), user_prompt("v", "and")) == [(Text("hi"), Text("and"))]


def test_a_paused_reply_goes_back_with_the_search_that_it_waits_for():
    waiting = reply(Text("let me see"), CALL)
    paused = sent(user_prompt("u", "hi"), waiting, continues_reply=True)
    assert paused[1] == (Text("let me see"), CALL)
    rest = reply(FOUND, Text("so"), uuid="a2")
    assert sent(user_prompt("u", "hi"), waiting, rest)[1] == (Text("let me see"), CALL, FOUND, Text("so"))


@given(
    st.lists(
        st.sampled_from([block(part, name) for part in ("call", "result", "whole") for name in "ab"]),
        max_size=8,
    )
)
def test_what_is_left_is_whole_and_stays(blocks: list[ServerBlock]):
    kept = without_halves(blocks)
    for name in "ab":
        parts = [
            one.part
            for one in kept
            if isinstance(one, ServerBlock) and one.call_id == name and one.part != "whole"
        ]
        assert parts in ([], ["call", "result"])
    assert kept.count(block("whole", "a")) == blocks.count(block("whole", "a"))
    assert without_halves(kept) == kept
