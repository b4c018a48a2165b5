"""An engine on doubles: scripted models by name, journals in memory, and a reader that the test writes."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio.lowlevel
from msgspec.structs import replace

from ostinato.deferred_tools import FoundTools
from ostinato.engine.cache_watching import CacheWatching
from ostinato.engine.known_secrets import KnownSecrets
from ostinato.engine.last_pass import LastPass
from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.parts import Begun, Parts, Place
from ostinato.engine.prompt_queue import pending_prompts
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.seen_files import SeenFiles
from ostinato.engine.setting import Setting
from ostinato.engine.slash.reply import NotACommand, SlashOutcome
from ostinato.errors import ConfigurationError, JournalError
from ostinato.events import Event, Result
from ostinato.history import History
from ostinato.loop.deps import Deps
from ostinato.loop.fallback import Fallbacks
from ostinato.messages import ToolResult, UserMessage
from ostinato.option_values import PermissionMode
from ostinato.permissions.rules import Rule
from ostinato.ports import Abort, Allowed, Denied, ModelFacts, PermissionQuery, Permissions
from ostinato.records import Record, SessionStarted
from ostinato.state import ModelSettings, QueryConfig
from ostinato.testing import (
    ALLOWED,
    DENIED,
    SCRIPTED_FACTS,
    CountingIds,
    FakeClock,
    FakeWorkspace,
    MemoryJournal,
    ScriptedModel,
    result,
)
from ostinato.todo_list import TodoList
from ostinato.tool import Tool

BROKEN = Path("/broken.jsonl")
"""A session file that cannot be opened."""

STRICT = QueryConfig(normalise_strictly=True, max_retries=0, tool_timeout_s=math.inf)
"""No time for calls: the clock of these conversations runs by itself as soon as somebody waits for it."""
OTHER_FACTS = replace(SCRIPTED_FACTS, id="scripted-2", context_window=50_000)

Read = Callable[[str, Abort], Awaitable[SlashOutcome]]


class ClosingJournal(MemoryJournal):
    """Implements `SessionJournal`."""

    is_closed = False

    @property
    def path(self) -> None:
        return

    def close(self) -> None:
        self.is_closed = True


class Desk:
    """Implements `EngineMaker`. The gate allows everything, except in the mode `plan`."""

    def __init__(
        self,
        *models: ScriptedModel,
        tools: Sequence[Tool] = (),
        read: Read | None = None,
        journal: ClosingJournal | None = None,
        max_turns: int | None = None,
        before: Sequence[Record] = (),
    ) -> None:
        self.models: Mapping[str, ScriptedModel] = {model.facts.id: model for model in models}
        self.journals = [journal or ClosingJournal()]
        self.opened_models: list[str] = []
        self.closed_models: list[str] = []
        self.cannot_close: tuple[str, ...] = ()
        self.rules: list[tuple[Rule, ...]] = []
        self.mode: PermissionMode = "default"
        self.clock = FakeClock(auto_advance=True)
        self.ids = CountingIds()
        self.is_closed = False
        self.fallbacks = Fallbacks()
        self._tools = tuple(tools)
        self._read = read
        self._max_turns = max_turns
        self._before = tuple(before)

    async def engine(self) -> QueryEngine:
        first = next(iter(self.models.values()))
        begun = self.begun(self.journals[0], self._before)
        parts = await self.parts(begun.place, self.choose_model(first.facts.id))
        return QueryEngine(self, parts, begun, reader_for=lambda _engine: self.read)

    async def read(self, prompt: str, abort: Abort, /) -> SlashOutcome:
        return NotACommand() if self._read is None else await self._read(prompt, abort)

    # ---- EngineMaker

    def choose_model(self, name: str) -> ChosenModel:
        model = self.models.get(name)
        if model is None:
            raise ConfigurationError(f"there is no model `{name}`", hint="name one that the desk has")

        self.opened_models.append(name)

        async def close() -> None:
            await anyio.lowlevel.checkpoint()
            if name in self.cannot_close:
                raise OSError("the connection is gone")
            self.closed_models.append(name)

        return ChosenModel(model, close)

    async def begin(self, session_file: Path | None, model: ModelFacts) -> Begun:
        await anyio.lowlevel.checkpoint()
        if session_file == BROKEN:
            raise JournalError(f"`{session_file}` cannot be read")
        self.journals.append(ClosingJournal())
        before = () if session_file is None else self._before
        return self.begun(self.journals[-1], before)

    def begun(self, journal: ClosingJournal, before: Sequence[Record]) -> Begun:
        session_id = f"session-{len(self.journals)}"
        place = Place(
            session_id,
            journal,
            FakeWorkspace(Path("/")),
            SeenFiles(),
            (),
            TodoList(),
            FoundTools(),
            CacheWatching(),
            LastPass(),
        )
        started = SessionStarted(session_id, "/", SCRIPTED_FACTS.id, "0")
        history = History.fold([*before, started])
        return Begun(place, history, pending_prompts(before))

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.is_closed = True

    async def parts(self, place: Place, chosen: ChosenModel) -> Parts:
        await anyio.lowlevel.checkpoint()
        setting = Setting(
            session_id=place.session_id,
            model=chosen.facts,
            tools=self._tools,
            workspace=place.workspace,
            files=place.files,
            settings=ModelSettings(("You are a test.",)),
            config=STRICT,
            permission_mode=self.mode,
            max_turns=self._max_turns,
        )
        deps = Deps(
            chosen.model.stream,
            _Gate(self),
            place.journal,
            self.clock,
            self.ids,
            KnownSecrets({}, newest_key=str).mask,
            fallbacks=self.fallbacks,
        )
        return Parts(place, chosen, setting, deps)

    def facts_of(self, model: str) -> ModelFacts | None:
        return None

    def set_permission_mode(self, mode: PermissionMode) -> None:
        self.mode = mode

    def with_rules(self, rules: tuple[Rule, ...]) -> Permissions:
        self.rules.append(rules)
        return _Gate(self)


@dataclass(frozen=True)
class _Gate:
    desk: Desk

    async def decide(self, query: PermissionQuery) -> Allowed | Denied:
        await anyio.lowlevel.checkpoint()
        return DENIED if self.desk.mode == "plan" else ALLOWED


@dataclass
class Heard:
    """What a consumer got."""

    events: list[Event] = field(default_factory=list[Event])

    @property
    def result(self) -> Result:
        return result(self.events)


async def submitted(engine: QueryEngine, prompt: str = "go", *, uuid: str | None = None) -> list[Event]:
    """Every event of a submission."""
    return [event async for event in engine.submit_message(prompt, uuid=uuid)]


def tool_results(engine: QueryEngine) -> list[ToolResult]:
    messages = [m for m in engine.get_messages() if isinstance(m, UserMessage)]
    return [block for message in messages for block in message.content if isinstance(block, ToolResult)]
