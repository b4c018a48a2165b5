"""A query on doubles, told in one line: what the model says, which tools there are, what came out."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ostinato.engine.known_secrets import KnownSecrets
from ostinato.events import Event, Terminal
from ostinato.history import History
from ostinato.loop.abort import AbortSignal
from ostinato.loop.budget import NO_BUDGET, Budget
from ostinato.loop.deps import (
    NO_PROMPTS,
    Deps,
    DrainCollapsed,
    MayGoOn,
    PrepareContext,
    PromptSource,
    QueryParams,
    ResolveMentions,
    Shorten,
    SideModel,
    no_help,
    no_mentions,
)
from ostinato.loop.fallback import CoolDowns, Fallbacks, Substitute
from ostinato.loop.learned_windows import LearnedWindows
from ostinato.loop.model_call import RefreshAuth
from ostinato.loop.query import events_of
from ostinato.loop.run import Run
from ostinato.loop.still_running import StillRunning
from ostinato.messages import Message, user_prompt
from ostinato.ports import Permissions, QuerySource, QueryTracking
from ostinato.records import Record
from ostinato.state import ModelSettings, QueryConfig, ToolUseContext
from ostinato.stop_hooks import StopFailureHook, StopHook
from ostinato.testing import (
    AllowAll,
    CountingIds,
    FakeClock,
    FakeWorkspace,
    MemoryFiles,
    MemoryJournal,
    RunLog,
    ScriptedModel,
    terminal,
)
from ostinato.tool import Tool
from ostinato.tool_hooks import AfterTool

SDK = QuerySource("sdk")
STRICT = QueryConfig(normalise_strictly=True, max_retries=0)


class Scene(msgspec.Struct):
    """A query that can be started; `events` fills while it is played. `log` is for its tools."""

    model: ScriptedModel
    tools: Sequence[Tool] = ()
    permissions: Permissions = msgspec.field(default_factory=AllowAll)
    journal: MemoryJournal = msgspec.field(default_factory=MemoryJournal)
    config: QueryConfig = STRICT
    max_turns: int | None = None
    max_output_tokens: int | None = None
    prompt: str = "go"
    before: Sequence[Record] = ()
    folder: Path = Path("/")
    abort: AbortSignal = msgspec.field(default_factory=AbortSignal)
    queue: PromptSource = NO_PROMPTS
    mentions: ResolveMentions = no_mentions
    started_for: tuple[str, ...] = ()
    after_tool: Sequence[AfterTool] = ()
    stop_hooks: Sequence[StopHook] = ()
    stop_failure_hooks: Sequence[StopFailureHook] = ()
    target_tokens: int | None = None
    source: QuerySource = SDK
    clock: FakeClock = msgspec.field(default_factory=FakeClock)
    others: Sequence[ScriptedModel] = ()
    cool_downs: CoolDowns = msgspec.field(default_factory=CoolDowns)
    windows: LearnedWindows = msgspec.field(default_factory=LearnedWindows)
    refresh_auth: RefreshAuth | None = None
    refresh_others: RefreshAuth | None = None
    still_running: StillRunning = msgspec.field(default_factory=StillRunning)
    budget: Budget = NO_BUDGET
    prepare_context: PrepareContext | None = None
    may_go_on: MayGoOn | None = None
    shorten: Shorten = no_help
    strip_media: Shorten = no_help
    drain_collapsed: DrainCollapsed | None = None
    side: ScriptedModel | None = None
    log: RunLog = msgspec.field(default_factory=RunLog)
    events: list[Event] = msgspec.field(default_factory=list[Event])
    run: Run | None = None

    def params(self) -> QueryParams:
        prompt = user_prompt("prompt", self.prompt)
        context = ToolUseContext(
            tools=tuple(self.tools),
            model=self.model.facts,
            workspace=FakeWorkspace(self.folder),
            files=MemoryFiles(),
            abort=self.abort,
            source=self.source,
            tracking=QueryTracking("chain"),
        )
        return QueryParams(
            messages=History.empty().extend([*self.before, prompt]),
            tool_use_context=context,
            settings=ModelSettings(system=("You are a test.",)),
            max_turns=self.max_turns,
            max_output_tokens_override=self.max_output_tokens,
            config=self.config,
            started_for=self.started_for,
            target_tokens=self.target_tokens,
        )

    def deps(self) -> Deps:
        return Deps(
            call_model=self.model.stream,
            permissions=self.permissions,
            journal=self.journal,
            clock=self.clock,
            ids=CountingIds(),
            mask=KnownSecrets({}, newest_key=str).mask,
            queue=self.queue,
            mentions=self.mentions,
            budget=self.budget,
            still_running=self.still_running,
            prepare_context=self.prepare_context,
            may_go_on=self.may_go_on,
            after_tool=self.after_tool,
            stop_hooks=self.stop_hooks,
            stop_failure_hooks=self.stop_failure_hooks,
            shorten=self.shorten,
            strip_media=self.strip_media,
            drain_collapsed=self.drain_collapsed,
            side_model=None if self.side is None else SideModel(self.side.stream, self.side.facts),
            fallbacks=Fallbacks(
                tuple(
                    Substitute(other.facts, other.stream, refresh_auth=self.refresh_others)
                    for other in self.others
                ),
                self.cool_downs,
                self.windows,
            ),
            refresh_auth=self.refresh_auth,
        )

    async def play(self) -> list[Event]:
        """Run to the end and return every event."""
        self.run = Run(self.params(), self.deps())
        async for event in events_of(self.run):
            self.events.append(event)
        return self.events

    @property
    def terminal(self) -> Terminal:
        return terminal(self.events)

    @property
    def written(self) -> History:
        """The conversation as a later process finds it."""
        return History.fold([*self.params().messages.view(), *self.journal.records])

    @property
    def is_same_on_disk(self) -> bool:
        return self.written.view() == self.view

    @property
    def view(self) -> list[Message]:
        """The conversation after the query."""
        assert self.run is not None
        assert self.run.messages is not None
        return self.run.messages.view()
