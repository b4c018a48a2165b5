"""What a conversation is set up with, as others may see it; replaced as a whole when model, mode or session change."""

from typing import Literal

import msgspec

from ostinato.deferred_tools import NOTHING_DEFERRED, DeferredTools
from ostinato.option_values import Effort, ThinkingWish
from ostinato.ports import FileState, ModelFacts, Workspace
from ostinato.state import ModelSettings, QueryConfig
from ostinato.tool import Tool

KeySource = Literal["ANTHROPIC_API_KEY", "apiKeyHelper", "none"]
"""In the stream-json protocol's words; other providers' variables are `none` there."""


class Setting(msgspec.Struct, frozen=True):
    """What a query of the conversation begins with."""

    session_id: str
    model: ModelFacts
    tools: tuple[Tool, ...]
    workspace: Workspace
    files: FileState
    settings: ModelSettings
    config: QueryConfig
    permission_mode: str
    max_turns: int | None = None
    max_output_tokens: int | None = None
    thinking: ThinkingWish | None = None
    effort: Effort | None = None
    deferred: DeferredTools = NOTHING_DEFERRED
    key_source: KeySource = "none"
    notices: tuple[str, ...] = ()
    """Sentences for the user: a session that is not kept, damage that was put aside, a small model."""
