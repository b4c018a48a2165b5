"""With the marks that a request carries, a service that caches as Anthropic's does finds all that the request before had sent: it keeps
what stands before each mark, and looks from a mark back over at most twenty blocks. Another conversation finds what both begin with.
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
TOOLS = (ToolSchema("Read", "Reads.", {"type": "object"}),)
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


def bodies(
    turns: list[list[Message]], system: tuple[str, ...] = ("You are one.",), own: int = 0
) -> list[bytes]:
    """The requests of a conversation that grows by these turns; so many of the last system blocks are its own."""
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
                    system,
                    messages,
                    TOOLS,
                    1_000,
                    QuerySource("sdk"),
                    QueryTracking("q"),
                    own_system_blocks=own,
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
    turns = [turn(n, calls) for n in range(3)]
    assert_all_found(bodies(turns))
    assert_all_found(bodies(turns, ("You are one.", "You are here."), own=1))


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30)), min_size=1, max_size=4))
def test_in_any_order_of_long_and_short_turns(shapes: list[tuple[int, int]]):
    assert_all_found(bodies([turn(n, calls, texts) for n, (calls, texts) in enumerate(shapes)]))


SHARED = 3
"""The tool and two system blocks."""


@pytest.mark.parametrize("calls", [0, 1, 8, 30])
def test_another_conversation_finds_the_tools_and_the_system_prompt_but_what_is_its_own(calls: int):
    service = Service()
    for where in "here", "there":
        made = bodies(
            [turn(n, calls) for n in range(2)], ("You are one.", "Be brief.", f"You are {where}."), own=1
        )
        read = [service.read(body) for body in made]
        assert read[0][0] == (0 if where == "here" else SHARED)


def test_when_its_messages_are_others_a_conversation_finds_its_own_system_blocks_too():
    service, system = Service(), ("You are one.", "Be brief.", "You are here.")
    for body in bodies([turn(0, 1)], system, own=1):
        service.read(body)
    encoder = AnthropicBodies(FACTS)
    messages = Normaliser(FACTS, strict=True).request_messages(
        History.empty().append(UserMessage("s", (Text("A summary."),))), "Today is another day."
    )
    request = ModelRequest(
        "m", system, messages, TOOLS, 1_000, QuerySource("sdk"), QueryTracking("q"), own_system_blocks=1
    )
    assert service.read(encoder.body(request))[0] == SHARED + 1
