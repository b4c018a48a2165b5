"""C1 to C9: what holds for the five stages together, in every window and however full it is, whatever was said.

Each test is one of them by its number. The summariser is scripted; it returns nothing of what was said.
"""

import json
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.context.compactions import nothing
from tests.context.talks import prose, reply, round_of

from ostinato.context.autocompact import MAX_FAILURES, Autocompact
from ostinato.context.collapse import Collapse
from ostinato.context.compaction import Compaction
from ostinato.context.media_cap import MediaCap
from ostinato.context.microcompact import USED_SHARE, Microcompact
from ostinato.context.pipeline import ORDER, Pipeline, StageName, freed_tokens
from ostinato.context.reactive import ReactiveCompaction, message_tokens
from ostinato.context.snip import RedundantRounds
from ostinato.context.stage import Stage
from ostinato.context.tool_result_budget import ToolResultBudget
from ostinato.context_pass import PassFacts, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.history import History
from ostinato.messages import (
    Message,
    Text,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import CONTINUES, Normaliser
from ostinato.ports import ModelFacts, ModelRequest, QuerySource, QueryTracking, RequestMessage, ToolSchema
from ostinato.providers.anthropic_wire import AnthropicBodies
from ostinato.records import AnyEdit, Boundary, Edit, Fold, ReplaceResult, Snip, Undo
from ostinato.testing import CountingIds, find_anthropic_problems
from ostinato.window_limits import (
    auto_compact_tokens,
    collapse_commit_tokens,
    collapse_staging_tokens,
    effective_window_tokens,
    hard_limit_tokens,
)

WINDOWS = (4_000, 8_000, 32_000, 128_000, 200_000, 1_000_000, 2_000_000)
FEW = settings(max_examples=15)
FIRST, LAST = "The very first wish: keep the tests green.", "The newest wish: go on with the docs."
SUMMARY = SummaryReply("<summary>Things were done, and more are to do.</summary>")
NO_SUMMARY = SummaryFailed("error", "no")


@pytest.fixture
def anyio_backend() -> str:
    """Nothing here waits for anything."""
    return "asyncio"


def facts_of(window: int) -> ModelFacts:
    return ModelFacts("anthropic", "m", window, 32_000)


async def kept(call_id: str, _text: str) -> str | None:
    return f"/kept/{call_id}.txt"


class Noted:
    """A stage, and each look that it took: what it was told, what it saw and what it gave."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.looks: list[tuple[PassFacts, History, Sequence[AnyEdit]]] = []

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        edits = await self._stage(messages, facts)
        self.looks.append((facts, messages, edits))
        return edits


class Stages:
    """All of them, noted; `reply` is what the summariser gives, `failed` the failures that were told."""

    def __init__(self, reply: SummaryReply | SummaryFailed = SUMMARY) -> None:
        ids = CountingIds("e").uuid
        reactive = ReactiveCompaction(ids)

        async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
            return await reactive(messages, None, model)

        made: dict[StageName, Stage] = {
            "media_cap": MediaCap(ids),
            "tool_result_budget": ToolResultBudget(ids, kept, lambda _name: 4_000),
            "snip": RedundantRounds(ids),
            "microcompact": Microcompact(ids),
            "collapse": Collapse(ids),
            "autocompact": Autocompact(Compaction(ids, nothing), digest),
        }
        self.noted: dict[StageName, Noted] = {name: Noted(stage) for name, stage in made.items()}
        self.asked: list[SummaryWanted] = []
        self.failed: list[str] = []
        self._reply = reply
        stages: dict[StageName, Stage] = {**self.noted}
        self._pipeline = Pipeline(stages)

    async def __call__(
        self, messages: History, window: int, used: int, failures: int = 0
    ) -> tuple[History, Sequence[AnyEdit]]:
        told = PassFacts(
            facts_of(window),
            used,
            summarise=self._summarise,
            compact_failures=failures,
            compact_failed=self.failed.append,
        )
        edits = await self._pipeline(messages, told)
        return messages.extend(edits), edits

    async def _summarise(self, wanted: SummaryWanted) -> SummaryReply | SummaryFailed:
        self.asked.append(wanted)
        return self._reply


# ------------------------------------------------------------------------------------------------ what is said

PLANS = st.lists(
    st.sampled_from(["read", "again", "bash", "say", "prompt", "error"]), min_size=4, max_size=16
)
SHARES = st.sampled_from([0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98])


def talk(plan: Sequence[str], window: int) -> History:
    """About as much as fills the window, whatever its size."""
    size = max(400, int(2.5 * window / len(plan)))
    messages: list[Message] = [user_prompt("first", FIRST)]
    for number, kind in enumerate(plan):
        name, seed = f"c{number}", f"r{number}"
        match kind:
            case "again":
                messages += round_of(name, prose(size, "same"), file_path="same.py")
            case "bash":
                messages += round_of(name, prose(size, seed), "Bash", command="make")
            case "error":
                messages += round_of(name, prose(size, seed), is_error=True)
            case "say":
                messages.append(reply(f"s{number}", prose(size, seed)))
            case "prompt":
                messages.append(user_prompt(f"p{number}", prose(min(size, 2_000), seed)))
            case _:
                messages += round_of(name, prose(size, seed))
    messages.append(user_prompt("last", LAST))
    open_calls = [assistant_fragment("open", "r-open", "m", ToolUse("open", "Read", {"file_path": "x"}))]
    newest = tool_result_message("newest", ToolResult("open", prose(200, "newest")))
    return History.empty().extend([*messages, *open_calls, newest])


CASES = given(PLANS, st.sampled_from(WINDOWS[:4]), SHARES)
"""The largest windows have their turn at every threshold, at the end."""


def request_of(of: History, window: int) -> ModelRequest:
    messages = Normaliser(facts_of(window), strict=True).request_messages(of)
    return ModelRequest(
        "m", ("You are one.",), messages, TOOLS, 1_000, QuerySource("sdk"), QueryTracking("q")
    )


TOOLS = tuple(ToolSchema(name, "Does it.", {"type": "object"}) for name in ("Read", "Bash"))
ON_THE_WIRE = 32_000
"""Windows up to here are looked at on the wire as well: the larger ones differ in nothing but the time that it takes."""


def sent(of: History, window: int) -> bytes:
    return AnthropicBodies(facts_of(window)).body(request_of(of, window))


def tokens(of: History) -> int:
    return sum(map(message_tokens, of))


def calls_and_results(messages: Sequence[RequestMessage]) -> tuple[list[str], list[str]]:
    blocks = [block for message in messages for block in message.content]
    calls = [block.id for block in blocks if isinstance(block, ToolUse)]
    return calls, [block.tool_use_id for block in blocks if isinstance(block, ToolResult)]


def assert_legal(of: History, window: int) -> None:
    """By the rules of a service that refuses what is not, too; how long it is belongs elsewhere (V6)."""
    request_of(of, window)
    if window <= ON_THE_WIRE:
        found = find_anthropic_problems(json.loads(sent(of, window)))
        assert [one for one in found if one.rule != "V6"] == []


# ------------------------------------------------------------------------------------------------ C1 to C9


@FEW
@CASES
async def test_c1_after_each_stage_the_history_is_legal(plan: list[str], window: int, share: float):
    of, stages = talk(plan, window), Stages()
    after, edits = await stages(of, window, int(share * window))
    for noted in stages.noted.values():
        for _, seen, _ in noted.looks:
            assert_legal(seen, window)
    for count in range(len(edits) + 1):
        Normaliser(facts_of(window), strict=True).request_messages(of.extend(edits[:count]))
    assert_legal(after, window)


@FEW
@CASES
async def test_c2_no_stage_makes_it_longer_and_doing_it_twice_is_doing_it_once(
    plan: list[str], window: int, share: float
):
    of, stages, used = talk(plan, window), Stages(), int(share * window)
    once, edits = await stages(of, window, used)
    for noted in stages.noted.values():
        for _, seen, made in noted.looks:
            assert tokens(seen.extend(made)) <= tokens(seen) or made[0] not in edits
    assert tokens(once) <= tokens(of)
    freed = freed_tokens(of, once)
    twice, more = await stages(once, window, max(0, used - freed))
    assert not more or any(isinstance(edit, Boundary) for edit in more)
    assert twice.view() == once.view() or tokens(twice) < tokens(once)
    assert History.fold(once.log()).view() == once.view()


@FEW
@CASES
async def test_c3_the_first_wish_the_newest_one_and_what_no_reply_has_followed_stay(
    plan: list[str], window: int, share: float
):
    after, _ = await Stages()(talk(plan, window), window, int(share * window))
    shown = str(after.view())
    assert FIRST in shown
    assert LAST in shown
    assert prose(200, "newest") in shown.replace("\\n", "\n")


@FEW
@CASES
async def test_c4_a_call_and_its_result_go_together(plan: list[str], window: int, share: float):
    of, stages = talk(plan, window), Stages()
    _, edits = await stages(of, window, int(share * window))
    for count in range(len(edits) + 1):
        history = of.extend(edits[:count])
        calls, results = calls_and_results(Normaliser(facts_of(window)).request_messages(history))
        assert calls == results
        in_view = [call.id for message in history for call in getattr(message, "tool_uses", ())]
        assert in_view == calls


@FEW
@CASES
async def test_c5_the_order_is_fixed_and_a_later_stage_acts_only_where_the_earlier_did_not_suffice(
    plan: list[str], window: int, share: float
):
    of, stages, model = talk(plan, window), Stages(), facts_of(window)
    _, edits = await stages(of, window, int(share * window))
    given_by = [name for edit in edits for name in ORDER if edit in given_edits(stages, name)]
    assert given_by == sorted(given_by, key=ORDER.index)
    room = effective_window_tokens(model)
    least = {
        "snip": 0.6 * room,
        "microcompact": USED_SHARE * room,
        "collapse": collapse_commit_tokens(model),
        "autocompact": auto_compact_tokens(model),
    }
    for name, noted in stages.noted.items():
        for told, _, made in noted.looks:
            assert not made or told.used_tokens >= least.get(name, 0)
    if stages.asked:
        assert stages.noted["autocompact"].looks[-1][0].used_tokens >= auto_compact_tokens(model)


def given_edits(stages: Stages, name: StageName) -> list[AnyEdit]:
    return [edit for _, _, edits in stages.noted[name].looks for edit in edits]


@FEW
@CASES
async def test_c6_a_summary_is_one_record_so_a_crash_leaves_all_of_it_or_nothing(
    plan: list[str], window: int, share: float
):
    of = talk(plan, window)
    after, edits = await Stages()(of, window, int(share * window))
    boundaries = [edit for edit in edits if isinstance(edit, Boundary)]
    assert len(boundaries) <= 1
    if boundaries:
        place = list(edits).index(boundaries[0])
        before, then = History.fold(of.extend(edits[:place]).log()), of.extend(edits[: place + 1])
        assert before.view() == of.extend(edits[:place]).view()
        assert History.fold(then.log()).view() == then.view()
        assert then.view()[0].uuid == boundaries[0].summary.uuid
    assert History.fold(after.log()).view() == after.view()


@FEW
@given(PLANS, st.sampled_from(WINDOWS[:4]), st.integers(0, MAX_FAILURES + 1))
async def test_c7_a_summary_that_fails_changes_nothing_is_told_and_not_asked_for_ever(
    plan: list[str], window: int, failures: int
):
    model = facts_of(window)
    of, stages = talk(plan, window), Stages(NO_SUMMARY)
    used = (auto_compact_tokens(model) + hard_limit_tokens(model)) // 2
    _, edits = await stages(of, window, used, failures)
    assert not any(isinstance(edit, Boundary) for edit in edits)
    looks = stages.noted["autocompact"].looks
    is_wanted = looks[-1][0].used_tokens >= auto_compact_tokens(model)
    assert bool(stages.asked) <= (is_wanted and failures < MAX_FAILURES)
    assert len(stages.failed) == bool(stages.asked)


@FEW
@CASES
async def test_c8_what_was_replaced_is_named_and_comes_back_whole_when_it_is_taken_back(
    plan: list[str], window: int, share: float
):
    of = talk(plan, window)
    after, edits = await Stages()(of, window, int(share * window))
    for edit in edits:
        if isinstance(edit, ReplaceResult):
            assert edit.how
            assert edit.stored_as or "Call it again" in edit.text
    back = after
    for number, edit in enumerate(reversed(edits)):
        back = back.append(Undo(f"u{number}", edit.edit_id))
    assert back.view() == of.view()
    assert [one for one in after.log() if not isinstance(one, Edit)] == of.log()


@FEW
@given(PLANS, st.sampled_from([one for one in WINDOWS if one <= ON_THE_WIRE]), SHARES)
@example(["read", "say", "again", "again"], 4_000, 0.5)
async def test_c9_what_stands_before_the_first_change_keeps_its_bytes_on_the_wire(
    plan: list[str], window: int, share: float
):
    of = talk(plan, window)
    after, _ = await Stages()(of, window, int(share * window))
    same = next(
        (i for i, (old, new) in enumerate(zip(of.view(), after.view(), strict=False)) if old is not new),
        len(of),
    )
    beginning = Normaliser(facts_of(window)).request_messages(History.empty().extend(of.view()[:same]))
    is_replys = bool(beginning) and beginning[-1].content == (Text(CONTINUES),)
    whole = len(beginning) - 1 - is_replys  # the last message may go on, a reply too
    assert on_the_wire(of, window)[:whole] == on_the_wire(after, window)[:whole]


def on_the_wire(of: History, window: int) -> list[str]:
    """Each message as it is sent, without cache marks."""
    body = sent(of, window).replace(b',"cache_control":{"type":"ephemeral"}', b"")
    return [json.dumps(message) for message in json.loads(body)["messages"]]


# ------------------------------------------------------------------------------------------------ decisions that stay


@FEW
@given(st.lists(st.sampled_from(["read", "again", "bash", "other"]), min_size=20, max_size=40))
async def test_a_conversation_that_was_resumed_or_forked_is_shortened_like_the_one_that_went_on(
    plan: list[str],
):
    window, went_on, of = 32_000, Stages(), History.empty().append(user_prompt("first", FIRST))
    sizes: dict[str, str] = {}
    for number, kind in enumerate(plan):
        path = f"{kind if kind == 'again' else number}.py"
        name = "Bash" if kind == "bash" else "Read"
        of = of.extend(
            round_of(
                f"c{number}", prose(900 * (1 + number % 5), f"{kind} {number % 7}"), name, file_path=path
            )
        )
        used = 4_000 + int(0.7 * tokens(of))
        resumed = History.fold(of.log())
        _, there = await Stages()(resumed, window, used)
        of, here = await went_on(of, window, used)
        assert [without_ids(edit) for edit in there] == [without_ids(edit) for edit in here]
        shown = {block.tool_use_id: str(block.content) for block in result_blocks(of)}
        frozen = {call for call in shown if call in sizes and shown[call] != sizes[call]}
        assert frozen <= {edit.tool_use_id for edit in here if isinstance(edit, ReplaceResult)}
        sizes = shown


def without_ids(edit: AnyEdit) -> object:
    """What it does; what it is called is new each time."""
    match edit:
        case ReplaceResult():
            return edit.tool_use_id, edit.text, edit.stored_as, edit.how
        case Snip():
            return edit.first, edit.last, str(edit.marker.content)
        case Fold() | Boundary():
            return type(edit), str(edit.summary.content)
        case _:
            return edit


def result_blocks(of: History) -> list[ToolResult]:
    blocks = [block for message in of for block in getattr(message, "content", ())]
    return [block for block in blocks if isinstance(block, ToolResult)]


# ------------------------------------------------------------------------------------------------ every threshold


@pytest.mark.parametrize("window", WINDOWS)
async def test_at_every_threshold_of_every_window_the_request_is_legal_and_what_it_should_be(window: int):
    model = facts_of(window)
    room = effective_window_tokens(model)
    for threshold in (
        int(USED_SHARE * room),
        int(0.6 * room),
        collapse_staging_tokens(model),
        collapse_commit_tokens(model),
        auto_compact_tokens(model),
        hard_limit_tokens(model),
    ):
        for used in (threshold - 1, threshold, threshold + 1):
            of = talk(["read", "again", "say", "bash", "again", "prompt"] * 2, window)
            after, _ = await Stages()(of, window, used)
            assert_legal(after, window)
            assert tokens(after) <= tokens(of)
            assert History.fold(after.log()).view() == after.view()
