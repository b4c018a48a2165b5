"""What the model knows beside what was said: the folder and the day, instruction files, mentioned and changed files.

A model with a short prompt gets the folder and the day only: the rest would fill its window.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from ostinato.attachments.background_ends import BackgroundEnds
from ostinato.attachments.date_change import DateChange
from ostinato.attachments.instruction_candidates import is_anything_there
from ostinato.attachments.instruction_files import InstructionPlaces, LoadedInstructions
from ostinato.attachments.todo_reminder import TodoReminder
from ostinato.engine.prompt import user_context
from ostinato.engine.seen_files import SeenFiles
from ostinato.hideable_rounds import HideableRounds
from ostinato.journal.places import project_folder
from ostinato.loop.deps import Collect, Found, Prefetch, ResolveMentions, no_attachments
from ostinato.messages import Message
from ostinato.ports import Clock, Ids, ModelFacts, Workspace
from ostinato.todo_list import TodoList

if TYPE_CHECKING:
    from ostinato.attachments.changed_files import ChangedFiles
    from ostinato.attachments.collect import CollectTogether


class Surroundings(msgspec.Struct, frozen=True):
    """`user_context` is put before the messages at call time, `repository` behind the system prompt; `collect` runs after tools, `mentions` with each prompt,
    `prefetch` beside the first model call.
    """

    user_context: str
    instructions: LoadedInstructions
    collect: Collect
    mentions: ResolveMentions
    prefetch: Prefetch | None = None
    repository: str = ""


class Sources(msgspec.Struct, frozen=True):
    """Where the surroundings come from. `may_read` answers for a resolved path from the permission rules; `git_environment` is what git
    is asked with, None: it is not asked.
    """

    workspace: Workspace
    files: SeenFiles
    clock: Clock
    ids: Ids
    may_read: Callable[[Path], bool]
    home: Path | None
    data_root: Path | None
    instruction_excludes: tuple[str, ...] = ()
    todos: TodoList = msgspec.field(default_factory=TodoList)
    hideable: HideableRounds | None = None
    is_apart: bool = False
    git_environment: Mapping[str, str] | None = None


async def surroundings_of(sources: Sources, facts: ModelFacts, *, with_instructions: bool) -> Surroundings:
    """Reads the instruction files; whatever is wrong with one is a problem in `instructions`, never an error."""
    workspace = sources.workspace
    told = sources.clock.now()
    is_apart = sources.is_apart and not facts.short_prompt
    context = user_context(workspace.cwd, workspace.roots, told, is_apart=is_apart)
    if facts.short_prompt:
        collect, mentions = _settling(workspace, no_attachments), _no_mentions(workspace)
        return Surroundings(context, LoadedInstructions(), collect, mentions)
    places = InstructionPlaces(
        workspace.cwd,
        workspace.roots,
        home=sources.home,
        data_root=sources.data_root,
        excludes=sources.instruction_excludes,
    )
    loaded, text = LoadedInstructions(), ""
    if with_instructions and is_anything_there(places):
        from ostinato.attachments.instruction_text import instructions_context  # ruff: ignore[import-outside-top-level] - only where there are instructions
        from ostinato.attachments.load_instructions import load_instructions  # ruff: ignore[import-outside-top-level] - as above

        loaded = await to_thread.run_sync(load_instructions, places)
        text = instructions_context(loaded)
    finder = _Finder(sources, facts, loaded, places, told.date())
    return Surroundings(
        f"{context}\n\n{text}" if text else context,
        loaded,
        finder.collect,
        finder.mentioned,
        _recall(sources),
        await _repository(sources),
    )


async def _repository(sources: Sources) -> str:
    folder, environment = sources.workspace.cwd, sources.git_environment
    if environment is None or not _is_in_repository(folder):
        return ""
    from ostinato.engine.repository_snapshot import repository_snapshot  # ruff: ignore[import-outside-top-level] - only in a repository

    return await repository_snapshot(folder, environment)


def _is_in_repository(folder: Path) -> bool:
    """Whether git may have something to say. A folder that only looks like a bare repository is none."""
    return any(os.path.lexists(f"{parent}/.git") for parent in (folder, *folder.parents))


class _Finder:
    """What one conversation collects after its tools and with its prompts. Most of it is made, and its modules loaded, with the
    first tools or the first `@`: that is no part of the way to the first request.
    """

    def __init__(
        self,
        sources: Sources,
        facts: ModelFacts,
        loaded: LoadedInstructions,
        places: InstructionPlaces,
        told: date,
    ) -> None:
        self._sources = sources
        self._facts = facts
        self._loaded = loaded
        self._places = places
        self._background = BackgroundEnds(sources.workspace, sources.ids)
        self._todos = TodoReminder(sources.todos, sources.ids)
        self._day = DateChange(told, sources.clock, sources.ids)
        self._changed: ChangedFiles | None = None
        self._together: CollectTogether | None = None

    def collect(self, view: Sequence[Message]) -> Found:
        """Collecting begins when a round of calls is over, whatever comes of it."""
        self._sources.workspace.settle_shell_folder()
        if self._together is None:
            self._together = self._collectors()
        return self._together.begin(view)

    def mentioned(self, prompt: str, view: Sequence[Message]) -> Found:
        self._sources.workspace.settle_shell_folder()
        ended = (
            *self._background.at_once(view),
            *self._todos.at_once(view),
            *self._day.at_once(view),
        )
        has_seen = any(True for _ in self._sources.files.entries())
        return self._resolved(prompt, view, ended) if has_seen or "@" in prompt else ended

    async def _resolved(
        self, prompt: str, view: Sequence[Message], ended: Sequence[Message]
    ) -> Sequence[Message]:
        """Files that have changed since the last query are told too: a query need not use a tool to hear of them."""
        shown = await self._shown(prompt, view) if "@" in prompt else ()
        # after what is shown whole, which is no news then; and what was just shown is remembered before anything changes it
        return (*ended, *shown, *await self._since_the_last_query(view, is_shown=bool(shown)))

    async def _shown(self, prompt: str, view: Sequence[Message]) -> Sequence[Message]:
        """A look-up that fails or is late costs what it would have shown; the prompt itself goes on, and both sides are told."""
        from ostinato.attachments.collect import CollectTogether, NamedCollector  # ruff: ignore[import-outside-top-level] - loads with the first `@`
        from ostinato.attachments.mentions import MentionSetting, mention_attachments, not_attached  # ruff: ignore[import-outside-top-level] - as above

        sources = self._sources
        setting = MentionSetting(
            sources.workspace, sources.files, sources.ids, sources.may_read, self._facts.takes_images
        )

        async def look_up(before: Sequence[Message]) -> Sequence[Message]:
            return await mention_attachments(prompt, before, setting)

        named = NamedCollector("mentions", look_up, missed=lambda reason: not_attached(reason, sources.ids))
        return await CollectTogether((named,), sources.clock)(view)

    async def _since_the_last_query(self, view: Sequence[Message], *, is_shown: bool) -> Sequence[Message]:
        from ostinato.attachments.collect import CollectTogether, NamedCollector  # ruff: ignore[import-outside-top-level] - loads when it is needed

        changed = self._changed_files()

        async def remember_and_look(before: Sequence[Message]) -> Sequence[Message]:
            await changed.remember()
            return await changed(before)

        named = NamedCollector("changed", remember_and_look if is_shown else changed, changed.at_once)
        return await CollectTogether((named,), self._sources.clock)(view)

    def _changed_files(self) -> "ChangedFiles":
        from ostinato.attachments.changed_files import ChangedFiles  # ruff: ignore[import-outside-top-level] - loads when it is needed

        if self._changed is None:
            sources = self._sources
            self._changed = ChangedFiles(sources.files, sources.ids, may_read=sources.may_read)
        return self._changed

    def _collectors(self) -> "CollectTogether":
        from ostinato.attachments.collect import CollectTogether, NamedCollector  # ruff: ignore[import-outside-top-level] - loads after the first tools
        from ostinato.attachments.nested_instructions import NestedInstructions  # ruff: ignore[import-outside-top-level] - as above

        sources = self._sources
        nested = NestedInstructions(self._loaded, self._places, sources.workspace, sources.ids)
        changed, background, todos, day = self._changed_files(), self._background, self._todos, self._day
        named = [
            NamedCollector("nested", nested, nested.at_once),
            NamedCollector("changed", changed, changed.at_once),
            NamedCollector("background", background, background.at_once),
            NamedCollector("todos", todos, todos.at_once),
            NamedCollector("date", day, day.at_once),
        ]
        if sources.hideable is not None:
            from ostinato.attachments.snip_offer import SnipOffer  # ruff: ignore[import-outside-top-level] - only where it is wanted

            offer = SnipOffer(sources.hideable, sources.ids)
            named.append(NamedCollector("snip", offer, offer.at_once))
        return CollectTogether(named, sources.clock)


def _recall(sources: Sources) -> Prefetch | None:
    """Recalling notes of earlier sessions; None when this project has none."""
    if sources.data_root is None:
        return None
    if not os.path.isdir(f"{sources.data_root}/projects"):
        return None
    folder = project_folder(sources.data_root, sources.workspace.cwd, is_real=True) / "memory"
    if not os.path.isdir(folder):
        return None
    from ostinato.attachments.memory_recall import MemoryRecall, RecallSources  # ruff: ignore[import-outside-top-level] - only where notes are kept

    return MemoryRecall(RecallSources(folder, sources.files, sources.clock, sources.ids))


def _no_mentions(workspace: Workspace) -> ResolveMentions:
    def mentioned(prompt: str, view: Sequence[Message]) -> Found:
        del prompt, view
        workspace.settle_shell_folder()
        return ()

    return mentioned


def _settling(workspace: Workspace, collect: Collect) -> Collect:
    """Collecting begins when a round of calls is over, whatever comes of it."""

    def settle_and_collect(view: Sequence[Message]) -> Found:
        workspace.settle_shell_folder()
        return collect(view)

    return settle_and_collect
