"""Where sessions lie: the data root, the folder of a project in it, the file of a session in that.

The layout is the one that the Claude Agent SDK's session functions read.
"""

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ostinato.home_folder import home_of

_MAX_KEY_CHARACTERS: Final = 200
_NOT_IN_KEYS: Final = re.compile(r"[^a-zA-Z0-9]")
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def data_root(environment: Mapping[str, str]) -> Path | None:
    """The folder that everything kept lies in; None if the environment names no home that exists.

    `OSTINATO_HOME`, else `CLAUDE_CONFIG_DIR` when the Claude Agent SDK started this process, else `~/.ostinato`.
    """
    chosen = environment.get("OSTINATO_HOME") or (
        environment.get("CLAUDE_CONFIG_DIR") if is_started_by_agent_sdk(environment) else ""
    )
    if chosen:
        return Path(unicodedata.normalize("NFC", chosen)).absolute()
    home = home_of(environment)
    # a home that is missing is not made: whoever set it wrong would find a tree where they never look
    return home / ".ostinato" if home is not None and os.path.isdir(home) else None


def is_started_by_agent_sdk(environment: Mapping[str, str]) -> bool:
    """Whether the Claude Agent SDK is the parent and will look for this session in its own folder.

    It sets its version or its entry point and takes `CLAUDECODE` away; a shell that an agent runs has `CLAUDECODE` set
    again and only inherits the others.
    """
    if environment.get("CLAUDECODE"):
        return False
    return bool(environment.get("CLAUDE_AGENT_SDK_VERSION")) or environment.get(
        "CLAUDE_CODE_ENTRYPOINT", ""
    ).startswith("sdk-")


def project_key(cwd: Path, *, is_real: bool = False) -> str:
    """The name of the folder that holds the sessions of a working directory. `is_real`: there is no link in its path."""
    path = unicodedata.normalize("NFC", str(cwd) if is_real else os.path.realpath(cwd))
    key = _NOT_IN_KEYS.sub("-", path)
    if len(key) <= _MAX_KEY_CHARACTERS:
        return key
    return f"{key[:_MAX_KEY_CHARACTERS]}-{_base36(abs(_string_hash(path)))}"


def project_folder(root: Path, cwd: Path, *, is_real: bool = False) -> Path:
    return Path(f"{root}/projects/{project_key(cwd, is_real=is_real)}")


def session_file(root: Path, cwd: Path, session_id: str, *, is_real: bool = False) -> Path:
    return project_folder(root, cwd, is_real=is_real) / f"{session_id}.jsonl"


def _string_hash(text: str) -> int:
    """h = 31 h + c in 32 signed bits, as the readers compute it."""
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
        if value >= 0x80000000:
            value -= 0x100000000
    return value


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
