"""Stands between a round of tools and the next pass: counts, tells the model, asks the user, or ends the query as `no_progress`."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Final

from msgspec.structs import replace

from ostinato.history import History
from ostinato.loop.abortable import unless_aborted
from ostinato.loop.deps import Deps
from ostinato.loop.guards.heard import heard, result_text
from ostinato.loop.guards.repeats import Finding, counted, found
from ostinato.loop.guards.words import HINT, note, reason
from ostinato.loop.transitions.step import End, Next, Step, Why
from ostinato.messages import (
    AttachmentMessage,
    Message,
    QueuedCommand,
    Reminder,
    ToolResult,
    UserMessage,
    api_error_message,
    attachment_message,
)
from ostinato.repetition import NO_REPEATS, Repeats
from ostinato.state import QueryConfig, State, UsedTools

NOTE_SOURCE: Final = "loop_guard"

MAX_QUESTIONS: Final = 3
"""Who says yes to everything, or a program that does, does not keep a query in a circle for ever."""

ENOUGH_CHARACTERS: Final = 1_000
"""Of a long answer that was stored elsewhere the model keeps at least so much; what was cleared is shorter."""


async def guarded(step: Step, state: State, outcome: UsedTools, deps: Deps, config: QueryConfig) -> Step:
    """The step that follows `used_tools`. What the user sent meanwhile is a new beginning: nothing is counted across it."""
    if config.loop_guard == "off" or isinstance(step, End):
        return step
    if any(_is_from_user(message) for message in step.added):
        return _with(step, NO_REPEATS)
    round_ = heard(outcome.records, state.tool_use_context.tools)
    repeats = counted(state.bounds.repeats, round_, StillInView(step.state.messages))
    finding = found(repeats, round_, config.guard_limits)
    if finding is None:
        return _with(step, repeats)
    if finding.is_end and config.loop_guard == "stop":
        return await _asked_or_ended(step, finding, repeats, deps)
    if finding.is_end:
        repeats = replace(NO_REPEATS, questions=repeats.questions)
    told = attachment_message(deps.ids.uuid(), Reminder(NOTE_SOURCE, note(finding), finding.call.id))
    return _with(step, repeats, told)


async def _asked_or_ended(step: Next, finding: Finding, repeats: Repeats, deps: Deps) -> Step:
    """A yes starts the counts again. An abort while the question stands is for the next pass, which makes no call."""
    why = reason(finding)
    if deps.may_go_on is not None and repeats.questions < MAX_QUESTIONS:
        ask = partial(deps.may_go_on, finding.call, why)
        if await unless_aborted(step.state.tool_use_context.abort, ask, otherwise=True):
            return _with(step, replace(NO_REPEATS, questions=repeats.questions + 1))
    error = api_error_message(deps.ids.uuid(), step.state.tool_use_context.model.id, why)
    return End("no_progress", (*step.added, error), Why(why, HINT, "no_progress"))


def _with(step: Next, repeats: Repeats, *told: Message) -> Next:
    state = step.state
    bounds = replace(state.bounds, repeats=repeats)
    following = replace(state, bounds=bounds, messages=state.messages.extend(told))
    return replace(step, state=following, added=(*step.added, *told))


def _is_from_user(message: Message) -> bool:
    return isinstance(message, AttachmentMessage) and isinstance(message.attachment, QueuedCommand)


class StillInView:
    """Implements `StillKnown`: whether the model still has that answer, which was neither summarised away nor cleared to make room.
    The view is gone through from its end, once however many answers are asked for, and not at all where none is.
    """

    def __init__(self, messages: History) -> None:
        self._messages = messages
        self._lengths: dict[str, int] = {}

    def __call__(self, call_id: str, length: int) -> bool:
        while call_id not in self._lengths and (message := next(self._newest_first, None)) is not None:
            for block in message.content if isinstance(message, UserMessage) else ():
                if isinstance(block, ToolResult):
                    self._lengths.setdefault(block.tool_use_id, len(result_text(block)))
        return self._lengths.get(call_id, -1) >= min(length, ENOUGH_CHARACTERS)

    @cached_property
    def _newest_first(self) -> Iterator[Message]:
        return reversed(self._messages.view())
