"""Conversations at random: records that refer to one another the way a live session's do, late and wrong ones included."""

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import strategies as st

from ostinato.messages import (
    Image,
    Reminder,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    UserMessage,
    assistant_fragment,
    attachment_message,
    meta_prompt,
    tool_result_message,
    user_prompt,
)
from ostinato.records import (
    Boundary,
    Fold,
    Record,
    ReplaceResult,
    ResponseEnded,
    Retract,
    Snip,
    StripMedia,
    ToolStarted,
    Undo,
)

Step = tuple[str, int, int]


class Conversation:
    """Makes one record a step. Numbers choose among what was said before, so that a failing list of steps shrinks well."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._messages: list[str] = []
        self._open_calls: list[str] = []
        self._calls: list[str] = []
        self._edits: list[str] = []
        self._responses = 0

    def take(self, step: Step) -> None:
        name, first, second = step
        makers: dict[str, Callable[[int, int], Record]] = {
            "prompt": self._prompt,
            "text": self._text,
            "call": self._call,
            "new_response": self._new_response,
            "result": self._result,
            "stray_result": self._stray_result,
            "reminder": self._reminder,
            "fact": self._fact,
            "response_ended": self._response_ended,
            "replace": self._replace,
            "snip": self._snip,
            "fold": self._fold,
            "boundary": self._boundary,
            "strip": self._strip,
            "retract": self._retract,
            "undo": self._undo,
        }
        self.records.append(makers[name](first, second))

    def _new(self, prefix: str) -> str:
        return f"{prefix}{len(self.records)}"

    def _message(self) -> str:
        uuid = self._new("m")
        self._messages.append(uuid)
        return uuid

    def _edit(self) -> str:
        edit_id = self._new("e")
        self._edits.append(edit_id)
        return edit_id

    @staticmethod
    def _some(known: list[str], number: int, otherwise: str) -> str:
        """One of the known, the newest most likely to shrink to; now and then one that is not there (yet)."""
        if not known or number % 11 == 10:
            return f"{otherwise}{number}"
        return known[-1 - number % len(known)]

    def _prompt(self, first: int, second: int) -> Record:
        image = (Image("image/png", "AAAA"),) if first % 2 else ()
        return UserMessage(self._message(), (Text(f"prompt {second}"), *image))

    def _text(self, first: int, second: int) -> Record:
        return assistant_fragment(self._message(), f"r{self._responses}", "m", Text(f"text {second}"))

    def _call(self, first: int, second: int) -> Record:
        call_id = self._new("t")
        self._open_calls.append(call_id)
        self._calls.append(call_id)
        call = ToolUse(call_id, "Bash", {"command": f"echo {second}"})
        return assistant_fragment(self._message(), f"r{self._responses}", "m", call)

    def _new_response(self, first: int, second: int) -> Record:
        self._responses += 1
        return self._text(first, second)

    def _result(self, first: int, second: int) -> Record:
        if not self._open_calls:
            return self._prompt(first, second)
        call_id = self._open_calls.pop(first % len(self._open_calls))
        content = (Text("see"), Image("image/png", "AAAA")) if second % 2 else f"result {second}"
        return tool_result_message(self._message(), ToolResult(call_id, content), display={"n": second})

    def _stray_result(self, first: int, second: int) -> Record:
        call_id = self._some(self._calls, first, "t")
        return tool_result_message(self._message(), ToolResult(call_id, "again", is_error=True))

    def _reminder(self, first: int, second: int) -> Record:
        return attachment_message(self._message(), Reminder("todo", f"note {second}"))

    def _fact(self, first: int, second: int) -> Record:
        return ToolStarted(self._some(self._calls, first, "t"), "Bash", is_read_only=False)

    def _response_ended(self, first: int, second: int) -> Record:
        return ResponseEnded(f"r{self._responses}", "m", Usage(first, second), "end_turn")

    def _replace(self, first: int, second: int) -> Record:
        return ReplaceResult(self._edit(), self._some(self._calls, first, "t"), f"cut {second}")

    def _span(self, first: int, second: int) -> tuple[str, str]:
        ends = sorted((self._some(self._messages, n, "m") for n in (first, second)), key=lambda m: int(m[1:]))
        return ends[0], ends[1]

    def _snip(self, first: int, second: int) -> Record:
        marker = meta_prompt(self._message(), "snipped", origin="snip")
        return Snip(self._edit(), *self._span(first, second), marker)

    def _fold(self, first: int, second: int) -> Record:
        summary = meta_prompt(self._message(), "folded", origin="summary")
        return Fold(self._edit(), *self._span(first, second), summary)

    def _boundary(self, first: int, second: int) -> Record:
        kept = "" if first % 3 == 0 else self._some(self._messages, first, "m")
        summary = meta_prompt(self._message(), "summary", origin="summary")
        restored = (attachment_message(self._new("a"), Reminder("files", "f")),) if second % 2 else ()
        return Boundary(self._edit(), summary, kept, restored)

    def _strip(self, first: int, second: int) -> Record:
        return StripMedia(self._edit(), self._some(self._messages, first, "m"), second % 3, "[image]")

    def _retract(self, first: int, second: int) -> Record:
        ids = {self._some(self._messages, number, "m") for number in (first, second)}
        return Retract(self._edit(), tuple(sorted(ids)))

    def _undo(self, first: int, second: int) -> Record:
        target = (
            f"e{len(self.records) + first % 3}" if second % 7 == 6 else self._some(self._edits, first, "e")
        )
        return Undo(self._edit(), target)


MESSAGE_STEPS = ("prompt", "text", "call", "new_response", "result", "stray_result", "reminder")
FACT_STEPS = ("fact", "response_ended")
EDIT_STEPS = ("replace", "snip", "fold", "boundary", "strip", "retract", "undo")
STEPS = st.tuples(
    st.sampled_from((*MESSAGE_STEPS, *MESSAGE_STEPS, *FACT_STEPS, *EDIT_STEPS)),
    st.integers(0, 40),
    st.integers(0, 40),
)


def records_of(steps: Sequence[Step]) -> list[Record]:
    conversation = Conversation()
    for step in steps:
        conversation.take(step)
    return conversation.records


CONVERSATIONS = st.lists(STEPS, max_size=60).map(records_of)


def long_conversation(messages: int, edits: int, seed: int) -> list[Record]:
    """As many messages and edits as asked for, well mixed; always the same for the same seed."""
    random = Random(seed)
    names = [random.choice(MESSAGE_STEPS) for _ in range(messages)] + [
        random.choice(EDIT_STEPS) for _ in range(edits)
    ]
    random.shuffle(names)
    return records_of([(name, random.randrange(400), random.randrange(400)) for name in names])


def plain_conversation(messages: int) -> list[Record]:
    """Prompt, call, result, reply, over and over: no edits."""
    steps: list[Step] = []
    for turn in range(messages // 4):
        steps += [("prompt", 0, turn), ("new_response", 0, turn), ("call", 0, turn), ("result", 0, turn * 2)]
    return records_of(steps)


def prompt(uuid: str) -> UserMessage:
    return user_prompt(uuid, uuid)
