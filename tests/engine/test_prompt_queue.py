"""Nothing typed is lost: each text is sent once, carried out, given back, or still waiting, also after a crash anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.engine.prompt_queue import KEPT_ARRIVALS, PromptQueue, pending_prompts
from ostinato.engine.prompt_text import MAX_PROMPT_CHARACTERS
from ostinato.engine.slash.command_line import prompt_mode
from ostinato.errors import JournalError, UsageError
from ostinato.messages import Message, QueuedCommand, attachment_message, user_prompt
from ostinato.records import PromptMode, QueueArrived, QueueTaken, Record
from ostinato.submissions import QueuedPrompt
from ostinato.testing import CountingIds, MemoryJournal


def queue_on(journal: MemoryJournal, pending: Sequence[QueuedPrompt] = ()) -> PromptQueue:
    mode_of = partial(prompt_mode, runs_shell_lines=True)
    return PromptQueue(journal.write, CountingIds("p").uuid, pending, mode_of)


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def queue(journal: MemoryJournal) -> PromptQueue:
    return queue_on(journal)


def texts(prompts: Sequence[QueuedPrompt]) -> list[str]:
    return [prompt.text for prompt in prompts]


def test_what_waits_is_in_the_order_of_arrival_the_most_urgent_first(queue: PromptQueue):
    queue.put("a", priority="later")
    queue.put("b")
    queue.put("c")
    queue.put("d", priority="now")
    assert texts(queue.pending()) == ["d", "b", "c", "a"]


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("/model opus", "command"),
        ("/größe", "command"),
        ("/" + "n" * 101, "prompt"),
        ("/clear", "command"),
        ("!ls", "shell"),
        ("/etc/hosts is wrong", "prompt"),
        ("fix it!", "prompt"),
        ("1 / 2", "prompt"),
    ],
)
def test_commands_and_shell_lines_are_told_from_words(queue: PromptQueue, text: str, mode: str):
    assert queue.put(text).mode == mode


@pytest.mark.parametrize(("runs_shell_lines", "was", "mode"), [
    (False, "shell", "prompt"),
    (True, "shell", "shell"),
    (True, "prompt", "prompt"),
])  # fmt: skip
def test_what_waited_is_read_as_this_run_would_and_words_never_become_a_shell_line(
    journal: MemoryJournal, runs_shell_lines: bool, was: PromptMode, mode: PromptMode
):
    mode_of = partial(prompt_mode, runs_shell_lines=runs_shell_lines)
    waited = [QueuedPrompt("u", "!make", mode=was)]
    queue = PromptQueue(journal.write, CountingIds("p").uuid, waited, mode_of)
    assert [prompt.mode for prompt in queue.pending()] == [mode]


def test_only_words_that_are_not_meant_for_later_join_a_running_query(queue: PromptQueue):
    for text in ("/clear", "one", "!ls", "two"):
        queue.put(text)
    queue.put("three", priority="later")
    assert texts(queue.drain()) == ["one", "two"]
    assert texts(queue.pending()) == ["/clear", "!ls", "three"]


def test_a_drain_takes_what_is_there_and_not_what_comes_later(queue: PromptQueue):
    queue.put("one")
    taken = queue.drain()
    queue.put("two")
    assert texts(taken) == ["one"]
    assert texts(queue.drain()) == ["two"]


def test_drained_prompts_that_are_given_back_stand_where_they_stood(queue: PromptQueue):
    queue.put("one")
    queue.put("two")
    taken = queue.drain()
    queue.put("three")
    queue.give_back(taken)
    assert texts(queue.pending()) == ["one", "two", "three"]


def test_a_prompt_that_is_taken_back_is_given_once_and_never_sent(queue: PromptQueue, journal: MemoryJournal):
    prompt = queue.put("one")
    assert queue.take_back(prompt.uuid) == "one"
    assert queue.take_back(prompt.uuid) is None
    assert list(queue.drain()) == []
    assert pending_prompts(journal.records) == ()


def test_a_prompt_that_was_drained_can_no_longer_be_taken_back(queue: PromptQueue, journal: MemoryJournal):
    prompt = queue.put("one")
    queue.drain()
    assert queue.take_back(prompt.uuid) is None
    assert not any(isinstance(record, QueueTaken) for record in journal.records)


def test_a_command_counts_as_carried_out_from_the_moment_it_is_taken(
    queue: PromptQueue, journal: MemoryJournal
):
    queue.put("!rm -r build")
    taken = queue.take_next()
    assert taken is not None
    assert taken.mode == "shell"
    assert pending_prompts(journal.records) == ()


def test_a_prompt_that_was_taken_and_whose_message_was_not_written_waits_again_after_a_crash(
    queue: PromptQueue, journal: MemoryJournal
):
    prompt = queue.put("one")
    assert queue.take_next() == prompt
    assert queue.take_next() is None
    assert pending_prompts(journal.records) == (prompt,)
    journal.write(user_prompt(prompt.uuid, prompt.text))
    assert pending_prompts(journal.records) == ()


def test_what_waited_waits_again_in_a_resumed_session(queue: PromptQueue, journal: MemoryJournal):
    queue.put("a", priority="later")
    queue.put("/cost")
    again = queue_on(MemoryJournal(), pending_prompts(journal.records))
    assert again.pending() == queue.pending()


@pytest.mark.parametrize(
    "text", ["", " \n", "x" * (MAX_PROMPT_CHARACTERS + 1)], ids=["empty", "blank", "book"]
)
def test_what_is_no_prompt_is_refused_and_not_written(queue: PromptQueue, journal: MemoryJournal, text: str):
    with pytest.raises(UsageError):
        queue.put(text)
    assert (queue.pending(), journal.records) == ((), [])


def test_a_uuid_that_came_before_is_refused_also_when_its_prompt_is_gone(queue: PromptQueue):
    queue.put("one", uuid="u")
    queue.drain()
    with pytest.raises(UsageError):
        queue.put("two", uuid="u")


def test_half_a_character_is_replaced_before_it_is_written(queue: PromptQueue):
    assert queue.put("half \ud800").text == "half \ufffd"


def test_what_cannot_be_written_is_not_in_the_queue():
    queue = queue_on(MemoryJournal(fail_at_write=1))
    with pytest.raises(JournalError):
        queue.put("one")
    assert queue.pending() == ()


def test_only_a_prompt_that_cannot_wait_interrupts_and_it_is_in_the_queue_by_then(queue: PromptQueue):
    found: list[list[str]] = []
    queue.on_now(lambda: found.append(texts(queue.pending())))
    queue.put("next")
    queue.put("later", priority="later")
    assert found == []
    queue.put("now", priority="now")
    assert found == [["now", "next", "later"]]


def test_a_queue_that_moves_to_another_session_takes_what_waits_along(
    queue: PromptQueue, journal: MemoryJournal
):
    queue.put("one")
    other = MemoryJournal()
    queue.move_to(other.write)
    queue.put("two")
    assert pending_prompts(journal.records) == ()
    assert texts(pending_prompts(other.records)) == ["one", "two"]


# ------------------------------------------------------------------ any order of events, a crash anywhere


@dataclass
class Desk:
    """Does to a queue what an engine does, and keeps account of what became of each text."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    sent: list[str] = field(default_factory=list[str])
    carried_out: list[str] = field(default_factory=list[str])
    taken_back: list[str] = field(default_factory=list[str])
    put: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.queue = queue_on(self.journal)

    def send(self, message: Message) -> None:
        self.journal.write(message)
        self.sent.append(message.uuid)

    def do(self, step: str) -> None:
        match step:
            case "drain":
                for prompt in self.queue.drain():
                    self.send(attachment_message(prompt.uuid, QueuedCommand(prompt.text)))
            case "drain and give back":
                self.queue.give_back(self.queue.drain())
            case "next":
                prompt = self.queue.take_next()
                if prompt is not None and prompt.mode == "prompt":
                    self.send(user_prompt(prompt.uuid, prompt.text))
                elif prompt is not None:
                    self.carried_out.append(prompt.uuid)
            case "take back":
                last = self.queue.pending()[-1:]
                self.taken_back.extend(p.uuid for p in last if self.queue.take_back(p.uuid) is not None)
            case "later":
                self.put.append(self.queue.put(step, priority="later").uuid)
            case _:
                self.put.append(self.queue.put(step).uuid)


