"""Everything a caller may choose for a conversation; what is left out has the default that most people want."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec

from ostinato.option_values import Effort, PermissionMode, ThinkingWish
from ostinato.ports import Model
from ostinato.providers.deadlines import DEFAULT_DEADLINES, Deadlines
from ostinato.state import DEFAULT_CONFIG, QueryConfig
from ostinato.stop_hooks import StopFailureHook, StopHook
from ostinato.tool import Tool
from ostinato.tool_hooks import AfterTool
from ostinato.user_questions import AskUser
from ostinato.web_pages import SearchWeb


class Allow(msgspec.Struct, frozen=True):
    """`can_use_tool` says yes; `updated_input` replaces the call's own input.

    `remember`: rules out of `PermissionAsked.suggestions` that hold from now on, so that the like is not asked again; any
    other rule is refused. `remember_for="project"` also writes them to `PermissionAsked.rules_file`, if there is one; what
    cannot be written is told through `Options.on_notice`, and then holds for the conversation only.
    """

    updated_input: Mapping[str, Any] | None = None
    remember: tuple[str, ...] = ()
    remember_for: Literal["project", "conversation"] = "project"


class Deny(msgspec.Struct, frozen=True):
    """`can_use_tool` says no; `message` goes to the model. `interrupt` ends the query."""

    message: str
    interrupt: bool = False


class PermissionAsked(msgspec.Struct, frozen=True):
    """A call that the rules leave open: what it is, why it is asked, and rules that would allow it from now on.

    `suggestions` has one rule for each simple command that is still open, and is empty for what cannot be proven: then the
    only honest answers are "this once" and "no". Hand them back in `Allow(remember=asked.suggestions)`. `rules_file` is where
    they would be written; None: they can only hold for the conversation (no settings are read, or the folder is not trusted).
    `links` are the paths in a command that lead elsewhere by a symbolic link, each with where it leads.
    """

    tool_name: str
    tool_use_id: str
    input: Mapping[str, Any]
    reason: str
    suggestions: tuple[str, ...] = ()
    rules_file: Path | None = None
    links: tuple[tuple[Path, Path], ...] = ()


CanUseTool = Callable[[PermissionAsked], Awaitable[Allow | Deny]]
"""Asked for every call that no rule allows or denies. May take as long as it wants; an abort ends the wait."""


RefreshApiKey = Callable[[], Awaitable[str | None]]
"""Gives the key that is valid now, or None if there is none."""

MAX_FALLBACK_MODELS = 3
"""As many as the field's clients take (semantics §12)."""

SettingSource = Literal["user", "project", "local"]
ALL_SETTING_SOURCES: tuple[SettingSource, ...] = ("user", "project", "local")


class SettingsRead(msgspec.Struct, frozen=True):
    """What `read_configuration` read, for `Options.configuration`: a `Configuration`, and nothing else."""


def tells_nobody(_sentence: str) -> None:
    """For who has no use for sentences to the user."""


def shows_nobody(_command: str, _printed: str) -> None:
    """For who waits for the whole output of a command."""


