"""Work that begins with a query and runs beside its first model call: what it finds joins the attachments after a round of
tools, if it is there by then. Nobody ever waits for it, and it ends with the query (semantics §30.1).
"""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import anyio
from msgspec.structs import replace

from ostinato.loop.deps import Collect, Deps, Prefetch, QueryParams
from ostinato.messages import Message
from ostinato.ports import CollectAttachments


@asynccontextmanager
async def prefetching(params: QueryParams, deps: Deps) -> AsyncGenerator[Deps, None]:
    """Ports whose collector also gives what was prefetched, once. Leaving the block cancels what has not ended."""
    if deps.prefetch is None:
        yield deps
        return
    found = _Prefetched(deps.collect_attachments)
    forget = params.tool_use_context.abort.on_abort(found.stop)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(found.fetch, deps.prefetch, params.messages.view())
            try:
                yield replace(deps, collect_attachments=found)
            finally:
                found.stop()
    finally:
        forget()


class _Prefetched:
    """Implements `CollectAttachments`: the usual collector's finds, then what was prefetched, the first time it is there."""

    def __init__(self, collect: Collect) -> None:
        self._collect = collect
        self._found: CollectAttachments | None = None
        self._scope = anyio.CancelScope()

    def stop(self) -> None:
        self._scope.cancel()

    async def fetch(self, prefetch: Prefetch, view: Sequence[Message]) -> None:
        try:
            with self._scope:  # the query's own task is no part of it
                self._found = await prefetch(view)
        except Exception as error:  # ruff: ignore[blind-except] - what should help is never worth a query
            logging.getLogger("ostinato").warning("the prefetch failed: %r", error)

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        collected = self._collect(view)
        if not isinstance(collected, Sequence):
            collected = await collected
        if self._found is None:
            return collected
        found, self._found = self._found, None
        return (*collected, *await found(view))
