"""What the model knows beside what was said: the folder and the day, instruction files, mentioned and changed files.

A model with a short prompt gets the folder and the day only: the rest would fill its window.
"""

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from anyio import to_thread

from ostinato.attachments.background_ends import BackgroundEnds
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
    """`user_context` is put before the messages at call time; `collect` runs after tools, `mentions` with each prompt,
    `prefetch` beside the first model call.
    """

    user_context: str
    instructions: LoadedInstructions
    collect: Collect
    mentions: ResolveMentions
    prefetch: Prefetch | None = None


class Sources(msgspec.Struct, frozen=True):
    """Where the surroundings come from. `may_read` answers for a resolved path from the permission rules."""

    workspace: Workspace
    files: SeenFiles
    clock: Clock
    ids: Ids
    may_read: Callable[[Path], bool]
    home: Path | None
    data_root: Path | None
    todos: TodoList = msgspec.field(default_factory=TodoList)
    hideable: HideableRounds | None = None


async def surroundings_of(sources: Sources, facts: ModelFacts, *, with_instructions: bool) -> Surroundings:
    """Reads the instruction files; whatever is wrong with one is a problem in `instructions`, never an error."""
    workspace = sources.workspace
    told = sources.clock.now()
    context = user_context(workspace.cwd, workspace.roots, told)
    if facts.short_prompt:
        collect, mentions = _settling(workspace, no_attachments), _no_mentions(workspace)
        return Surroundings(context, LoadedInstructions(), collect, mentions)
    places = InstructionPlaces(workspace.cwd, workspace.roots, home=sources.home, data_root=sources.data_root)
    loaded, text = LoadedInstructions(), ""
    background = BackgroundEnds(workspace, sources.ids)
    changed = _changed_files(sources)
    if with_instructions and is_anything_there(places):
        from ostinato.attachments.instruction_text import instructions_context  # ruff: ignore[import-outside-top-level] - only where there are instructions
        from ostinato.attachments.load_instructions import load_instructions  # ruff: ignore[import-outside-top-level] - as above

        loaded = await to_thread.run_sync(load_instructions, places)
        text = instructions_context(loaded)
    return Surroundings(
        f"{context}\n\n{text}" if text else context,
        loaded,
        _settling(workspace, _collectors(sources, loaded, places, told.date(), background, changed)),
        _mentions(sources, facts, background, changed),
        _recall(sources),
    )


def _changed_files(sources: Sources) -> "Callable[[], ChangedFiles]":
    """One for the whole conversation, made with the first `@` or after the first tools."""
    made: list[ChangedFiles] = []

    def changed_files() -> "ChangedFiles":
        from ostinato.attachments.changed_files import ChangedFiles  # ruff: ignore[import-outside-top-level] - loads when it is needed

        if not made:
            made.append(ChangedFiles(sources.files, sources.ids, may_read=sources.may_read))
        return made[0]

    return changed_files


def _collectors(
    sources: Sources,
    loaded: LoadedInstructions,
    places: InstructionPlaces,
    told: date,
    background: BackgroundEnds,
    changed_files: "Callable[[], ChangedFiles]",
) -> Collect:
    made: list[CollectTogether] = []

    def make() -> "CollectTogether":
        """After the first tools, so that these modules are no part of the way to the first request."""
        from ostinato.attachments.collect import CollectTogether, NamedCollector  # ruff: ignore[import-outside-top-level] - loads after the first tools
        from ostinato.attachments.date_change import DateChange  # ruff: ignore[import-outside-top-level] - as above
        from ostinato.attachments.nested_instructions import NestedInstructions  # ruff: ignore[import-outside-top-level] - as above

        nested = NestedInstructions(loaded, places, sources.workspace, sources.ids)
        changed = changed_files()
        day = DateChange(told, sources.clock, sources.ids)
        todos = TodoReminder(sources.todos, sources.ids)
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

    def collect(view: Sequence[Message]) -> Found:
        if not made:
            made.append(make())
        return made[0].begin(view)

    return collect


def _mentions(
    sources: Sources,
    facts: ModelFacts,
    background: BackgroundEnds,
    changed_files: "Callable[[], ChangedFiles]",
) -> ResolveMentions:
    todos = TodoReminder(sources.todos, sources.ids)

    def mentioned(prompt: str, view: Sequence[Message]) -> Found:
        sources.workspace.settle_shell_folder()
        ended = (*background.at_once(view), *todos.at_once(view))
        return resolved(prompt, view, ended) if "@" in prompt else ended

    async def resolved(prompt: str, view: Sequence[Message], ended: Sequence[Message]) -> Sequence[Message]:
        from ostinato.attachments.mentions import MentionSetting, mention_attachments  # ruff: ignore[import-outside-top-level] - loads with the first `@`

        setting = MentionSetting(
            sources.workspace, sources.files, sources.ids, sources.may_read, facts.takes_images
        )
        shown = await mention_attachments(prompt, view, setting)
        if shown:
            await changed_files().remember()
        return (*ended, *shown)

    return mentioned


def _recall(sources: Sources) -> Prefetch | None:
    """Recalling notes of earlier sessions; None when this project has none."""
    if sources.data_root is None:
        return None
    if not os.path.isdir(f"{sources.data_root}/projects"):
        return None
    folder = project_folder(sources.data_root, sources.workspace.cwd) / "memory"
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
