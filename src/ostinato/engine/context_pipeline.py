"""What shortens one conversation, put together when there is something to shorten: most conversations never come to that."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from ostinato.context_pass import PassFacts
from ostinato.engine.last_pass import LastPass
from ostinato.engine.seen_files import SeenFiles
from ostinato.hideable_rounds import HideableRounds
from ostinato.history import History
from ostinato.messages import Message
from ostinato.ports import Clock, Ids, ModelFacts, Workspace
from ostinato.records import AnyEdit
from ostinato.tool import DEFAULT_MAX_RESULT_CHARACTERS, Tool, find_tool

if TYPE_CHECKING:
    from ostinato.context.collapse import Collapse
    from ostinato.context.compaction import Compacted, Compaction, NotCompacted, Trigger

Stages = Callable[[History, PassFacts], Awaitable[Sequence[AnyEdit]]]


class ContextSources(msgspec.Struct, frozen=True):
    """What the stages need of their conversation. `whole_path`: the session file, None if nothing is kept."""

    workspace: Workspace
    files: SeenFiles
    tools: tuple[Tool, ...]
    clock: Clock
    ids: Ids
    may_read: Callable[[Path], bool]
    whole_path: Path | None
    auto_compact: bool
    last_pass: LastPass
    collapse: bool = False
    hideable: HideableRounds | None = None
    snip: bool = True
    microcompact: bool = True


class ContextPipeline:
    """Implements the loop's `PrepareContext`."""

    def __init__(self, sources: ContextSources) -> None:
        self._sources = sources
        self._stages: Stages | None = None
        self._collapse: Collapse | None = None

    async def __call__(self, messages: History, facts: PassFacts, /) -> Sequence[AnyEdit]:
        if self._stages is None:
            self._stages = _stages(self._sources, self._collapsing())
        idle_s = self._sources.last_pass.idle_s(self._sources.clock.now())
        return await self._stages(messages, replace(facts, idle_s=idle_s))

    async def drain(self, messages: History, /) -> Sequence[AnyEdit]:
        """Implements the loop's `DrainCollapsed`."""
        stage = self._collapsing()
        return () if stage is None else await stage.drain(messages)

    def _collapsing(self) -> "Collapse | None":
        """One for the conversation: what is staged in a pass is drained after it."""
        if self._collapse is None and self._sources.collapse:
            from ostinato.context.collapse import Collapse  # ruff: ignore[import-outside-top-level] - few conversations have it

            self._collapse = Collapse(self._sources.ids.uuid)
        return self._collapse

    def compaction(self) -> "Compaction":
        """For a summary that a person asks for."""
        return _compaction(self._sources)


def _stages(sources: ContextSources, collapse: "Collapse | None") -> Stages:
    from ostinato.context.autocompact import Autocompact  # ruff: ignore[import-outside-top-level] - loads with the second pass
    from ostinato.context.media_cap import MediaCap  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.context.microcompact import Microcompact  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.context.pipeline import Pipeline, StageName  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.context.snip import SnipStage  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.context.stage import Stage  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.context.tool_result_budget import ToolResultBudget  # ruff: ignore[import-outside-top-level] - as above

    new_uuid = sources.ids.uuid

    async def compact(
        messages: History, facts: PassFacts, /, *, trigger: "Trigger"
    ) -> "Compacted | NotCompacted":
        return await _compaction(sources)(messages, facts, trigger=trigger)

    async def digest(messages: History, model: ModelFacts) -> Sequence[AnyEdit]:
        from ostinato.context.reactive import ReactiveCompaction  # ruff: ignore[import-outside-top-level] - few conversations come to it

        return await ReactiveCompaction(new_uuid)(messages, None, model)

    stages: dict[StageName, Stage] = {
        "media_cap": MediaCap(new_uuid),
        "tool_result_budget": ToolResultBudget(
            new_uuid, partial(_stored, sources.workspace), _limits(sources.tools)
        ),
    }
    if sources.snip:
        stages["snip"] = SnipStage(new_uuid, sources.hideable)
    if sources.microcompact:
        stages["microcompact"] = Microcompact(new_uuid)
    if collapse is not None:
        stages["collapse"] = collapse
    if sources.auto_compact:
        stages["autocompact"] = Autocompact(compact, digest)
    return Pipeline(stages)


def _compaction(sources: ContextSources) -> "Compaction":
    from ostinato.context.compaction import Compaction  # ruff: ignore[import-outside-top-level] - as above

    whole = None if sources.whole_path is None else str(sources.whole_path)
    return Compaction(sources.ids.uuid, _restore(sources), whole_path=whole)


async def _stored(workspace: Workspace, call_id: str, text: str) -> str | None:
    from ostinato.journal.stored_results import store_result  # ruff: ignore[import-outside-top-level] - as above

    folder = workspace.stored_results
    if folder is None:
        return None
    path = await to_thread.run_sync(store_result, folder, call_id, text)
    return None if path is None else str(path)


def _limits(tools: tuple[Tool, ...]) -> Callable[[str], int | None]:
    """Read bounds its results itself: a file of its file would only be read again."""

    def limit_of(name: str) -> int | None:
        tool = find_tool(tools, name)
        return (
            DEFAULT_MAX_RESULT_CHARACTERS
            if tool is None
            else None
            if tool.name == "Read"
            else tool.max_result_characters
        )

    return limit_of


def _restore(sources: ContextSources) -> Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]:
    from ostinato.attachments.background_ends import BackgroundEnds  # ruff: ignore[import-outside-top-level] - as above
    from ostinato.attachments.restored_files import RestoredFiles  # ruff: ignore[import-outside-top-level] - as above

    files = RestoredFiles(sources.files, sources.workspace, sources.ids, sources.may_read)
    tasks = BackgroundEnds(sources.workspace, sources.ids)

    async def restore(kept: Sequence[Message]) -> Sequence[Message]:
        return (*await files(kept), *tasks.at_once(kept))

    return restore
