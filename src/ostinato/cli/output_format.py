"""How `-p` answers; apart from the flags, because the help names it too, and loads nothing."""

from typing import Literal

OutputFormat = Literal["text", "json", "stream-json"]