class Options(msgspec.Struct, frozen=True):
    """How a conversation is set up. Paths are resolved when it opens; `environment` None is this process's own.

    What is given here wins over settings files, managed ones excepted; None and empty say nothing. A program reads no
    settings of the user or the project unless `setting_sources` names them (`ALL_SETTING_SOURCES` is what the command
    reads); managed files and `settings` (a path, JSON, or the object itself) count always. `trust=True` lets what the project
    supplies act for this conversation. `configuration` is what `read_configuration` read before, instead of reading again.
    `max_budget_usd`, `max_total_tokens` and `timeout_s` limit all queries of the conversation together, and whatever they
    start; `timeout_s` counts the time while a query runs.
    `thinking` and `effort` say how much the model shall think; what it cannot be told of is named in the notices.
    `fallback_models`, at most three names, take over in order when the chosen model gives out, each for the rest of the query;
    the next query begins with the chosen one again, unless its server asked to be left alone.
    `refresh_api_key` is asked for a new key, once in a turn, when the model's server refuses the one it was sent.
    `after_tool_hooks` are told of each call that ran, and may add a note for the model or end the query (`ostinato.AfterTool`).
    `stop_hooks` are asked, all at once, when the model has answered, and may send it back to work or end the query;
    `stop_failure_hooks` are told when a query ended by an error instead (`ostinato.StopHook`).
    `ask_user` puts the model's questions to a person (`ostinato.user_questions`); without it they are declined.
    `small_model` answers what is asked beside the conversation: by tools (WebFetch's `prompt`), and for accounts (`config.collapse`);
    without one they do without.
    `web_private_hosts` names places that WebFetch may read although they are not public (`localhost:8000`, `10.0.0.0/8`).
    `background_on_timeout`: a command of the model whose time is over goes on in the background (docs/processes.md).
    `pid_namespace`: commands see only the processes of their conversation, where the system allows it (docs/processes.md).
    `web_search` is the address of a search service with `{query}` in it (`web_search_headers` go with it), a function, or
    "provider": the model's provider searches while it answers, where it can, without a question (docs/tools.md).
    `models` says what is known of models, by name; `model_overrides` the same of the chosen one. `deadlines` bound the waits for
    models over the network; environment variables win over them (docs/providers.md). `on_notice` gets sentences
    for the user that come up while the conversation runs; it must not block. `shell_lines`: a prompt that begins with `!` is
    the user's own command, run without a question unless a rule denies it; only for where a person types it.
    `on_shell_output` gets such a command and what it printed newly, first nothing, when it starts; it must not block.
    """

    cwd: str | Path = msgspec.field(default_factory=Path.cwd)
    model: str | Model | None = None
    tools: Sequence[Tool] | None = None
    extra_tools: Sequence[Tool] = ()
    system_prompt: str | None = None
    append_system_prompt: str = ""
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_total_tokens: int | None = None
    timeout_s: float | None = None
    can_use_tool: CanUseTool | None = None
    permission_mode: PermissionMode | None = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    add_dirs: Sequence[str | Path] = ()
    settings: str | Path | Mapping[str, Any] | None = None
    setting_sources: Sequence[SettingSource] = ()
    trust: bool = False
    configuration: SettingsRead | None = None
    resume: str | None = None
    continue_session: bool = False
    session_id: str | None = None
    keep_session: bool = True
    shell_lines: bool = False
    instructions: bool = True
    temperature: float | None = None
    max_output_tokens: int | None = None
    thinking: ThinkingWish | None = None
    effort: Effort | None = None
    fallback_models: Sequence[str] = ()
    refresh_api_key: RefreshApiKey | None = None
    after_tool_hooks: Sequence[AfterTool] = ()
    stop_hooks: Sequence[StopHook] = ()
    stop_failure_hooks: Sequence[StopFailureHook] = ()
    ask_user: AskUser | None = None
    small_model: str | Model | None = None
    web_private_hosts: Sequence[str] = ()
    web_search: str | SearchWeb | None = None
    web_search_headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    background_on_timeout: bool = True
    pid_namespace: bool = True
    model_overrides: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    models: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict[str, Mapping[str, Any]])
    deadlines: Deadlines = DEFAULT_DEADLINES
    on_notice: Callable[[str], None] = tells_nobody
    on_shell_output: Callable[[str, str], None] = shows_nobody
    environment: Mapping[str, str] | None = None
    config: QueryConfig = DEFAULT_CONFIG


class QueryOptions(TypedDict, total=False):
    """The keyword arguments of `ostinato.query()`; each means what the field of `Options` means."""

    cwd: str | Path
    model: str | Model | None
    tools: Sequence[Tool] | None
    extra_tools: Sequence[Tool]
    system_prompt: str | None
    append_system_prompt: str
    max_turns: int | None
    max_budget_usd: float | None
    max_total_tokens: int | None
    timeout_s: float | None
    can_use_tool: CanUseTool | None
    permission_mode: PermissionMode | None
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    add_dirs: Sequence[str | Path]
    settings: str | Path | Mapping[str, Any] | None
    setting_sources: Sequence[SettingSource]
    trust: bool
    configuration: SettingsRead | None
    resume: str | None
    continue_session: bool
    session_id: str | None
    keep_session: bool
    instructions: bool
    temperature: float | None
    max_output_tokens: int | None
    thinking: ThinkingWish | None
    effort: Effort | None
    fallback_models: Sequence[str]
    refresh_api_key: RefreshApiKey | None
    after_tool_hooks: Sequence[AfterTool]
    stop_hooks: Sequence[StopHook]
    stop_failure_hooks: Sequence[StopFailureHook]
    ask_user: AskUser | None
    small_model: str | Model | None
    web_private_hosts: Sequence[str]
    web_search: str | SearchWeb | None
    web_search_headers: Mapping[str, str]
    background_on_timeout: bool
    pid_namespace: bool
    model_overrides: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    deadlines: Deadlines
    on_notice: Callable[[str], None]
    environment: Mapping[str, str] | None
    config: QueryConfig
