"""The version of this package, as a constant, so that asking for it loads nothing."""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would double the time of `--version`
if TYPE_CHECKING:
    from typing import Final

VERSION: Final = "0.1.0.dev0"
