"""Faults in settings by which a rule that denies or asks may have been lost: then less is forbidden than somebody wrote.

Promise: a rule of the machine's own settings is never lost without a word that stops the start.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ostinato.config.source import Problem, Source
from ostinato.errors import ConfigurationError

_WHOLE: Final = frozenset({"", "permissions", "deny", "ask"})
"""A whole file, or the whole part of it; `deny` and `ask` alone are names that stand twice."""

_PARTS: Final = ("permissions.deny", "permissions.ask", "permissions.disablebypasspermissionsmode")


def lost_restrictions(problems: Iterable[Problem]) -> Iterator[Problem]:
    """What was left out and may have held a rule that denies or asks."""
    for problem in problems:
        key = problem.key.casefold()
        if key in _WHOLE or key.startswith(_PARTS):
            yield problem


def require_managed(lost: Iterable[Problem]) -> None:
    """Raises ConfigurationError where one of these faults is the machine's: whoever set the machine up relies on its rules."""
    for problem in lost:
        if problem.source.level == "managed":
            raise managed_error(problem.source, str(problem))


def managed_error(source: Source, fault: str) -> ConfigurationError:
    """What to raise for a fault that lost a rule of the machine's."""
    return ConfigurationError(
        f"rules of this machine cannot be read, so nothing is run: {fault}",
        hint=f"whoever looks after this machine can mend or remove `{source}`",
    )
