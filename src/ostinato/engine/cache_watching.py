"""The watch over a conversation's prompt cache, put together when a provider first says something of one."""

from typing import TYPE_CHECKING

from ostinato.cache_breaks import CacheBreak, Replied
from ostinato.messages import NO_USAGE, Usage
from ostinato.records import ResponseEnded

if TYPE_CHECKING:
    from ostinato.context.cache_watch import CacheWatch


class CacheWatching:
    """Implements `WatchCache` for one conversation, whatever models answer in it. `replied_s`: when the last reply of an earlier run
    ended (monotonic seconds); None where nobody knows.
    """

    def __init__(self, replied_s: float | None = None) -> None:
        self._watch: CacheWatch | None = None
        self._replied_s = replied_s

    def __call__(self, replied: Replied, /) -> CacheBreak | None:
        if self._watch is None:
            replied_s, self._replied_s = self._replied_s, None
            before = NO_USAGE if replied_s is None else _usage_before(replied)
            if not _says_of_cache(replied.usage) and not _says_of_cache(before):
                return None
            from ostinato.context.cache_watch import CacheWatch  # ruff: ignore[import-outside-top-level] - most models on this machine have no use for it

            self._watch = CacheWatch(replied_s)
        return self._watch(replied)


def _says_of_cache(usage: Usage) -> bool:
    return bool(usage.cache_read_input_tokens or usage.cache_creation_input_tokens)


def _usage_before(replied: Replied) -> Usage:
    """Of the last reply of the run before."""
    log = reversed(replied.messages.log())
    return next((record.usage for record in log if isinstance(record, ResponseEnded)), NO_USAGE)
