"""What is done when a model has refused a request as too long: the earlier part becomes an account, the newest rounds stay.

Deterministic and without a model call, so it works where the summariser's own request would be too long as well. It gains at
least a tenth or does nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final

from ostinato.context.carried import carried_on
from ostinato.context.deeds import cut, users_words
from ostinato.context.digest import digest_text
from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.invariants import cut_points
from ostinato.messages import AssistantMessage, Message, Text, ToolResult, UserMessage
from ostinato.normalise.rendering import rendered_user_blocks
from ostinato.normalise.token_estimate import blocks_tokens
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit, Boundary, ReplaceResult

TAIL_SHARE: Final = 0.25
"""Of what fits: the newest rounds that stay word for word."""

DIGEST_SHARE: Final = 0.1
"""Of what fits: the account of the rest, beside what is carried on."""

CHARACTERS_A_TOKEN: Final = 2.5
MIN_DIGEST_CHARACTERS: Final = 2_000
MIN_GAIN: Final = 0.1

CLEARED: Final = (
    "{text}\n[The middle of this result was left out, because the conversation had become too long.]"
)


class ReactiveCompaction:
    """Implements the loop's `Shorten` for requests that were too long."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid

    async def __call__(
        self, messages: History, error: ModelError | None, model: ModelFacts
    ) -> Sequence[AnyEdit]:
        """The edits, or none if they would gain nothing."""
        view = messages.view()
        before = sum(map(message_tokens, view))
        fitting = min(before, _window(before, error, model))
        start = kept_start(view, int(fitting * TAIL_SHARE))
        edits = self._boundary(messages, start, fitting, before)
        if sum(map(message_tokens, messages.extend(edits))) >= before:
            edits = []  # an account that is longer than what it stands for
        edits += self._results_cut(view[start:], fitting)
        after = sum(map(message_tokens, messages.extend(edits)))
        return edits if after <= before * (1 - MIN_GAIN) else ()

    def _boundary(self, messages: History, start: int, fitting: int, before: int) -> list[AnyEdit]:
        if start == 0:
            return []
        view = messages.view()
        gone = view[:start]
        carried = carried_on(messages, gone, fitting)
        room = max(MIN_DIGEST_CHARACTERS, int(fitting * DIGEST_SHARE * CHARACTERS_A_TOKEN))
        text = Text(digest_text(gone, carried, room))
        summary = UserMessage(self._new_uuid(), (text,), is_meta=True, origin="summary")
        kept_from = view[start].uuid if start < len(view) else ""
        return [
            Boundary(
                self._new_uuid(),
                summary,
                kept_from,
                trigger="reactive",
                pre_tokens=before,
                carried=carried,
            )
        ]

    def _results_cut(self, kept: Sequence[Message], fitting: int) -> list[AnyEdit]:
        """Long results of the newest rounds, when these alone are too much."""
        allowed = int(fitting * TAIL_SHARE)
        if sum(map(message_tokens, kept)) <= allowed:
            return []
        results = [
            block
            for message in kept
            if isinstance(message, UserMessage)
            for block in message.content
            if isinstance(block, ToolResult) and isinstance(block.content, str)
        ]
        room = max(200, int(allowed * CHARACTERS_A_TOKEN / max(1, len(results))))
        return [
            ReplaceResult(
                self._new_uuid(), block.tool_use_id, CLEARED.format(text=cut(block.content, room)), how="cut"
            )
            for block in results
            if isinstance(block.content, str) and len(block.content) > room + len(CLEARED)
        ]


def message_tokens(message: Message) -> int:
    """The estimate of what a message adds to a request."""
    if isinstance(message, AssistantMessage):
        return 0 if message.is_error else blocks_tokens(message.content)
    return blocks_tokens(rendered_user_blocks(message))


def _window(estimated: int, error: ModelError | None, model: ModelFacts) -> int:
    """How many estimated tokens fit. A refusal that names the sizes says how the estimate compares; one that does not says only
    that this was too much.
    """
    if error is not None and error.input_tokens and error.limit_tokens:
        return int(estimated * error.limit_tokens / error.input_tokens)
    return model.context_window


def kept_start(view: Sequence[Message], allowed: int) -> int:
    """Where the newest whole rounds begin that fit; the newest round always stays, and so does a prompt that nothing followed."""
    points = [*cut_points(view), len(view)]
    start = _last_round(view, points)
    room = allowed - sum(map(message_tokens, view[start:]))
    for earlier in reversed([point for point in points if point < start]):
        room -= sum(map(message_tokens, view[earlier:start]))
        if room < 0:
            break
        start = earlier
    return start


def _last_round(view: Sequence[Message], points: Sequence[int]) -> int:
    """The newest cut point from which on there is something to go on from: a reply, or words of the user."""
    for point in reversed(points):
        if any(isinstance(message, AssistantMessage) or users_words(message) for message in view[point:]):
            return point
    return 0
