"""A scene for slash commands, made of doubles: a project and a home in a temporary folder, played processes, a gate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.lowlevel
from msgspec.structs import replace
from tests.loop.scene import Scene as QueryScene

from ostinato.attachments.instruction_files import LoadedInstructions
from ostinato.config.places import Places
from ostinato.config.project_things import Things, scan_project
from ostinato.config.trust import Trusted, Untrusted
from ostinato.engine.context_pipeline import ContextPipeline, ContextSources
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.last_pass import LastPass
from ostinato.engine.seen_files import SeenFiles
from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.engine.slash.dispatch import dispatch
from ostinato.engine.slash.reply import Expanded, SlashOutcome, SlashReply
from ostinato.engine.slash.scene import SlashScene
from ostinato.events import ModelCost
from ostinato.history import History
from ostinato.messages import Usage
from ostinato.permissions.rules import Rule
from ostinato.permissions.verdict import Policy
from ostinato.ports import ModelFacts, Permissions
from ostinato.records import AnyEdit, PermissionDecided, Record
from ostinato.state import QueryConfig
from ostinato.testing import (
    SCRIPTED_FACTS,
    AllowAll,
    CountingIds,
    FakeClock,
    FakeWorkspace,
    ManualAbort,
    MemoryFiles,
    ScriptedModel,
    ScriptedPermissions,
    played,
)
from ostinato.tools.bash import bash_tool


@dataclass
class Stage:
    """The folders and the doubles. What is set after making it holds for the next line that is typed."""

    root: Path
    output: str = "the output"
    exit_code: int = 0
    gate: ScriptedPermissions = field(default_factory=AllowAll)
    is_trusted: bool = False
    history: History = field(default_factory=History.empty)
    costs: Mapping[str, ModelCost] = field(default_factory=dict[str, ModelCost])
    policy: Policy = field(default_factory=Policy)
    instructions: LoadedInstructions = field(default_factory=LoadedInstructions)
    changes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for folder in (self.project, self.home):
            folder.mkdir()
        self.workspace = FakeWorkspace(
            self.project, play=lambda _argv: played(self.output, exit_code=self.exit_code)
        )
        self.recorded: list[PermissionDecided] = []
        self.given_rules: list[tuple[Rule, ...]] = []
        self.model = SCRIPTED_FACTS
        self.abort = ManualAbort()
        self.trusted_things: Things | None = None

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def places(self) -> CommandPlaces:
        return CommandPlaces(self.project, self.home / ".ostinato", self.home)

    def project_command(self, name: str, text: str | bytes, folder: str = ".ostinato") -> Path:
        return write(self.project / folder / "commands" / f"{name}.md", text)

    def user_command(self, name: str, text: str | bytes, folder: str = ".ostinato") -> Path:
        return write(self.home / folder / "commands" / f"{name}.md", text)

    def trust_the_project(self) -> None:
        """As it is now."""
        self.trusted_things = scan_project(
            Places(self.project, self.home / ".ostinato", self.home / ".claude")
        )

    @property
    def ran(self) -> list[str]:
        """The shell lines that were run."""
        return [argv[-1] for argv in self.workspace.commands]

    def scene(self) -> SlashScene:
        things = scan_project(Places(self.project, self.home / ".ostinato", self.home / ".claude"))
        given: dict[str, Any] = {
            "session_id": "the-session",
            "model": self.model,
            "permission_mode": self.policy.mode,
            "tools": (bash_tool(lambda _command: False),),
            "workspace": self.workspace,
            "files": MemoryFiles(),
            "history": self.history,
            "costs": self.costs,
            "instructions": self.instructions,
            "policy": self.policy,
            "places": self.places,
            "abort": self.abort,
            "uuid": CountingIds().uuid,
            "with_rules": self._with_rules,
            "set_model": self._set_model,
            "record": self.recorded.append,
            "whole_history": self._whole_history,
            "context": self._context,
            "trust": Trusted(self.trusted_things) if self.trusted_things else Untrusted(things, ()),
        }
        return SlashScene(**{**given, **self.changes})

    async def _whole_history(self) -> History:
        return self.history

    def _context(self) -> ConversationContext:
        """Of a query that nobody has asked anything yet."""
        asked = QueryScene(ScriptedModel())
        params = replace(asked.params(), messages=self.history, config=QueryConfig())
        sources = ContextSources(
            FakeWorkspace(self.project),
            SeenFiles(),
            (),
            FakeClock(),
            CountingIds(),
            lambda _path: True,
            None,
            auto_compact=True,
            last_pass=LastPass(),
        )
        return ConversationContext(
            params, replace(asked.deps(), prepare_context=ContextPipeline(sources)), self
        )

    async def whole(self) -> History:
        return self.history

    async def edit(self, edit: AnyEdit) -> None:
        self.history = self.history.append(edit)

    def record(self, record: Record) -> None:
        self.history = self.history.append(record)

    def spend(self, model: str, usage: Usage) -> None:
        del model, usage

    async def type(self, line: str) -> SlashOutcome:
        return await dispatch(line, self.scene)

    async def reply(self, line: str) -> SlashReply:
        """What the program says to a line that is a command of its own."""
        outcome = await self.type(line)
        assert isinstance(outcome, SlashReply), outcome
        return outcome

    async def expanded(self, line: str) -> Expanded:
        """The prompt that a line becomes."""
        outcome = await self.type(line)
        assert isinstance(outcome, Expanded), outcome
        return outcome

    def _with_rules(self, rules: tuple[Rule, ...]) -> Permissions:
        self.given_rules.append(rules)
        return self.gate

    async def _set_model(self, name: str) -> ModelFacts:
        from ostinato.providers.catalogue import facts_of, full_name

        await anyio.lowlevel.checkpoint()
        self.model = facts_of(full_name(name))
        return self.model


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
