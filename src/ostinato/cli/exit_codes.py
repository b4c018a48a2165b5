"""The exit code of a run: 0 done; 1 the query did not end as completed, or a call was denied and nothing later made up for it;
2 usage; 130 interrupted; 143 terminated.
"""

from typing import Final

from ostinato.errors import OstinatoError, UsageError

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143


def ended_code(*, is_completed: bool, has_lasting_denials: bool) -> int:
    """The code of a query that ended by itself."""
    return DONE if is_completed and not has_lasting_denials else FAILED


def error_code(error: OstinatoError) -> int:
    """The code of a run that did not start: 2 when the call itself was wrong."""
    return USAGE if isinstance(error, UsageError) else FAILED
