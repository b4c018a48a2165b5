"""The one builder of requests: a left fold over the view that only ever changes its last element.

So the request for a longer view begins with the request for the shorter one, byte for byte, and a pass costs what is new:
the part of the view that is closed is folded once and remembered. In strict mode a history that needs repair raises
`IllegalHistory`; otherwise it is repaired, in the order of semantics §8.
"""

from ostinato.errors import IllegalHistory
from ostinato.history import History
from ostinato.invariants import problems
from ostinato.messages import (
    AssistantBlock,
    AssistantMessage,
    AttachmentMessage,
    Document,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    UserBlock,
)
from ostinato.normalise.pairing import (
    with_reminders,
    with_results_paired,
    without_duplicate_calls,
    without_halves,
)
from ostinato.normalise.rendering import (
    rendered_assistant_blocks,
    rendered_user_blocks,
    without_trailing_thinking,
)
from ostinato.normalise.repairing import repaired_messages
from ostinato.ports import ModelFacts, RequestMessage

MAX_MEDIA = 100
"""Images and documents a request may hold; the oldest go first (semantics §8, step 12)."""

MEDIA_DROPPED = "[an older image or document was left out]"
CONTINUES = "(the conversation goes on)"


class Normaliser:
    """Builds requests for one model from one growing conversation."""

    def __init__(self, facts: ModelFacts, *, strict: bool = False) -> None:
        self._facts = facts
        self._strict = strict
        self._closed: list[Message] | None = None
        self._consumed = 0
        self._fold = _Fold(facts)
        self._known_calls: set[str] = set()
        self._first: tuple[RequestMessage, str, RequestMessage] | None = None

    def request_messages(
        self,
        history: History,
        user_context: str = "",
        *,
        continues_reply: bool = False,
        repair_level: int = 0,
    ) -> list[RequestMessage]:
        """What to send for this history. `continues_reply`: its last message is a paused reply, which then stands last.
        `repair_level`: see `repairing.py`. Raises IllegalHistory in strict mode if anything had to be repaired unasked.
        """
        if self._closed is not history.closed or self._consumed > history.closed_length:
            self._closed, self._consumed, self._fold = history.closed, 0, _Fold(self._facts)
        for index in range(self._consumed, history.closed_length):
            self._fold.push(history.closed[index])
        self._consumed = history.closed_length
        fold = self._fold.fork()
        for message in history.tail:
            fold.push(message)
        self._known_calls = fold.seen_calls
        finished = repaired_messages(fold.finish(continues_reply=continues_reply), repair_level)
        messages = self._with_context(finished, user_context)
        if self._strict and fold.repairs and not repair_level:
            raise IllegalHistory(tuple(fold.repairs))
        found = problems(messages, continues_reply=continues_reply) if self._strict else ()
        if found:
            raise IllegalHistory(found)
        return messages

    def knows_call(self, call_id: str) -> bool:
        """Whether a call of the last request's history has this id."""
        return call_id in self._known_calls

    def _with_context(self, messages: list[RequestMessage], user_context: str) -> list[RequestMessage]:
        """The first message with the context is the same object as long as neither changes."""
        first = messages[0] if messages else None
        if first is not None and self._first is not None and self._first[:2] == (first, user_context):
            return [self._first[2], *messages[1:]]
        with_context = prepend_user_context(messages, user_context)
        if first is not None:
            self._first = (first, user_context, with_context[0])
        return with_context


