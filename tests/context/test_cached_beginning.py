"""With the marks that a request carries, a service that caches as Anthropic's does finds all that the request before had sent: it keeps
what stands before each mark, and looks from a mark back over at most twenty blocks.
"""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.history import History
from ostinato.messages import AssistantMessage, Message, Text, ToolResult, ToolUse, UserMessage
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelFacts, ModelRequest, QuerySource, QueryTracking, ToolSchema
from ostinato.providers.anthropic_wire import AnthropicBodies

FACTS = ModelFacts("anthropic", "m", 200_000, 8_000)
LOOKBACK = 20
MAX_MARKS = 4


class Service:
    """Keeps prefixes, as hashes, and says how many blocks of a request it had."""

    def __init__(self) -> None:
        self._kept: set[int] = set()

    def read(self, body: bytes) -> tuple[int, int]:
        """How many blocks of the request were in the cache, and how many it has."""
        sent = json.loads(body)
        blocks = [*sent.get("tools", ()), *sent.get("system", ())]
        blocks += [
            block | {"role": message["role"]} for message in sent["messages"] for block in message["content"]
        ]
        marks = [place for place, block in enumerate(blocks) if block.pop("cache_control", None)]
        assert len(marks) <= MAX_MARKS
        prefixes = [0]
        for block in blocks:
            prefixes.append(hash((prefixes[-1], json.dumps(block, sort_keys=True))))
        looked_at = {place + 1 - back for place in marks for back in range(LOOKBACK + 1) if place + 1 >= back}
        found = max((place for place in looked_at if place and prefixes[place] in self._kept), default=0)
        self._kept.update(prefixes[place + 1] for place in marks)
        return found, len(blocks)


def turn(number: int, calls: int, texts: int = 0) -> list[Message]:
    """A reply that says something and makes so many calls, and their results."""
    said = [Text(f"{number}: {n}") for n in range(texts)] or ([] if calls else [Text(f"{number}")])
    made = [ToolUse(f"c{number}-{n}", "Read", {"n": n}) for n in range(calls)]
    reply = AssistantMessage(f"a{number}", f"r{number}", "m", (*said, *made))
    if not calls:
        return [reply, UserMessage(f"p{number}", (Text(f"go on {number}"),))]
    results = tuple(ToolResult(f"c{number}-{n}", "seen") for n in range(calls))
    return [reply, UserMessage(f"t{number}", results, origin="tool_result")]


def bodies(turns: list[list[Message]]) -> list[bytes]:
    """The requests of a conversation that grows by these turns."""
    encoder, normaliser = AnthropicBodies(FACTS), Normaliser(FACTS, strict=True)
    history = History.empty().append(UserMessage("p", (Text("go"),)))
    made: list[bytes] = []
    for more in ([], *turns):
        history = history.extend(more)
        messages = normaliser.request_messages(history, "Today is a day.")
        made.append(
            encoder.body(
                ModelRequest(
                    "m",
                    ("You are one.",),
                    messages,
                    (ToolSchema("Read", "Reads.", {"type": "object"}),),
                    1_000,
                    QuerySource("sdk"),
                    QueryTracking("q"),
                )
            )
        )
    return made


def assert_all_found(made: list[bytes]) -> None:
    service = Service()
    read = [service.read(body) for body in made]
    for (_, before), (found, _) in pairwise(read):
        assert found == before


@pytest.mark.parametrize("calls", [0, 1, 7, 8, 10, 11, 20, 30, 64, 200])
def test_however_many_calls_a_reply_makes_all_of_the_request_before_is_found(calls: int):
    assert_all_found(bodies([turn(n, calls) for n in range(3)]))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=1, max_size=4))
def test_in_any_order_of_long_and_short_turns(shapes: list[tuple[int, int]]):
    assert_all_found(bodies([turn(n, calls, texts) for n, (calls, texts) in enumerate(shapes)]))
