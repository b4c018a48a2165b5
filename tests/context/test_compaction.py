"""A conversation makes room in one record; what must not be forgotten is there even when the model forgets everything."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.context.talks import FACTS, history, prose, reply, round_of

from ostinato.context.compaction import Compacted, Compaction, NotCompacted
from ostinato.context.pipeline import freed_tokens
from ostinato.context.reactive import message_tokens
from ostinato.context.transcript import transcript_text
from ostinato.context_pass import PassFacts, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.history import History
from ostinato.messages import Message, Reminder, attachment_message, user_prompt
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.token_estimate import tokens_of
from ostinato.records import Undo
from ostinato.testing import CountingIds

FORGETFUL = SummaryReply(
    "<summary>Some work was done on some files, and it went well enough so far.</summary>"
)
TOO_LONG = SummaryFailed("too_long", "prompt is too long")


class Summariser:
    """Plays its replies in order, the last one for ever, and remembers what it was asked."""

    def __init__(self, *replies: SummaryReply | SummaryFailed) -> None:
        self.asked: list[SummaryWanted] = []
        self._replies = list(replies)

    async def __call__(self, wanted: SummaryWanted, /) -> SummaryReply | SummaryFailed:
        self.asked.append(wanted)
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


async def nothing(_kept: Sequence[Message]) -> Sequence[Message]:
    return ()


def facts_with(summariser: Summariser) -> PassFacts:
    return PassFacts(FACTS, 0, summarise=summariser)


def compaction() -> Compaction:
    return Compaction(CountingIds("e").uuid, nothing, whole_path="/kept/session.jsonl")


def work(first: int, last: int) -> list[Message]:
    return [
        message
        for n in range(first, last)
        for message in (
            user_prompt(f"q{n}", f"Wish number {n}."),
            *round_of(f"c{n}", prose(10_000, f"r{n}")),
            *round_of(
                f"w{n}", "done", "Edit", file_path=f"src/new{n % 20}.py", old_string="a", new_string="b"
            ),
            reply(f"s{n}", f"Finished {n}."),
        )
    ]


def long_work() -> History:
    return history(*work(0, 20))


def text_of(of: History) -> str:
    return str(of.view()[0])


async def compacted(of: History, summariser: Summariser) -> tuple[History, Compacted | NotCompacted]:
    done = await compaction()(of, facts_with(summariser), trigger="auto")
    return (of.append(done.boundary) if isinstance(done, Compacted) else of), done


async def test_the_earlier_part_is_one_message_and_the_newest_rounds_stay_as_they_were():
    before = long_work()
    after, done = await compacted(before, Summariser(FORGETFUL))
    assert isinstance(done, Compacted)
    view = after.view()
    assert view[1:] == before.view()[-len(view) + 1 :]
    assert len(view) > 3
    assert done.tokens_after < 0.4 * done.boundary.pre_tokens
    Normaliser(FACTS, strict=True).request_messages(after)


async def test_what_a_forgetful_model_leaves_out_is_there_after_one_three_and_ten_compactions():
    of = long_work()
    for number in range(1, 11):
        of, done = await compacted(of, Summariser(FORGETFUL))
        assert isinstance(done, Compacted)
        if number in {1, 3, 10}:
            shown = text_of(of)
            assert "The first wish." in shown
            assert "Wish number 2." in shown
            assert "src/new1.py" in shown
            assert "/kept/session.jsonl" in shown
        of = of.extend(work(100 * number, 100 * number + 20))
    assert sum(len(str(m)) for m in (await compacted(of, Summariser(FORGETFUL)))[0]) < 200_000


async def test_of_many_words_of_the_user_the_newest_are_kept_whole_and_the_first_prompt_always():
    talk = [user_prompt(f"q{n}", prose(4_000, f"wish {n}")) for n in range(60)]
    of, _ = await compacted(history(*talk, *work(0, 12)), Summariser(FORGETFUL))
    shown = text_of(of)
    assert "The first wish." in shown
    assert prose(4_000, "wish 59").splitlines()[0] in shown
    assert "wish 0 of" not in shown


async def test_it_can_be_undone_and_the_log_folds_to_the_same_view():
    before = long_work()
    after, done = await compacted(before, Summariser(FORGETFUL))
    assert isinstance(done, Compacted)
    assert History.fold(after.log()).view() == after.view()
    assert after.append(Undo("u", done.boundary.edit_id)).view() == before.view()


async def test_it_is_asked_with_the_conversations_own_prefix_first():
    summariser = Summariser(FORGETFUL)
    await compacted(long_work(), summariser)
    assert [wanted.shares_prefix for wanted in summariser.asked] == [True]
    assert "The first wish." not in summariser.asked[0].prompt


@pytest.mark.parametrize(
    "useless",
    [SummaryReply(""), SummaryReply("<analysis>x"), SummaryReply("x" * 99, called_tool=True), TOO_LONG],
)
async def test_where_that_gives_none_it_is_asked_on_its_own(useless: SummaryReply | SummaryFailed):
    summariser = Summariser(useless, FORGETFUL)
    _, done = await compacted(long_work(), summariser)
    assert isinstance(done, Compacted)
    assert [wanted.shares_prefix for wanted in summariser.asked] == [True, False]


async def test_a_request_that_is_too_long_itself_loses_its_oldest_rounds_at_most_three_times():
    summariser = Summariser(TOO_LONG)
    before = long_work()
    after, done = await compacted(before, summariser)
    assert isinstance(done, NotCompacted)
    assert done.why == "too_long"
    assert after is before
    sizes = [len(wanted.prompt) for wanted in summariser.asked]
    assert len(sizes) == 5
    assert sizes[1] > sizes[2] > sizes[3] > sizes[4] > 0


async def test_what_is_estimated_beyond_the_window_is_not_sent_with_the_conversations_prefix():
    summariser = Summariser(FORGETFUL)
    facts = facts_with(summariser)
    beyond = replace(facts, used_tokens=facts.model.context_window + 1)
    done = await compaction()(long_work(), beyond, trigger="auto")
    assert isinstance(done, Compacted)
    assert [wanted.shares_prefix for wanted in summariser.asked] == [False]


async def test_of_what_is_longer_than_the_window_only_the_newest_rounds_that_fit_are_sent():
    summariser = Summariser(FORGETFUL)
    before = long_work()
    window = tokens_of(transcript_text(before.view())) // 2
    facts = facts_with(summariser)
    small = replace(facts, used_tokens=2 * window, model=replace(facts.model, context_window=window))
    assert isinstance(await compaction()(before, small, trigger="auto"), Compacted)
    (wanted,) = summariser.asked
    assert 0.8 * window < tokens_of(wanted.prompt) <= window
    assert "Wish number 0." not in wanted.prompt
    assert "Finished 19." in wanted.prompt


async def test_a_prompt_longer_than_the_window_is_not_sent_for_a_summary_at_all():
    summariser = Summariser(FORGETFUL)
    facts = facts_with(summariser)
    huge = user_prompt("huge", prose(8 * facts.model.context_window, "huge"))
    before = history(*work(0, 3), huge)
    used = sum(map(message_tokens, before.view()))
    assert used > facts.model.context_window
    done = await compaction()(before, replace(facts, used_tokens=used), trigger="auto")
    assert isinstance(done, NotCompacted)
    assert (done.why, summariser.asked) == ("too_long", [])


class Narrow(Summariser):
    """A model whose true window is smaller than said, in tokens as it counts them; says by how much a request was too long, or not."""

    def __init__(self, of: History, window_tokens: int, words: str, counts: float = 1.0) -> None:
        super().__init__(FORGETFUL)
        self.view_tokens = sum(map(message_tokens, of.view()))
        self.refused: list[int] = []
        """In tokens as we estimate them."""
        self._window, self._words, self._counts = window_tokens, words, counts

    async def __call__(self, wanted: SummaryWanted, /) -> SummaryReply | SummaryFailed:
        done = await super().__call__(wanted)
        estimated = tokens_of(wanted.prompt) + (self.view_tokens if wanted.shares_prefix else 0)
        assert all(estimated < earlier for earlier in self.refused)
        sent = int(estimated * self._counts)
        if sent <= self._window:
            return done
        self.refused.append(estimated)
        excess = sent - self._window if self._words != "nothing" else None
        return SummaryFailed("too_long", "too long", excess, sent if self._words == "both" else None)


def told_as_it_is() -> History:
    """Of prompts and replies alone, which are as long when they are told as they were."""
    talk = [
        message
        for n in range(40)
        for message in (
            user_prompt(f"q{n}", prose(4_000, f"wish {n}")),
            reply(f"s{n}", prose(4_000, f"done {n}")),
        )
    ]
    return history(*talk)


@pytest.mark.parametrize("counts", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
async def test_where_the_numbers_are_said_the_second_request_fits_whatever_a_token_is(
    share: float, counts: float
):
    of = told_as_it_is()
    model = Narrow(of, int(share * counts * sum(map(message_tokens, of.view()))), "both", counts)
    _, done = await compacted(of, model)
    assert isinstance(done, Compacted)
    assert (len(model.refused), len(model.asked)) == (1, 2)
    assert tokens_of(model.asked[1].prompt) > 0.8 * share * model.view_tokens


@pytest.mark.parametrize("words", ["nothing", "excess", "both"])
@pytest.mark.parametrize("share", [0.45, 0.6, 0.79])
async def test_after_a_refusal_what_is_asked_is_shorter_than_what_was_refused(share: float, words: str):
    of = told_as_it_is()
    model = Narrow(of, int(share * sum(map(message_tokens, of.view()))), words)
    _, done = await compacted(of, model)
    assert isinstance(done, Compacted)
    sizes = [*model.refused, tokens_of(model.asked[-1].prompt)]
    assert all(later <= 0.85 * earlier for earlier, later in pairwise(sizes))


async def test_what_the_model_refused_of_the_conversation_itself_bounds_the_first_request_for_a_summary():
    of = told_as_it_is()
    model = Narrow(of, int(0.85 * sum(map(message_tokens, of.view()))), "nothing")
    facts = replace(facts_with(model), was_refused=True, used_tokens=FACTS.context_window)
    done = await compaction()(of, facts, trigger="auto")
    assert isinstance(done, Compacted)
    assert [wanted.shares_prefix for wanted in model.asked] == [False]
    assert model.refused == []


@pytest.mark.parametrize("kind", ["error", "aborted", "over_budget"])
async def test_a_failed_call_changes_nothing_and_is_not_made_again(kind: str):
    failed = SummaryFailed(
        "error" if kind == "error" else "aborted" if kind == "aborted" else "over_budget", "no"
    )
    summariser, before = Summariser(failed), long_work()
    after, done = await compacted(before, summariser)
    assert after is before
    assert isinstance(done, NotCompacted)
    assert done.why == kind
    assert len(summariser.asked) == 1


async def test_a_summary_as_long_as_what_it_stands_for_is_refused():
    short = history(*work(0, 2))
    long = SummaryReply("<summary>" + prose(90_000, "words") + "</summary>")
    _, done = await compacted(short.extend(work(5, 12)), Summariser(long))
    assert isinstance(done, NotCompacted)
    assert done.why == "no_gain"


async def test_with_one_round_there_is_nothing_to_summarise_and_nobody_is_asked():
    summariser = Summariser(FORGETFUL)
    _, done = await compacted(history(reply("s", "hello")), summariser)
    assert isinstance(done, NotCompacted)
    assert done.why == "too_little"
    assert summariser.asked == []


async def test_what_is_restored_follows_the_newest_rounds():
    note = attachment_message("note", Reminder("tasks", "A server is running."))

    async def tasks(_kept: Sequence[Message]) -> Sequence[Message]:
        return (note,)

    done = await Compaction(CountingIds("e").uuid, tasks)(
        long_work(), facts_with(Summariser(FORGETFUL)), trigger="auto"
    )
    assert isinstance(done, Compacted)
    assert long_work().append(done.boundary).view()[-1] == note


def test_the_transcript_says_who_spoke_and_shortens_results():
    text = transcript_text(history(*round_of("c", prose(9_000, "r")), reply("s", "Done.")).view())
    assert "USER: The first wish." in text
    assert 'ASSISTANT calls Read: {"file_path":"src/c.py"}' in text
    assert "ASSISTANT: Done." in text
    assert len(text) < 3_000


PLANS = st.lists(
    st.tuples(st.sampled_from(["prompt", "round", "say", "big"]), st.integers(1, 20_000)), max_size=25
)


@given(PLANS)
async def test_whatever_was_said_the_result_is_legal_shorter_and_holds_the_first_wish(
    plan: list[tuple[str, int]],
):
    messages: list[Message] = []
    for n, (kind, size) in enumerate(plan):
        if kind == "prompt":
            messages.append(user_prompt(f"q{n}", prose(size, f"wish {n}")))
        elif kind == "say":
            messages.append(reply(f"s{n}", prose(size, f"said {n}")))
        else:
            messages += round_of(f"c{n}", prose(size * (5 if kind == "big" else 1), f"r{n}"))
    before = history(*messages)
    after, done = await compacted(before, Summariser(FORGETFUL))
    Normaliser(FACTS, strict=True).request_messages(after)
    assert "The first wish." in str(after.view())
    assert History.fold(after.log()).view() == after.view()
    if isinstance(done, Compacted):
        assert freed_tokens(before, after) > 0
