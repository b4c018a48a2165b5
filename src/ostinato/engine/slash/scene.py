"""What a command may know and do, as it is at the moment it is typed. The engine makes one for each line."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ostinato.attachments.instruction_files import LoadedInstructions
from ostinato.config.load import Effective
from ostinato.config.source import Problem
from ostinato.config.trust import TrustState
from ostinato.engine.conversation_context import ConversationContext
from ostinato.engine.options import tells_nobody
from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.errors import OstinatoError
from ostinato.events import ModelCost
from ostinato.history import History
from ostinato.messages import UserMessage
from ostinato.permissions.rules import Rule
from ostinato.permissions.verdict import Policy
from ostinato.ports import Abort, FileState, ModelFacts, Permissions, Workspace
from ostinato.records import PermissionDecided
from ostinato.tool import Tool


@dataclass(frozen=True, slots=True)
class SettingsInForce:
    """What the settings files came to; `sources` are those that there are."""

    effective: Effective
    problems: Sequence[Problem] = ()
    sources: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class SlashScene:
    """`costs` are of the whole session, by model, also of what came before a resume. `trust` None: nothing was looked at.

    `with_rules` gives the permission gate with these allow rules added for one command. `set_model` makes the model the
    one of the next query, and raises ConfigurationError for a name that is none. `record` writes into the session's journal, and
    raises JournalError. `uuid` makes identifiers. `whole_history` is the history with what summaries have hidden.
    `context` looks at the window as it is at that moment, and changes what fills it. `model_problem`: why no model can be asked.
    `tell` says something to the user at once, before the command has an answer.
    """

    session_id: str
    model: ModelFacts
    permission_mode: str
    tools: Sequence[Tool]
    workspace: Workspace
    files: FileState
    history: History
    costs: Mapping[str, ModelCost]
    instructions: LoadedInstructions
    policy: Policy
    places: CommandPlaces
    abort: Abort
    uuid: Callable[[], str]
    with_rules: Callable[[tuple[Rule, ...]], Permissions]
    set_model: Callable[[str], Awaitable[ModelFacts]]
    record: Callable[[PermissionDecided | UserMessage], None]
    whole_history: Callable[[], Awaitable[History]]
    context: Callable[[], ConversationContext]
    settings: SettingsInForce | None = None
    trust: TrustState | None = None
    model_problem: OstinatoError | None = None
    tell: Callable[[str], None] = tells_nobody
