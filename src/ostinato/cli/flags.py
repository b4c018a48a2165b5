"""What a user can say on the command line, as one value."""

from pathlib import Path

import msgspec

from ostinato.cli.output_format import OutputFormat
from ostinato.option_values import Effort, PermissionMode, ThinkingWish


class Flags(msgspec.Struct, frozen=True):
    """What the user typed, one field a flag; names as in the help."""

    prompt: str | None = None
    is_print: bool = False
    output_format: OutputFormat = "text"
    include_partial_messages: bool = False
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_total_tokens: int | None = None
    timeout_s: float | None = None
    model: str | None = None
    effort: Effort | None = None
    thinking: ThinkingWish | None = None
    fallback_models: tuple[str, ...] = ()
    permission_mode: PermissionMode | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    add_dirs: tuple[Path, ...] = ()
    settings: str | None = None
    setting_sources: str | None = None
    trust: bool = False
    system_prompt: str | None = None
    append_system_prompt: str = ""
    continue_session: bool = False
    resume: str | None = None
    session_id: str | None = None
    keep_session: bool = True
    cwd: Path | None = None
    is_verbose: bool = False
