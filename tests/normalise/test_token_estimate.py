"""An edit changes what is in the window: what a response was counted with says nothing of what is gone, and hides nothing that came."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.history import History
from ostinato.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
    assistant_fragment,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.normalise.token_estimate import (
    BYTES_A_TOKEN,
    IMAGE_TOKENS,
    MOST_BYTES_A_TOKEN,
    blocks_tokens,
    counted_tokens,
    request_tokens,
)
from ostinato.ports import ModelRequest, QuerySource, QueryTracking
from ostinato.records import (
    AnyEdit,
    Boundary,
    Fold,
    Record,
    ReplaceResult,
    ResponseEnded,
    Snip,
    StripMedia,
    Undo,
)
from ostinato.testing import SCRIPTED_FACTS

SYSTEM = "You are a test."


def request_of(history: History) -> ModelRequest:
    messages = Normaliser(SCRIPTED_FACTS, strict=False).request_messages(history)
    return ModelRequest(
        SCRIPTED_FACTS.id, (SYSTEM,), messages, (), 1_000, QuerySource("sdk"), QueryTracking("chain")
    )


def text_of(block: object) -> str:
    match block:
        case Text(text):
            return text
        case ToolResult(content=str(content)):
            return content
        case _:
            return ""


def true_tokens(text: str) -> int:
    """A tokeniser of any density within the bounds that the estimate is made for; which one, the text itself says."""
    shares = sum(map(ord, text[:3])) % 5 / 4
    return int(len(text) / (BYTES_A_TOKEN + shares * (MOST_BYTES_A_TOKEN - BYTES_A_TOKEN)))


def asking(history: History) -> History:
    """With a further prompt, where the model has had the last word."""
    view = history.view()
    return history.append(user_prompt("asking", "go")) if isinstance(view[-1], AssistantMessage) else history


def truth(history: History) -> int:
    request = request_of(asking(history))
    return true_tokens(SYSTEM) + sum(true_tokens(text_of(b)) for m in request.messages for b in m.content)


def estimate(history: History) -> int:
    history = asking(history)
    return request_tokens(request_of(history), history)


def repeated(head: str, size: int) -> str:
    return head * size


TEXTS = st.builds(repeated, st.sampled_from(("abc ", "xyz!", "0 1 ", "Go, ")), st.integers(1, 3_000))
ROUNDS = st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=8)
SPANS = st.lists(
    st.tuples(
        st.sampled_from(("fold", "snip", "replace", "boundary", "undo")),
        st.integers(0, 20),
        st.integers(0, 20),
        TEXTS,
    ),
    min_size=1,
    max_size=4,
)


def round_of(number: int, asked: str, said: str) -> list[Record]:
    """A prompt, a call and its result."""
    return [
        user_prompt(f"p{number}", asked),
        assistant_fragment(f"a{number}", f"r{number}", SCRIPTED_FACTS.id, ToolUse(f"t{number}", "Look", {})),
        tool_result_message(f"u{number}", ToolResult(f"t{number}", said)),
    ]


def counted(history: History, number: int) -> History:
    """A last word that the provider has counted, the whole request with it."""
    words = assistant_fragment(f"w{number}", f"s{number}", SCRIPTED_FACTS.id, Text("done"))
    usage = Usage(truth(history), true_tokens("done"))
    return history.extend([words, ResponseEnded(f"s{number}", SCRIPTED_FACTS.id, usage, "end_turn")])


def is_start(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin != "tool_result"


def edit_of(
    view: Sequence[Message], kind: str, first: int, length: int, text: str, edits: Sequence[str]
) -> AnyEdit:
    """Whole rounds, as every stage takes them: calls stay with their results."""
    starts = [place for place, message in enumerate(view) if is_start(message)]
    start = starts[first % len(starts)]
    ends = [place - 1 for place in (*starts, len(view)) if place > start]
    end = ends[min(length, len(ends) - 1)]
    name = f"e{len(edits)}"
    account = meta_prompt(f"m{name}", text, origin="summary")
    match kind:
        case "fold":
            return Fold(name, view[start].uuid, view[end].uuid, account)
        case "snip":
            return Snip(name, view[start].uuid, view[end].uuid, account)
        case "replace":
            calls = [
                b.tool_use_id
                for m in view
                if isinstance(m, UserMessage)
                for b in m.content
                if isinstance(b, ToolResult)
            ]
            return ReplaceResult(name, calls[first % len(calls)] if calls else "none", text)
        case "boundary":
            return Boundary(name, account, view[start].uuid)
        case _:
            return Undo(name, edits[first % len(edits)] if edits else "none")


@settings(max_examples=200, deadline=None)
@given(ROUNDS, SPANS, st.booleans(), st.booleans())
def test_no_edit_hides_what_is_in_the_window_and_none_counts_what_is_gone(
    rounds: list[tuple[str, str]],
    spans: list[tuple[str, int, int, str]],
    is_counted_between: bool,
    has_newer: bool,
):
    history, edits = History.empty(), list[str]()
    for number, (asked, said) in enumerate(rounds):
        history = history.extend(round_of(number, asked, said))
    history = counted(history, 0)
    for number, (kind, first, length, text) in enumerate(spans, start=1):
        if has_newer:
            history = history.append(user_prompt(f"n{number}", text))
        before, view = estimate(history), history.view()
        edit = edit_of(view, kind, first, length, text, edits)
        edits.append(edit.edit_id)
        history = history.append(edit)
        assert truth(history) <= estimate(history)
        if not isinstance(edit, Undo | Boundary):
            assert estimate(history) <= before + blocks_tokens((Text(text),))
        history = history.append(user_prompt(f"q{number}", text))
        assert truth(history) <= estimate(history)
        if is_counted_between:
            history = counted(history, number)
    folded = History.fold(history.log())
    assert estimate(folded) == estimate(history)


def talk(*texts: str) -> History:
    history = History.empty()
    for number, text in enumerate(texts):
        history = history.extend(round_of(number, "look", text))
    return counted(history, 0)


PROSE = "abc " * 50_000


def test_what_was_folded_is_no_longer_in_the_window():
    history = talk(PROSE, PROSE, "short")
    account = meta_prompt("m", "it was seen", origin="summary")
    for edit in (Fold("e", "p0", "u1", account), Snip("e", "p0", "u1", account)):
        assert estimate(history.append(edit)) < 1_000
    replaced = history.append(ReplaceResult("e", "t0", "left out"))
    assert estimate(replaced) <= estimate(history) - len(PROSE) // MOST_BYTES_A_TOKEN + 100


def test_what_came_after_an_edit_counts_too():
    history = talk(PROSE, "short").append(Fold("e", "p0", "u0", meta_prompt("m", "seen", origin="summary")))
    more = history.append(user_prompt("next", "xyz!" * 10_000))
    assert estimate(more) >= estimate(history) + 40_000 // MOST_BYTES_A_TOKEN


@pytest.mark.parametrize("edit", ["fold", "boundary"])
def test_what_an_undo_brings_back_is_in_the_window_again(edit: str):
    account = meta_prompt("m", "it was seen", origin="summary")
    made = Fold("e", "p0", "u0", account) if edit == "fold" else Boundary("e", account, "p1")
    history = counted(talk(PROSE, "short").append(made).append(user_prompt("q", "and?")), 1)
    assert estimate(history) < 1_000
    undone = history.append(Undo("e2", "e"))
    assert truth(undone) > 10_000
    assert estimate(undone) >= truth(undone)


def test_media_that_are_gone_are_not_believed_to_have_been_large():
    picture = UserMessage("image", (Text("look"), Image("image/png", "aGVsbG8=")))
    history = counted(History.empty().append(picture), 0)
    assert estimate(history) < IMAGE_TOKENS
    assert estimate(history.append(StripMedia("e", "image", 1, "left out"))) >= truth(history)


def test_without_an_edit_the_count_of_the_provider_stands():
    history = talk(PROSE)
    assert history.last_response is not None
    newer = blocks_tokens((Text("go"),))
    assert estimate(history) == history.last_response.usage.context_tokens + newer


def said_to_have(tokens: int, *, answers: int = 5) -> History:
    history = talk(PROSE, PROSE)
    usage = Usage(tokens, answers)
    return history.append(ResponseEnded("s0", SCRIPTED_FACTS.id, usage, "end_turn"))


@pytest.mark.parametrize("tokens", [1, 2, len(PROSE) // MOST_BYTES_A_TOKEN])
def test_a_count_below_what_the_text_has_at_the_least_is_not_believed(tokens: int):
    """Servers that count only what was new to their cache, or nothing."""
    history = said_to_have(tokens)
    assert estimate(history) >= truth(history)
    assert counted_tokens(request_of(history), history) == 0
    for edit in (
        Fold("e", "p0", "u0", meta_prompt("m", "seen", origin="summary")),
        ReplaceResult("e", "t0", "left out"),
    ):
        assert estimate(history.append(edit)) >= truth(history.append(edit)) > 0


def test_a_count_that_the_model_could_not_have_taken_is_not_believed():
    """Servers that add up all requests so far."""
    history = said_to_have(900_000)
    request = request_of(asking(history))
    within = request_tokens(request, asking(history), window_tokens=200_000)
    assert truth(history) <= within < 200_000
    assert request_tokens(request, asking(history), window_tokens=1_000_000) > 900_000
    assert counted_tokens(request, history, 200_000) == 0
    assert counted_tokens(request, history, 1_000_000) == 900_005
