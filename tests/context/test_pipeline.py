"""The stages in order: never more tokens, never a broken pair, the same bytes before the first edit, and quiet the second time."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from tests.context.talks import EMPTY, FACTS, FULL, history, prose, reply, results, round_of
from tests.conversations import CONVERSATIONS

from ostinato.context.microcompact import Microcompact
from ostinato.context.pipeline import Pipeline, freed_tokens
from ostinato.context.snip import RedundantRounds
from ostinato.context.tool_result_budget import ToolResultBudget
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.messages import Message, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import AnyEdit, Record, ReplaceResult
from ostinato.testing import CountingIds


async def kept(call_id: str, _text: str) -> str | None:
    return f"/kept/{call_id}.txt"


def pipeline() -> Pipeline:
    ids = CountingIds("e").uuid
    return Pipeline({
        "microcompact": Microcompact(ids),
        "tool_result_budget": ToolResultBudget(ids, kept, lambda _name: 3_000),
        "snip": RedundantRounds(ids),
    })


class Noted:
    """A stage that gives what it was told to give and remembers what it saw."""

    def __init__(self, *edits: AnyEdit) -> None:
        self.seen: list[tuple[History, PassFacts]] = []
        self._edits = edits

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        self.seen.append((messages, facts))
        return self._edits


async def test_each_stage_sees_what_the_ones_before_it_freed():
    of = history(*round_of("c", prose(50_000, "x"), "Bash", command="x"))
    first, second = Noted(ReplaceResult("e1", "c", "short")), Noted()
    edits = await Pipeline({"microcompact": second, "tool_result_budget": first})(of, FULL)
    assert list(edits) == [ReplaceResult("e1", "c", "short")]
    seen, facts = second.seen[0]
    assert results(seen) == {"c": "short"}
    assert facts.used_tokens == FULL.used_tokens - freed_tokens(of, seen)
    assert freed_tokens(of, seen) > 15_000


async def test_a_stage_that_would_make_it_longer_is_not_heard():
    of = history(*round_of("c", "short"))
    assert await Pipeline({"snip": Noted(ReplaceResult("e1", "c", prose(9_000, "long")))})(of, FULL) == []


async def test_with_nothing_to_do_nothing_is_done():
    assert await pipeline()(history(*round_of("c", "short"), reply("a", "ok")), EMPTY) == []


KINDS = st.lists(
    st.tuples(st.sampled_from(["read", "again", "bash", "say", "prompt", "error"]), st.integers(0, 60_000)),
    max_size=30,
)


def talk(plan: Sequence[tuple[str, int]]) -> History:
    messages: list[Message] = []
    for number, (kind, size) in enumerate(plan):
        match kind:
            case "read":
                messages += round_of(f"c{number}", prose(size, f"r{number}"))
            case "again":
                messages += round_of(f"c{number}", prose(size, "same"), file_path="same.py")
            case "bash":
                messages += round_of(f"c{number}", prose(size, "same"), "Bash", command="make")
            case "error":
                messages += round_of(f"c{number}", prose(size, "bad"), is_error=True)
            case "say":
                messages.append(reply(f"s{number}", prose(size + 1, "said")))
            case _:
                messages.append(user_prompt(f"p{number}", prose(size + 1, "wish")))
    return history(*messages)


USED = st.integers(0, 400_000)
IDLE = st.sampled_from([None, 10.0, 9_999.0])


@given(KINDS, USED, IDLE)
async def test_whatever_was_said_it_is_never_longer_never_illegal_and_done_once(
    plan: list[tuple[str, int]], used: int, idle_s: float | None
):
    before, facts = talk(plan), PassFacts(FACTS, used, idle_s)
    after = before.extend(await pipeline()(before, facts))
    assert freed_tokens(before, after) >= 0
    Normaliser(FACTS, strict=True).request_messages(after)
    assert await pipeline()(after, facts) == []
    assert History.fold(after.log()).view() == after.view()


@given(KINDS, USED)
async def test_what_stands_before_the_first_edit_keeps_its_bytes(plan: list[tuple[str, int]], used: int):
    before = talk(plan)
    after = before.extend(await pipeline()(before, PassFacts(FACTS, used)))
    for old, new in zip(before.view(), after.view(), strict=False):
        if old != new:
            break
        assert old is new


@given(CONVERSATIONS, USED, IDLE)
async def test_conversations_in_any_disorder_are_shortened_without_harm(
    records: list[Record], used: int, idle_s: float | None
):
    before = History.fold(records)
    after = before.extend(await pipeline()(before, PassFacts(FACTS, used, idle_s)))
    assert freed_tokens(before, after) >= 0
    assert History.fold(after.log()).view() == after.view()
