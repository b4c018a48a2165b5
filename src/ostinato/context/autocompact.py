"""Stage 5: above its threshold the conversation is summarised before the next call. Failures are counted and stop the trying; a
conversation that fills up again at once is ended with a reason instead of being summarised for ever.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from ostinato.context.compaction import Compacted, NotCompacted, Trigger
from ostinato.context_pass import PassFacts
from ostinato.history import History
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit
from ostinato.window_limits import auto_compact_tokens, hard_limit_tokens

MAX_FAILURES: Final = 3
"""In a row; sessions that went on trying made hundreds of thousands of useless calls a day (semantics §24.3)."""


class Compact(Protocol):
    async def __call__(
        self, messages: History, facts: PassFacts, /, *, trigger: Trigger
    ) -> Compacted | NotCompacted: ...


Digest = Callable[[History, ModelFacts], Awaitable[Sequence[AnyEdit]]]
"""The way out that needs no model: the edits of a deterministic account, none if it gains nothing."""


class Autocompact:
    """`digest` is asked once the hard limit is reached and no summary can be had."""

    def __init__(self, compact: Compact, digest: Digest) -> None:
        self._compact = compact
        self._digest = digest

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        if facts.source.name == "compact" or facts.used_tokens < auto_compact_tokens(facts.model):
            return ()
        if facts.compact_failures < MAX_FAILURES:
            done = await self._compact(messages, facts, trigger="auto")
            if isinstance(done, Compacted):
                return (done.boundary,)
            if done.why == "aborted":
                return ()
            if done.why != "too_little":
                facts.compact_failed(done.message)
        is_full = facts.used_tokens >= hard_limit_tokens(facts.model)
        return await self._digest(messages, facts.model) if is_full else ()