steps = st.lists(
    st.sampled_from([
        "words",
        "words",
        "/command",
        "!shell",
        "later",
        "drain",
        "drain and give back",
        "next",
        "take back",
    ]),
    max_size=30,
)


@given(steps)
def test_each_text_is_sent_once_or_carried_out_or_taken_back_or_waits(plan: list[str]):
    desk = Desk()
    for step in plan:
        desk.do(step)
    waiting = [prompt.uuid for prompt in desk.queue.pending()]
    assert sorted([*desk.sent, *desk.carried_out, *desk.taken_back, *waiting]) == sorted(desk.put)
    assert {prompt.uuid for prompt in pending_prompts(desk.journal.records)} == set(waiting)


@given(steps, st.data())
def test_a_crash_after_any_write_loses_no_text_and_repeats_none(plan: list[str], data: st.DataObject):
    desk = Desk()
    for step in plan:
        desk.do(step)
    records = desk.journal.records[: data.draw(st.integers(0, len(desk.journal.records)))]
    waiting = [prompt.uuid for prompt in pending_prompts(records)]
    assert sorted([*waiting, *_gone(records)]) == sorted(
        record.prompt_uuid for record in records if isinstance(record, QueueArrived)
    )


def _gone(records: Sequence[Record]) -> list[str]:
    taken = [uuid for record in records if isinstance(record, QueueTaken) for uuid in record.prompt_uuids]
    return [*taken, *(record.uuid for record in records if isinstance(record, Message))]


