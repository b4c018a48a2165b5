"""The stages in their fixed order: each sees the view that the ones before it left, and what they freed.

A stage whose edits would not make the view shorter is not heard, so no pass ever grows by being shortened.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from ostinato.context.reactive import message_tokens
from ostinato.context.stage import Stage
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.normalise.shared_beginning import shared_beginning
from ostinato.records import AnyEdit

StageName = Literal["media_cap", "tool_result_budget", "snip", "microcompact", "collapse", "autocompact"]
ORDER: Final[tuple[StageName, ...]] = (
    "media_cap",
    "tool_result_budget",
    "snip",
    "microcompact",
    "collapse",
    "autocompact",
)


class Pipeline:
    """`stages`: those that are switched on, by name."""

    def __init__(self, stages: Mapping[StageName, Stage]) -> None:
        self._stages = MappingProxyType(dict(stages))

    async def __call__(self, messages: History, facts: PassFacts) -> Sequence[AnyEdit]:
        """The edits of all stages, in the order in which they apply."""
        made: list[AnyEdit] = []
        for name in ORDER:
            stage = self._stages.get(name)
            edits = await stage(messages, facts) if stage is not None else ()
            if not edits:
                continue
            shorter = messages.extend(edits)
            freed = freed_tokens(messages, shorter)
            if freed > 0:
                made += edits
                messages = shorter
                facts = msgspec.structs.replace(facts, used_tokens=max(0, facts.used_tokens - freed))
        return made


def freed_tokens(before: History, after: History) -> int:
    """By how much the second view is estimated to be shorter; messages that both share are not looked at."""
    then, now = before.view(), after.view()
    start = shared_beginning(then, now)
    then, now = then[start:], now[start:]
    kept = {id(message) for message in then} & {id(message) for message in now}
    gone = sum(message_tokens(message) for message in then if id(message) not in kept)
    return gone - sum(message_tokens(message) for message in now if id(message) not in kept)
