"""The one home folder of a session and what `~` means: rules, tools, shell readings and questions all ask here.

Promise: nothing reads this process's own home beside the environment it was given, and `~somebody` is never guessed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ostinato.errors import UsageError

NO_HOME: Final = Path("/nonexistent")
"""Stands where there is no home folder: nothing lies below it, so no rule about the home covers anything."""


def home_of(environment: Mapping[str, str]) -> Path | None:
    """The folder that `HOME` names; None if there is no such name, or it is no absolute path."""
    home = Path(environment.get("HOME", ""))
    return home if home.is_absolute() else None


def below_home(text: str) -> str | None:
    """What follows the home folder in `~` and `~/…`, as a relative path; None if the text begins otherwise."""
    if text == "~":
        return ""
    # `~//x` is below the home folder too: joined as it is, its second slash would make it `/x`
    return text[2:].lstrip("/") if text.startswith("~/") else None


def expand_home(text: str, home: Path | None) -> Path:
    """`text` as a path with `~` replaced. Raises UsageError where there is no home, and for `~somebody`."""
    below = below_home(text)
    if below is not None and home is not None:
        return home / below
    if below is not None:
        raise UsageError(f"no home folder for `{text}`", hint="write the path out")
    if text.startswith("~"):
        raise UsageError(
            f"`{text}` may mean another user's home folder",
            hint=f"write the path out; a file of that name here is `./{text}`",
        )
    return Path(text)
