"""The library's front door: a prompt in, events out; nothing to open, nothing to close."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Unpack

import anyio
from anyio.lowlevel import current_token

from ostinato.engine.options import Options, QueryOptions
from ostinato.engine.result import QueryResult, result_of_events, terminal_of
from ostinato.engine.without_model import start_engine_for
from ostinato.errors import UsageError
from ostinato.events import Event, Result, Terminal


async def query(prompt: str, **options: Unpack[QueryOptions]) -> AsyncGenerator[Event, None]:
    """Run an agent on `prompt` and yield what happens; the last event is its `Terminal`.

    The keyword arguments are the fields of `Options`: `cwd`, `model`, `tools`, `system_prompt`, `max_turns`,
    `can_use_tool`, `permission_mode` and so on. Runs on asyncio and trio. Safe to leave at any time: that ends the run, its
    tools and their processes. For a conversation, and for what a query cost, see `open_engine`.

    Raises UsageError, ConfigurationError or JournalError before anything is sent; a model call that fails is no exception
    but a `Terminal` with reason `model_error`.
    """
    events = _submitted(prompt, options_from(options))
    is_ended = False
    try:
        async for event in events:
            if not isinstance(event, Result):
                is_ended = isinstance(event, Terminal)
                yield event
            elif not is_ended:
                yield terminal_of(event)
    finally:
        await events.aclose()


async def _submitted(prompt: str, options: Options) -> AsyncGenerator[Event, None]:
    """An engine for one prompt: the events of its submission, with the `Result`."""
    engine = await start_engine_for(prompt, options)
    events = engine.submit_message(prompt)
    try:
        async for event in events:
            yield event
    finally:
        try:
            await events.aclose()
        finally:
            await engine.aclose()


def run(prompt: str, **options: Unpack[QueryOptions]) -> QueryResult:
    """The synchronous form, for scripts: run to the end, then return the result.

    Raises what `query` raises, and UsageError inside a running event loop (a notebook has one).
    """
    if _is_in_event_loop():
        raise UsageError(
            "`ostinato.run` cannot wait inside a running event loop",
            hint="use `async for event in ostinato.query(...)` there",
        )
    return anyio.run(partial(_collected, prompt, options))


def _is_in_event_loop() -> bool:
    try:
        current_token()
    except RuntimeError:
        return False
    return True


async def _collected(prompt: str, options: QueryOptions) -> QueryResult:
    async with aclosing(_submitted(prompt, options_from(options))) as events:
        return result_of_events([event async for event in events])


def options_from(given: QueryOptions) -> Options:
    """Options from keyword arguments. Raises TypeError for one that there is not."""
    return Options(**dict(_known(given)))


def _known(given: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(set(given) - set(Options.__struct_fields__))
    if unknown:
        raise TypeError(f"query() has no option `{unknown[0]}`")
    return given
