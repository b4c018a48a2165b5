"""The version of this package, as a constant, so that asking for it loads nothing."""

from typing import Final

VERSION: Final = "0.1.0.dev0"