class _Fold:
    """Messages made so far, and the one that may still grow (`user` or `assistant` blocks)."""

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts
        self.done: list[RequestMessage] = []
        self.seen_calls: set[str] = set()
        self.open_calls: tuple[str, ...] = ()
        self.user: list[UserBlock] = []
        self.reminders: list[str] = []
        self.assistant: list[AssistantBlock] = []
        self.media = 0
        self.repairs: list[str] = []

    def fork(self) -> "_Fold":
        copy = _Fold(self.facts)
        copy.done = self.done.copy()
        copy.seen_calls = self.seen_calls.copy()
        copy.open_calls = self.open_calls
        copy.user = self.user.copy()
        copy.reminders = self.reminders.copy()
        copy.assistant = self.assistant.copy()
        copy.media = self.media
        copy.repairs = self.repairs.copy()
        return copy

    def push(self, message: Message) -> None:
        if isinstance(message, AssistantMessage):
            self._push_assistant(message)
            return
        blocks = rendered_user_blocks(message)
        if not blocks:
            return
        self._close_assistant()
        if isinstance(message, AttachmentMessage) and self.open_calls:
            self.reminders.extend(block.text for block in blocks if isinstance(block, Text))
            self.user.extend(block for block in blocks if not isinstance(block, Text))
        else:
            self.user.extend(blocks)
        self.media += sum(isinstance(block, Image | Document) for block in _flat(blocks))

    def _push_assistant(self, message: AssistantMessage) -> None:
        blocks = rendered_assistant_blocks(message, self.facts)
        kept = without_duplicate_calls(blocks, self.seen_calls)
        if len(kept) != len(blocks):
            self.repairs.append(f"message `{message.uuid}`: a call id is empty or was used before")
        if not kept:
            return
        self._close_user()
        self._reopen_assistant()
        self.seen_calls.update(block.id for block in kept if isinstance(block, ToolUse))
        self.assistant.extend(kept)

    def _close_assistant(self, *, is_open: bool = False) -> None:
        if not self.assistant:
            return
        content = without_trailing_thinking(without_halves(self.assistant, is_open=is_open))
        self.assistant = []
        if content:
            self.done.append(RequestMessage("assistant", content))
            self.open_calls = tuple(block.id for block in content if isinstance(block, ToolUse))

    def _close_user(self) -> None:
        if self.assistant and not any(isinstance(block, ToolUse) for block in self.assistant):
            return  # a reply in two responses: they join
        self._close_assistant()
        self._note_unpaired()
        content = with_reminders(with_results_paired(self.open_calls, self.user), self.reminders)
        self.user, self.reminders, self.open_calls = [], [], ()
        if content:
            self._append_user(tuple(content))

    def _reopen_assistant(self) -> None:
        """Nothing of what stood between two replies may be sent: they join."""
        last = self.done[-1] if self.done else None
        if last is not None and last.role == "assistant":
            self.done.pop()
            self.assistant = [block for block in last.content if isinstance(block, AssistantBlock)]

    def _append_user(self, content: tuple[UserBlock, ...]) -> None:
        last = self.done[-1] if self.done else None
        if last is not None and last.role == "user":
            self.done[-1] = RequestMessage("user", (*_user_blocks(last), *content))
        else:
            self.done.append(RequestMessage("user", content))

    def _note_unpaired(self) -> None:
        answers = [block.tool_use_id for block in self.user if isinstance(block, ToolResult)]
        self.repairs.extend(f"the call `{c}` has no result" for c in self.open_calls if c not in answers)
        self.repairs.extend(f"the result `{a}` has no call" for a in answers if a not in self.open_calls)
        self.repairs.extend(
            f"the call `{c}` has two results" for c in self.open_calls if answers.count(c) > 1
        )

    def finish(self, *, continues_reply: bool = False) -> list[RequestMessage]:
        self._close_assistant(is_open=continues_reply)
        self._close_user()
        messages = self.done
        if messages and messages[-1].role == "assistant" and not continues_reply:
            messages.append(RequestMessage("user", (Text(CONTINUES),)))
        if messages and messages[0].role == "assistant":
            messages.insert(0, RequestMessage("user", (Text(CONTINUES),)))
        if self.media > MAX_MEDIA:
            messages = _with_media_capped(messages, self.media - MAX_MEDIA)
        return messages


def prepend_user_context(messages: list[RequestMessage], user_context: str) -> list[RequestMessage]:
    """Put the user context before everything, at call time; it is never stored, counted or compacted."""
    if not user_context.strip():
        return messages
    reminder = Text(f"<system-reminder>\n{user_context.strip()}\n</system-reminder>")
    if not messages:
        return [RequestMessage("user", (reminder,))]
    return [RequestMessage("user", (reminder, *_user_blocks(messages[0]))), *messages[1:]]


def _user_blocks(message: RequestMessage) -> tuple[UserBlock, ...]:
    return tuple(
        block for block in message.content if isinstance(block, Text | Image | Document | ToolResult)
    )


def _flat(blocks: tuple[UserBlock, ...]) -> list[UserBlock]:
    flat: list[UserBlock] = []
    for block in blocks:
        if isinstance(block, ToolResult) and isinstance(block.content, tuple):
            flat.extend(block.content)
        else:
            flat.append(block)
    return flat


def _with_media_capped(messages: list[RequestMessage], surplus: int) -> list[RequestMessage]:
    """A text note in place of the `surplus` oldest images and documents."""
    note = Text(MEDIA_DROPPED)
    capped: list[RequestMessage] = []
    for message in messages:
        if message.role == "assistant" or surplus <= 0:
            capped.append(message)
            continue
        content: list[UserBlock] = []
        for block in _user_blocks(message):
            if isinstance(block, Image | Document) and surplus > 0:
                content.append(note)
                surplus -= 1
            elif isinstance(block, ToolResult) and isinstance(block.content, tuple):
                parts = list(block.content)
                for place, part in enumerate(parts):
                    if isinstance(part, Image | Document) and surplus > 0:
                        parts[place] = note
                        surplus -= 1
                content.append(ToolResult(block.tool_use_id, tuple(parts), block.is_error))
            else:
                content.append(block)
        capped.append(RequestMessage("user", tuple(content)))
    return capped
