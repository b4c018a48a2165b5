"""What was in the provider's cache and was not read is noticed with its cause; what is as it should be is never told."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ostinato.cache_breaks import KEPT_S, CacheBreak, Replied
from ostinato.context.cache_watch import CacheWatch
from ostinato.history import History
from ostinato.messages import (
    Message,
    Reminder,
    ToolResult,
    ToolUse,
    Usage,
    assistant_fragment,
    attachment_message,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.normalise.normaliser import Normaliser
from ostinato.ports import ModelFacts, ModelRequest, QuerySource, QueryTracking, Thinking, ToolSchema
from ostinato.records import AnyEdit, Boundary, Record, ReplaceResult, ResponseEnded, Retract, Undo

FACTS = ModelFacts("p", "m", 200_000, 32_000)
READ = ToolSchema("Read", "Reads.", {"type": "object"})
GREP = ToolSchema("Grep", "Searches.", {"type": "object"})


def request_of(history: History, context: str = "", **changes: Any) -> ModelRequest:
    messages = Normaliser(FACTS).request_messages(history, context)
    asked = ModelRequest(
        "m", ("You are one.",), messages, (READ,), 1_000, QuerySource("sdk"), QueryTracking("q")
    )
    return replace(asked, **changes)


def turn(number: int, said: str = "x" * 40) -> list[Record]:
    call = ToolUse(f"c{number}", "Read", {"file_path": f"f{number}"})
    return [
        assistant_fragment(f"a{number}", f"r{number}", "m", call),
        ResponseEnded(f"r{number}", "m", Usage(), "tool_use"),
        tool_result_message(f"t{number}", ToolResult(call.id, f"{number} {said}")),
    ]


class Talk:
    """A conversation whose replies say how much was read from the cache and how much was written to it."""

    def __init__(self, turns: int = 3) -> None:
        self.watch = CacheWatch()
        self.history = History.empty().append(user_prompt("p", "go"))
        self.number = 0
        self.now_s = 0.0
        self.found: list[CacheBreak | None] = []
        for _ in range(turns):
            self.reply(10_000 + 1_000 * self.number, 1_000)

    def reply(
        self, read: int, written: int = 1_000, context: str = "", facts: ModelFacts = FACTS, **changes: Any
    ) -> CacheBreak | None:
        request = request_of(self.history, context, **changes)
        usage = Usage(50, 100, cache_read_input_tokens=read, cache_creation_input_tokens=written)
        replied = Replied(f"r{self.number}", facts, request, self.history, usage, self.now_s)
        self.found.append(self.watch(replied))
        self.history = self.history.extend(turn(self.number))
        self.number += 1
        self.now_s += 10
        return self.found[-1]

    def add(self, message: Message) -> None:
        self.history = self.history.append(message)

    def edit(self, *edits: AnyEdit) -> None:
        self.history = self.history.extend(edits)


BOUNDARY = Boundary("e-b", meta_prompt("s", "They worked.", origin="summary"))


def test_a_conversation_that_only_grows_has_nothing_to_tell():
    assert Talk(20).found == [None] * 20


@pytest.mark.parametrize(
    ("changes", "cause", "what"),
    [
        ({"model": "m2"}, "model", "p/m → p/m2"),
        ({"facts": replace(FACTS, provider="other")}, "model", "p/m → other/m"),
        ({"thinking": Thinking(4_000)}, "thinking", ""),
        ({"tools": (READ, GREP)}, "tools", "new: Grep"),
        ({"tools": ()}, "tools", "gone: Read"),
        ({"tools": (replace(READ, description="Reads more."),)}, "tools", "changed: Read"),
        ({"system": ("You are another one.",)}, "system", ""),
        ({"context": "Be brief."}, "instructions", ""),
        ({}, "server", ""),
    ],
)
def test_what_has_changed_is_named(changes: dict[str, Any], cause: str, what: str):
    found = Talk().reply(0, **changes)
    assert found == CacheBreak(cause, 13_000, 0, what)  # pyright: ignore[reportArgumentType] - a table of causes


def test_after_five_minutes_it_is_the_time():
    talk = Talk()
    talk.now_s += KEPT_S
    found = talk.reply(0)
    assert found is not None
    assert found.cause == "time"


@pytest.mark.parametrize(
    ("edits", "cause"),
    [
        ((ReplaceResult("e-1", "c0", "short"),), "edit"),
        ((BOUNDARY,), "compaction"),
        ((ReplaceResult("e-1", "c0", "short"), BOUNDARY), "compaction"),
    ],
)
def test_an_edit_is_named_by_its_record(edits: Sequence[AnyEdit], cause: str):
    talk = Talk()
    talk.edit(*edits)
    found = talk.reply(3_000)
    assert found == CacheBreak(cause, 13_000, 3_000, "", tuple(edit.edit_id for edit in edits))  # pyright: ignore[reportArgumentType] - as above


SHORT = ReplaceResult("e-1", "c0", "short")
CHANGES: dict[str, dict[str, Any]] = {
    "thinking": {"thinking": Thinking(4_000)},
    "tools": {"tools": (READ, GREP)},
    "system": {"system": ("You are another one.",)},
    "instructions": {"context": "Today is another day."},
    "edit": {},
    "time": {},
}


@pytest.mark.parametrize("both", [*combinations(CHANGES, 2)], ids="+".join)
def test_of_what_changed_at_once_everything_is_named(both: tuple[str, str]):
    talk = Talk(0)
    for number in range(3):
        talk.reply(10_000 + 1_000 * number, context="Today is a day.")
    talk.edit(*[SHORT] * ("edit" in both))
    talk.now_s += KEPT_S * ("time" in both)
    changes: dict[str, Any] = {"context": "Today is a day."}
    for cause in both:
        changes |= CHANGES[cause]
    found = talk.reply(0, **changes)
    assert found is not None
    assert (found.cause, *(cause for cause, _ in found.also)) == both
    assert found.edits == (("e-1",) if "edit" in both else ())


@pytest.mark.parametrize("context", ["", "Today is a day."])
@pytest.mark.parametrize("edit", [Retract("e-1", ("n",)), BOUNDARY], ids=["reminder gone", "summary"])
def test_an_edit_of_the_very_first_words_is_an_edit_and_nothing_else(context: str, edit: AnyEdit):
    talk = Talk(0)
    first: list[Message] = [attachment_message("n", Reminder("hook", "Be kind.")), user_prompt("p", "go")]
    talk.history = History.empty().extend(first)
    talk.reply(10_000, context=context)
    talk.edit(edit)
    found = talk.reply(0, context=context)
    assert found is not None
    assert (found.cause, found.also) == ("compaction" if edit is BOUNDARY else "edit", ())


def test_another_model_has_a_cache_of_its_own_so_nothing_else_is_to_blame():
    talk = Talk()
    talk.edit(SHORT)
    found = talk.reply(0, model="m2", tools=())
    assert found is not None
    assert (found.cause, found.edits, found.also) == ("model", (), ())


def test_an_edit_that_is_taken_back_is_another_change():
    talk = Talk()
    talk.edit(ReplaceResult("e-1", "c0", "short"))
    assert talk.reply(3_000) is not None
    talk.edit(Undo("e-2", "e-1"))
    found = talk.reply(0, 15_000)
    assert found is not None
    assert (found.cause, found.edits) == ("edit", ("e-2",))


def test_an_edit_of_what_was_not_sent_before_is_no_cause():
    talk = Talk()
    talk.edit(ReplaceResult("e-1", f"c{talk.number - 1}", "short"))
    found = talk.reply(0)
    assert found is not None
    assert (found.cause, found.edits) == ("server", ())


def test_a_change_that_no_record_accounts_for_is_told_as_such():
    talk = Talk()
    messages: list[Message] = [user_prompt("p", "go"), user_prompt("q", "and on")]
    other = Normaliser(FACTS).request_messages(History.empty().extend(messages))
    found = talk.reply(0, messages=other)
    assert found is not None
    assert found.cause == "messages"


def test_one_break_is_told_once_and_what_follows_is_measured_by_what_is_cached_since():
    talk = Talk()
    assert talk.reply(0, 14_000, tools=(READ, GREP)) is not None
    assert talk.reply(14_000, tools=(READ, GREP)) is None
    assert talk.reply(15_000, tools=(READ, GREP)) is None


@pytest.mark.parametrize(
    ("cached", "read", "is_told"),
    [
        (100_000, 95_000, False),
        (100_000, 94_999, True),
        (10_000, 8_001, False),
        (10_000, 8_000, True),
        (1_500, 0, False),
    ],
)
def test_less_than_a_twentieth_or_two_thousand_tokens_is_no_break(cached: int, read: int, is_told: bool):
    talk = Talk(0)
    talk.reply(0, cached)
    assert (talk.reply(read) is not None) == is_told


def test_a_provider_that_says_nothing_of_a_cache_is_never_blamed():
    talk = Talk(0)
    for _ in range(5):
        talk.reply(0, 0)
    assert talk.found == [None] * 5


STEPS = st.lists(st.sampled_from(["reply", "prompt", "note", "fresh edit"]), max_size=12)


@given(STEPS)
def test_whatever_only_adds_to_a_conversation_is_never_taken_for_a_change(steps: list[str]):
    talk = Talk(2)
    does: dict[str, Callable[[], object]] = {
        "reply": lambda: talk.reply(10_000 + 1_000 * talk.number),
        "prompt": lambda: talk.add(user_prompt(f"q{talk.number}", "more")),
        "note": lambda: talk.add(meta_prompt(f"n{talk.number}", "a note", origin="hook")),
        "fresh edit": lambda: talk.edit(ReplaceResult(f"e{talk.number}", f"c{talk.number - 1}", "short")),
    }
    for step in steps:
        does[step]()
    found = talk.reply(0)
    assert found is not None
    assert found.cause == "server"
