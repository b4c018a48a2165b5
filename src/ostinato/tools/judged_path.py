"""Where a path in a call's input leads, as long as that is where it led when the call was judged: of another place nothing is told, not
even whether there is anything.
"""

from pathlib import Path

from ostinato.errors import UsageError
from ostinato.tool import ToolContext


def judged_path(written: str, context: ToolContext, *, is_written: bool) -> Path:
    """The resolved path. Raises UsageError where it leads elsewhere by now."""
    path = context.workspace.resolve(written)
    if not context.access.covers(path, is_written=is_written):
        raise UsageError(
            f"`{written}` does not lead where it led when the call was judged", hint="make the call again"
        )
    return path
