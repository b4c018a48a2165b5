"""What is kept: the data root and its disk, the sessions in it, and the settings files with what is wrong in them."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from ostinato.cli.doctor.check import Check
from ostinato.engine.configuration import Configuration
from ostinato.errors import OstinatoError
from ostinato.journal.read import read_session
from ostinato.journal.sessions import list_sessions

MIN_FREE_BYTES: Final = 200_000_000
MAX_SESSIONS_READ: Final = 20
MAX_PROBLEMS: Final = 20


def data_checks(root: Path | None) -> list[Check]:
    if root is None:
        return [
            Check("data", "warn", "there is no home folder: sessions are not kept", "set `OSTINATO_HOME`")
        ]
    there = next((folder for folder in (root, *root.parents) if os.path.isdir(folder)), Path("/"))
    problem = _cannot_write(there)
    if problem:
        hint = "make it writable, or set `OSTINATO_HOME`"
        return [Check("data", "warn", f"`{root}` cannot be written ({problem}): sessions are not kept", hint)]
    free = shutil.disk_usage(there).free
    text = f"{root}, {free / 1e9:,.1f} GB free"
    if free < MIN_FREE_BYTES:
        return [Check("data", "warn", text, "make room: a session that cannot be written ends")]
    if os.path.isdir(root) and root.stat().st_mode & 0o022:
        return [Check("data", "warn", f"{text}, but others may write it", f"run `chmod go-w {root}`")]
    return [Check("data", "ok", text)]


def _cannot_write(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)


def session_checks(root: Path | None) -> list[Check]:
    """How many there are, and whether the newest can be read."""
    found = list_sessions(root)
    broken: list[str] = []
    for summary in found[:MAX_SESSIONS_READ]:
        try:
            scan = read_session(summary.path)
        except OstinatoError:
            broken.append(summary.session_id)
        else:
            if scan.bad_tail is not None:
                broken.append(summary.session_id)
    size = sum(summary.size_bytes for summary in found)
    text = f"{len(found):,} kept, {size / 1e6:,.1f} MB"
    if broken:
        names = ", ".join(broken[:3])
        hint = "resuming one puts the damaged end aside and goes on before it"
        return [Check("sessions", "warn", f"{text}; damaged: {names}", hint)]
    return [Check("sessions", "ok", text)]


def settings_checks(configuration: Configuration | OstinatoError) -> list[Check]:
    if isinstance(configuration, OstinatoError):
        return [Check("settings", "fail", configuration.message, configuration.hint)]
    found = configuration.found
    if found is None:
        return [Check("settings", "ok", "no settings files")]
    problems = [
        Check("settings", "warn", f"{problem} and is left out", problem.hint)
        for problem in found.loaded.problems[:MAX_PROBLEMS]
    ]
    waiting = configuration.waiting()
    if waiting:
        text = f"this folder is not trusted: {', '.join(part.kind for part in waiting)} of it are left out"
        problems.append(Check("trust", "warn", text, "`ostinato trust show` lists them"))
    files = ", ".join(document.source.name for document in found.loaded.documents if document.source.path)
    return problems or [Check("settings", "ok", files or "no settings files")]