def test_a_queue_that_lives_long_keeps_what_waits_and_forgets_what_left(journal: MemoryJournal):
    queue = queue_on(journal)
    drained: Sequence[QueuedPrompt] = ()
    first = queue.put("first", priority="later", uuid="first")
    for _ in range(3 * KEPT_ARRIVALS):
        queue.put("go")
        drained = queue.drain()
    queue.give_back(drained)
    assert texts(queue.pending()) == ["go", "first"]
    with pytest.raises(UsageError):
        queue.put("again", uuid=first.uuid)
    assert len(queue._arrival) <= 2 * KEPT_ARRIVALS + 2


# ------------------------------------------------------------------ lent to an editor, and what an earlier run left


def test_what_is_lent_is_not_sent_and_a_crash_gives_it_back_until_it_is_settled(
    queue: PromptQueue, journal: MemoryJournal
):
    for text in ("one", "two"):
        queue.put(text, uuid=text)
    assert queue.lend("one") == "one"
    assert queue.lend("one") is None
    assert texts(queue.drain()) == ["two"]
    journal.write(user_prompt("two", "two"))
    assert texts(pending_prompts(journal.records)) == ["one"]
    queue.settle(["one", "never lent"])
    queue.settle(["one"])
    assert pending_prompts(journal.records) == ()
    assert sum(isinstance(record, QueueTaken) for record in journal.records) == 1


def test_what_is_lent_moves_to_the_next_session_with_its_editor(queue: PromptQueue, journal: MemoryJournal):
    queue.put("one", uuid="one")
    queue.lend("one")
    other = MemoryJournal()
    queue.move_to(other.write, after=queue.arrivals)
    assert (pending_prompts(journal.records), texts(pending_prompts(other.records))) == ((), ["one"])
    queue.settle(["one"])
    assert pending_prompts(other.records) == ()


def test_what_came_before_the_move_stays_with_its_session_and_what_came_later_moves_along(
    queue: PromptQueue, journal: MemoryJournal
):
    queue.put("one", uuid="one")
    command = queue.put("/resume x")
    assert queue.take(command.uuid) is not None
    queue.put("two")
    other = MemoryJournal()
    waited = [QueuedPrompt("earlier", "earlier")]
    assert queue.move_to(other.write, waited, after=queue.place_of(command.uuid)) == ("one",)
    assert texts(pending_prompts(journal.records)) == ["one"]
    assert texts(queue.pending()) == ["two", "earlier"]
    assert texts(queue.left_earlier()) == ["earlier"]


def test_a_move_that_cannot_be_written_moves_nothing(queue: PromptQueue, journal: MemoryJournal):
    queue.put("one")
    with pytest.raises(JournalError):
        queue.move_to(MemoryJournal(fail_at_write=1).write, after=0)
    queue.put("two")
    assert texts(queue.pending()) == texts(pending_prompts(journal.records)) == ["one", "two"]
