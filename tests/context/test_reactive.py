"""What is too long becomes shorter without losing what the user asked, without breaking a pair, and it can be undone."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.context.reactive import MIN_GAIN, ReactiveCompaction, message_tokens
from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.messages import (
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    assistant_fragment,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.records import AnyEdit, Boundary, ReplaceResult, Undo
from ostinato.testing import SCRIPTED_FACTS, CountingIds

WINDOW = 20_000
TOO_LONG = ModelError("too long", kind="prompt_too_long", recover="compact").sized(
    input_tokens=2 * WINDOW, limit_tokens=WINDOW, output_limit_tokens=None
)


def round_of(number: int, characters: int) -> list[Message]:
    call_id = f"t{number}"
    return [
        assistant_fragment(
            f"a{number}", f"r{number}", "m", ToolUse(call_id, "Read", {"file_path": f"f{number}"})
        ),
        tool_result_message(f"u{number}", ToolResult(call_id, "x" * characters)),
    ]


def history(*messages: Message) -> History:
    return History.empty().extend(messages)


async def shortened(of: History, error: ModelError | None = TOO_LONG) -> tuple[History, list[AnyEdit]]:
    edits = list(await ReactiveCompaction(CountingIds("e").uuid)(of, error, SCRIPTED_FACTS))
    return of.extend(edits), edits


def size(of: History) -> int:
    return sum(map(message_tokens, of))


def long_work(rounds: int = 40, characters: int = 2_500) -> History:
    talk = [user_prompt("p", "Make it fast, and keep the tests.")]
    return history(*talk, *(message for n in range(rounds) for message in round_of(n, characters)))


async def test_the_newest_rounds_stay_word_for_word_and_the_rest_is_an_account_with_the_users_words():
    before = long_work()
    after, edits = await shortened(before)
    assert [type(edit) for edit in edits] == [Boundary]
    view = after.view()
    assert "Make it fast, and keep the tests." in str(view[0])
    assert view[1:] == before.view()[-len(view) + 1 :]
    assert len(view) > 3
    assert size(after) < size(before) / 2


async def test_the_request_after_it_is_legal_and_holds_the_wish():
    after, _ = await shortened(long_work())
    sent = Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after)
    assert "Make it fast" in str(sent[0])


async def test_a_single_huge_result_is_cut_in_its_middle_and_the_model_is_told():
    before = history(user_prompt("p", "go"), *round_of(1, 200_000))
    after, edits = await shortened(before)
    assert any(isinstance(edit, ReplaceResult) for edit in edits)
    assert size(after) < size(before) / 2
    assert "left out" in str(after.view()[-1])
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after)


async def test_it_can_be_undone():
    before = long_work()
    after, edits = await shortened(before)
    for edit in reversed(edits):
        after = after.append(Undo(f"undo {edit.edit_id}", edit.edit_id))
    assert after.view() == before.view()


async def test_done_twice_the_wish_is_still_there():
    once, _ = await shortened(long_work())
    more = once.extend(message for n in range(100, 140) for message in round_of(n, 2_500))
    twice, _ = await shortened(more)
    assert "Make it fast, and keep the tests." in str(twice.view()[0])


async def test_what_cannot_be_made_shorter_is_left_alone():
    prompt = history(user_prompt("p", "y" * 300_000))
    after, edits = await shortened(prompt)
    assert edits == []
    assert after is prompt


async def test_an_account_that_is_longer_than_what_it_stands_for_is_left_out_where_cut_results_suffice():
    before = history(user_prompt("p", "Do it."), *round_of(1, 40), *round_of(2, 200_000))
    after, edits = await shortened(before)
    assert [type(edit) for edit in edits] == [ReplaceResult]
    assert after.view()[0] == before.view()[0]


async def test_without_sizes_the_models_window_counts():
    small = history(user_prompt("p", "go"), *round_of(1, 100))
    assert (await shortened(small, None))[1] == []


rounds = st.lists(
    st.tuples(st.sampled_from(["prompt", "say", "round", "image"]), st.integers(0, 30_000)), max_size=40
)


def made(plan: list[tuple[str, int]]) -> History:
    messages: list[Message] = [user_prompt("p", "the wish")]
    for number, (kind, characters) in enumerate(plan):
        match kind:
            case "prompt":
                messages.append(user_prompt(f"p{number}", f"wish {number} " + "w" * characters))
            case "say":
                messages.append(
                    assistant_fragment(f"s{number}", f"q{number}", "m", Text("s" * (characters + 1)))
                )
            case "image":
                call_id = f"i{number}"
                messages.append(
                    assistant_fragment(f"a{number}", f"r{number}", "m", ToolUse(call_id, "Read", {}))
                )
                image = ToolResult(call_id, (Image("image/png", "AAAA"), Text("t" * characters)))
                messages.append(tool_result_message(f"u{number}", image))
            case _:
                messages += round_of(number, characters)
    return history(*messages)


@given(rounds)
async def test_whatever_was_said_the_result_gains_is_legal_and_keeps_the_newest_wish(
    plan: list[tuple[str, int]],
):
    before = made(plan)
    after, edits = await shortened(before)
    Normaliser(SCRIPTED_FACTS, strict=True).request_messages(after)
    if edits:
        assert size(after) <= size(before) * (1 - MIN_GAIN)
    for edit in edits:  # none of them costs what another gains
        assert size(before.append(edit)) < size(before)
        before = before.append(edit)
    wishes = [number for number, (kind, _) in enumerate(plan) if kind == "prompt"]
    assert (f"wish {wishes[-1]} " if wishes else "the wish") in str(after.view())


async def test_the_first_wish_and_the_files_outlive_any_number_of_them():
    of = history(user_prompt("p", "Keep the tests."), *round_of(0, 9_000))
    read: tuple[str, ...] = ()
    for turn in range(1, 8):
        talk = (m for n in range(turn * 100, turn * 100 + 30) for m in round_of(n, 2_500))
        of = of.extend([user_prompt(f"p{turn}", f"Wish {turn}. " + "w" * 900), *talk])
        of, edits = await shortened(of)
        boundary = next(edit for edit in edits if isinstance(edit, Boundary))
        assert boundary.carried.first_prompt == "Keep the tests."
        assert "Keep the tests." in str(boundary.summary)
        read = boundary.carried.read
    assert "f705" in read
