"""What an engine is made of, and how it gets new parts: another model, another session. `assemble.py` makes them."""

from pathlib import Path
from typing import Protocol

import msgspec

from ostinato.deferred_tools import FoundTools
from ostinato.engine.cache_watching import CacheWatching
from ostinato.engine.last_pass import LastPass
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.seen_files import SeenFiles
from ostinato.engine.setting import Setting
from ostinato.history import History
from ostinato.loop.deps import Deps
from ostinato.option_values import PermissionMode
from ostinato.permissions.rules import Rule
from ostinato.ports import Journal, ModelFacts, Permissions, Workspace
from ostinato.submissions import QueuedPrompt
from ostinato.todo_list import TodoList


class SessionJournal(Journal, Protocol):
    @property
    def path(self) -> Path | None:
        """The session's file; None where nothing is kept."""
        ...

    def close(self) -> None:
        """Give the session's file back; nothing more is written."""
        ...


class Place(msgspec.Struct, frozen=True):
    """Where a conversation happens: its session, its folder, the files it has seen, and what its tools keep beside the messages."""

    session_id: str
    journal: SessionJournal
    workspace: Workspace
    files: SeenFiles
    notices: tuple[str, ...]
    todos: TodoList
    found_tools: FoundTools
    watch_cache: CacheWatching
    last_pass: LastPass


async def end_processes(place: Place) -> None:
    """What runs in the background ends with its conversation, and so does what commands left behind."""
    background = place.workspace.background
    if background is not None:
        await background.aclose()


class Begun(msgspec.Struct, frozen=True):
    """A place, and what was said there before; `pending` is what its queue still held."""

    place: Place
    history: History
    pending: tuple[QueuedPrompt, ...] = ()


class Parts(msgspec.Struct, frozen=True):
    """Everything a query needs, for one place and one model."""

    place: Place
    chosen: ChosenModel
    setting: Setting
    deps: Deps


class EngineMaker(Protocol):
    """Makes parts as the options say. What it makes is the engine's to close."""

    def choose_model(self, name: str) -> ChosenModel:
        """Raises ConfigurationError or LocalModelError; nothing is sent."""
        ...

    async def begin(self, session_file: Path | None, model: ModelFacts) -> Begun:
        """Go on with the session in the file, or begin a new one. Raises UsageError and JournalError."""
        ...

    async def parts(self, place: Place, chosen: ChosenModel) -> Parts:
        """What depends on the model (tools, prompt, surroundings), put together for the place."""
        ...

    def facts_of(self, model: str) -> ModelFacts | None:
        """What is known of a model that answered in an earlier run, by the name its responses carry."""
        ...

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """For the very next decision. Raises UsageError."""
        ...

    def with_rules(self, rules: tuple[Rule, ...]) -> Permissions:
        """The permission gate with these rules as well; what changes in the one changes in the other."""
        ...

    async def aclose(self) -> None:
        """Give back what all parts share: the models that may take over."""
        ...
