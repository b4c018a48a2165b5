"""Everything a caller may choose for a conversation; what is left out has the default that most people want."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec

from ostinato.ports import Model
from ostinato.state import DEFAULT_CONFIG, QueryConfig
from ostinato.tool import Tool

PermissionMode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
PERMISSION_MODES: tuple[PermissionMode, ...] = (
    "default",
    "acceptEdits",
    "plan",
    "dontAsk",
    "bypassPermissions",
)


class Allow(msgspec.Struct, frozen=True):
    """`can_use_tool` says yes; `updated_input` replaces the call's own input."""

    updated_input: Mapping[str, Any] | None = None


class Deny(msgspec.Struct, frozen=True):
    """`can_use_tool` says no; `message` goes to the model. `interrupt` ends the query."""

    message: str
    interrupt: bool = False


class PermissionAsked(msgspec.Struct, frozen=True):
    """A call that the rules leave open: what it is, why it is asked, and rules that would allow it from now on."""

    tool_name: str
    tool_use_id: str
    input: Mapping[str, Any]
    reason: str
    suggestions: tuple[str, ...] = ()


CanUseTool = Callable[[PermissionAsked], Awaitable[Allow | Deny]]
"""Asked for every call that no rule allows or denies. May take as long as it wants; an abort ends the wait."""


class Options(msgspec.Struct, frozen=True):
    """How a conversation is set up. Paths are resolved when it opens; `environment` None is this process's own."""

    cwd: Path = msgspec.field(default_factory=Path.cwd)
    model: str | Model | None = None
    tools: Sequence[Tool] | None = None
    extra_tools: Sequence[Tool] = ()
    system_prompt: str | None = None
    append_system_prompt: str = ""
    max_turns: int | None = None
    can_use_tool: CanUseTool | None = None
    permission_mode: PermissionMode = "default"
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    add_dirs: Sequence[Path] = ()
    resume: str | None = None
    continue_session: bool = False
    session_id: str | None = None
    keep_session: bool = True
    instructions: bool = True
    temperature: float | None = None
    max_output_tokens: int | None = None
    model_overrides: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
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
    can_use_tool: CanUseTool | None
    permission_mode: PermissionMode
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    add_dirs: Sequence[str | Path]
    resume: str | None
    continue_session: bool
    session_id: str | None
    keep_session: bool
    instructions: bool
    temperature: float | None
    max_output_tokens: int | None
    model_overrides: Mapping[str, Any]
    environment: Mapping[str, str] | None
    config: QueryConfig
