"""Token counts as servers report them: a count that cannot be true costs only itself, like any field of a wrong type."""

from typing import Annotated, Final

import msgspec

MAX_TOKENS: Final = 1_000_000_000
"""Far beyond any window and any output; what is larger, or below zero, was not counted."""

TokenCount = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
