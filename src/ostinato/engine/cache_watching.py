"""The watch over a conversation's prompt cache, put together when a provider first says something of one."""

from typing import TYPE_CHECKING

from ostinato.cache_breaks import CacheBreak, Replied

if TYPE_CHECKING:
    from ostinato.context.cache_watch import CacheWatch


class CacheWatching:
    """Implements `WatchCache` for one conversation, whatever models answer in it."""

    def __init__(self) -> None:
        self._watch: CacheWatch | None = None

    def __call__(self, replied: Replied, /) -> CacheBreak | None:
        usage = replied.usage
        if self._watch is None:
            if not usage.cache_read_input_tokens and not usage.cache_creation_input_tokens:
                return None
            from ostinato.context.cache_watch import CacheWatch  # ruff: ignore[import-outside-top-level] - most models on this machine have no use for it

            self._watch = CacheWatch()
        return self._watch(replied)
