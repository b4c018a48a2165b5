"""The rules that would allow one path and nothing else: one for its name, one for each place where that leads.

Promise: nothing for what is protected, for what leads nobody knows where, and for names that a rule would read as a pattern.
"""

from pathlib import Path

from ostinato.permissions.call_paths import CallPaths
from ostinato.permissions.rules import is_plain_path

MAX_PLACES = 4
"""More rules than these for one path are no answer to a question that a person can check."""


def path_rules(path: Path, tool: str, paths: CallPaths) -> tuple[str, ...]:
    """Rules for `tool` (`Read` or `Edit`) as text; empty where no honest ones would do."""
    places = paths.places(path)
    is_protected = tool == "Edit" and paths.protection((path,)) is not None
    if is_protected or len(places) > MAX_PLACES or not all(map(is_plain_path, places)):
        return ()
    return tuple(f"{tool}(/{place})" for place in places)
