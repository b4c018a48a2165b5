"""A conversation becomes a summary and its newest rounds, in one record: before it everything is as it was, after it everything is
in place. What a model may forget is carried as data (`carried.py`); an answer that is no summary changes nothing.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, assert_never

import msgspec

from ostinato.context.carried import SHORT, carried_on, carried_text
from ostinato.context.deeds import cut
from ostinato.context.reactive import kept_start, message_tokens
from ostinato.context.summary_prompt import SUMMARISER, summary_in, summary_request
from ostinato.context.transcript import transcript_text
from ostinato.context_pass import PassFacts, SummaryFailed, SummaryReply, SummaryWanted
from ostinato.history import History
from ostinato.invariants import cut_points
from ostinato.messages import Message, Text, UserMessage
from ostinato.normalise.token_estimate import tokens_of
from ostinato.ports import ModelFacts
from ostinato.records import Boundary, Fold

Trigger = Literal["auto", "manual", "reactive"]
MAX_SHRINKS: Final = 3
"""Summary requests that were too long themselves are made shorter so often (semantics §24.7)."""

SHRINK_SHARE: Final = 0.2
MAX_TAIL_TOKENS: Final = 20_000
TAIL_SHARE: Final = 0.1
"""Of the window: the newest rounds that stay word for word."""

TAIL_PART: Final = 0.25
"""Of the conversation itself, where a person has it summarised early."""

MIN_TAIL_TOKENS: Final = 1_000

MIN_GAIN: Final = 0.1
QUOTED_CHARACTERS: Final = 500
ENDS_IT: Final = frozenset({"aborted", "over_budget", "error"})
"""After these no other form of the request would do better."""


HEAD: Final = (
    "This conversation goes on from an earlier part that had to make room for new work. What follows stands in its place: context, "
    "and no new request."
)
GO_ON: Final = "Go on with the work from where it stands. Do not acknowledge this account, and do not ask whether to go on."
WHOLE: Final = "Every word of the earlier part is in {path}, if an exact detail is missing here."


Restore = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]
"""What the model should still know beside the summary (files, tasks), given the messages that stay."""


class Compacted(msgspec.Struct, frozen=True):
    boundary: Boundary
    tokens_after: int


class Folded(msgspec.Struct, frozen=True):
    fold: Fold
    tokens_before: int
    tokens_after: int


class NotCompacted(msgspec.Struct, frozen=True):
    """Nothing has changed. `why` names the check or failure, `message` tells a person."""

    why: Literal[
        "too_little",
        "too_long",
        "error",
        "aborted",
        "over_budget",
        "no_summary",
        "cut",
        "called_tool",
        "no_gain",
    ]
    message: str


TOO_LITTLE: Final = NotCompacted(
    "too_little", "there is nothing before the newest round that could be summarised"
)


TOO_LONG: Final = NotCompacted("too_long", "its newest round alone is longer than the model's window")


class Compaction:
    """`whole_path`: where every word is still found, told to the model; None if nothing is kept."""

    def __init__(
        self,
        new_uuid: Callable[[], str],
        restore: Restore,
        *,
        whole_path: str | None = None,
    ) -> None:
        self._new_uuid = new_uuid
        self._restore = restore
        self._whole_path = whole_path

    async def __call__(
        self,
        messages: History,
        facts: PassFacts,
        *,
        trigger: Trigger,
        instructions: str = "",
        kept_from: int | None = None,
    ) -> Compacted | NotCompacted:
        """`kept_from`: where the part begins that stays, a cut point of the view; None: the newest rounds that fit."""
        view, model = messages.view(), facts.model
        start = newest_from(view, model) if kept_from is None else kept_from
        if start == 0:
            return TOO_LITTLE
        part = view if kept_from is None else view[:start]
        prompt = summary_request(instructions)
        text = await _summary(part, prompt, facts, shares_prefix=kept_from is None)
        if isinstance(text, NotCompacted):
            return text
        boundary = await self._boundary(messages, start, text, trigger, model.context_window)
        return _gaining(boundary, messages)

    async def fold_from(
        self, messages: History, facts: PassFacts, start: int, *, instructions: str = ""
    ) -> Folded | NotCompacted:
        """What begins at `start`, a cut point of the view, becomes an account; what is before it stays word for word."""
        view = messages.view()
        part = view[start:]
        if not part:
            return TOO_LITTLE
        prompt = summary_request(instructions, only_after=cut(transcript_text(part[:1]), QUOTED_CHARACTERS))
        text = await _summary(part, prompt, facts)
        if isinstance(text, NotCompacted):
            return text
        carried = carried_on(messages, part, facts.model.context_window, with_earlier=False)
        summary = self._message(text, carried_text(carried), is_alone=False)
        fold = Fold(self._new_uuid(), part[0].uuid, part[-1].uuid, summary, carried)
        before, after = sum(map(message_tokens, part)), message_tokens(summary)
        return Folded(fold, before, after) if after <= before * (1 - MIN_GAIN) else _no_gain(before, after)

    async def _boundary(
        self, messages: History, start: int, text: str, trigger: Trigger, window_tokens: int
    ) -> Boundary:
        view = messages.view()
        carried = carried_on(messages, view[:start], window_tokens)
        kept = view[start:]
        return Boundary(
            self._new_uuid(),
            self._message(text, carried_text(carried), is_alone=trigger != "manual"),
            kept[0].uuid if kept else "",
            tuple(await self._restore(kept)),
            trigger,
            sum(map(message_tokens, view)),
            carried,
        )

    def _message(self, summary: str, carried: str, *, is_alone: bool) -> UserMessage:
        whole = WHOLE.format(path=self._whole_path) if self._whole_path else ""
        parts = (HEAD, carried, SHORT + summary, whole, GO_ON if is_alone else "")
        text = "\n\n".join(part for part in parts if part)
        return UserMessage(self._new_uuid(), (Text(text),), is_meta=True, origin="summary")


def newest_from(view: Sequence[Message], model: ModelFacts) -> int:
    """Where the newest rounds begin that stay word for word; 0 if all would."""
    whole = sum(map(message_tokens, view))
    least = max(MIN_TAIL_TOKENS, TAIL_PART * whole)
    return kept_start(view, int(min(MAX_TAIL_TOKENS, TAIL_SHARE * model.context_window, least)))


def _gaining(boundary: Boundary, messages: History) -> Compacted | NotCompacted:
    before, after = boundary.pre_tokens, sum(map(message_tokens, messages.append(boundary)))
    return Compacted(boundary, after) if after <= before * (1 - MIN_GAIN) else _no_gain(before, after)


def _no_gain(before: int, after: int) -> NotCompacted:
    text = f"the summary would be as long as what it stands for ({after:,} of {before:,} tokens)"
    return NotCompacted("no_gain", text)


async def _summary(
    view: Sequence[Message], prompt: str, facts: PassFacts, *, shares_prefix: bool = True
) -> str | NotCompacted:
    """First with the conversation's own prefix; if that gives none, alone. A part that the prefix goes beyond is told alone at once,
    and nothing is sent that is estimated beyond the window, or beyond what a refusal says of it.
    """
    room, estimated = facts.model.context_window, sum(map(message_tokens, view)) + tokens_of(prompt)
    if facts.was_refused:
        room = min(room, _room_after(None, estimated))
    if not shares_prefix or facts.was_refused or facts.used_tokens + tokens_of(prompt) > room:
        return await _told_alone(view, prompt, facts, room)
    reply = await facts.summarise(SummaryWanted(prompt, shares_prefix=True))
    checked = _checked(reply)
    if isinstance(checked, str) or checked.why in ENDS_IT:
        return checked
    if isinstance(reply, SummaryFailed) and reply.kind == "too_long":
        counted = facts.used_tokens and facts.used_tokens + tokens_of(prompt)
        room = min(room, _room_after(reply, estimated, counted))
    return await _told_alone(view, prompt, facts, room)


async def _told_alone(
    view: Sequence[Message], prompt: str, facts: PassFacts, room_tokens: int
) -> str | NotCompacted:
    """Its newest rounds that fit, as text, and fewer of them as long as they are too long."""
    checked: str | NotCompacted = TOO_LONG
    for _ in range(1 + MAX_SHRINKS):
        view = _within(view, room_tokens - tokens_of(prompt))
        if not view:
            break
        whole = f"{transcript_text(view)}\n\n{prompt}"
        reply = await facts.summarise(SummaryWanted(whole, shares_prefix=False, system=SUMMARISER))
        checked = _checked(reply)
        if not isinstance(reply, SummaryFailed) or reply.kind != "too_long":
            break
        room_tokens = min(room_tokens, _room_after(reply, tokens_of(whole)))
    return checked


def _room_after(refused: SummaryFailed | None, estimated: int, counted: int = 0) -> int:
    """How much can be taken, in tokens as we estimate them, after so many were too much: what the server's numbers leave of them, or
    a fifth less. `counted`: the same request as its provider counts, as far as that is known.
    """
    excess = (refused and refused.excess_tokens) or 0
    sent = (refused and refused.sent_tokens) or counted or estimated
    share = excess / sent if 0 < excess < sent else SHRINK_SHARE
    return int(estimated * (1 - share))


def _within(view: Sequence[Message], room_tokens: int) -> Sequence[Message]:
    """Its newest rounds, as many as can be told in so many tokens; empty if not even the last one can."""
    kept = len(view)
    for start in sorted({0, *cut_points(view)}, reverse=True):
        room_tokens -= tokens_of(transcript_text(view[start:kept]))
        if room_tokens < 0:
            break
        kept = start
    return view[kept:]


def _checked(reply: SummaryReply | SummaryFailed) -> str | NotCompacted:
    match reply:
        case SummaryFailed():
            return NotCompacted(reply.kind, reply.message)
        case SummaryReply(called_tool=True):
            return NotCompacted("called_tool", "the model called a tool instead of writing a summary")
        case SummaryReply(is_cut=True):
            return NotCompacted("cut", "the summary reached its output limit")
        case SummaryReply():
            text = summary_in(reply.text)
            return text or NotCompacted("no_summary", "the model's reply holds no summary")
        case _:
            assert_never(reply)
