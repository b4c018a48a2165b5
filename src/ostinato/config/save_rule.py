"""Writing an answer "always" down, in the project's local settings file.

Promise: parallel processes lose no rule; a file that cannot be read is never written over; other keys stay as they are.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec

from ostinato.config.places import LOCAL_FILE
from ostinato.config.read_file import read_settings_file
from ostinato.config.settings_text import Unreadable, read_settings_text
from ostinato.config.shape import is_list, is_object
from ostinato.config.write_file import locked_folder, swap_in
from ostinato.errors import ConfigurationError


class Saved(msgspec.Struct, frozen=True):
    """`added`: the rules that were not there yet. `before` and `after` are SHA-256 of the file; None: there was none."""

    path: Path
    added: tuple[str, ...]
    before: str | None
    after: str | None


def save_rules(
    project_root: Path, rules: Sequence[str], *, behaviour: Literal["allow", "deny", "ask"] = "allow"
) -> Saved:
    """Add rules to `.ostinato/settings.local.json` of the project, one per simple command.

    Raises ConfigurationError, with nothing written, if the file is broken or cannot be written.
    """
    path = project_root / LOCAL_FILE
    try:
        path.parent.mkdir(exist_ok=True)
        target = _target(path, project_root)
        with locked_folder(target.parent):
            return _add(target, path, rules, behaviour)
    except OSError as error:
        raise ConfigurationError(
            f"cannot save to the settings file `{path}`: {error.strerror or error}",
            hint="check its permissions; the rule holds for this session only",
        ) from error


def _target(path: Path, project_root: Path) -> Path:
    """Where the file really lies. A link that leads out of the project would make an answer write elsewhere."""
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(project_root)):
        raise ConfigurationError(
            f"the settings file `{path}` is a link out of the project, to `{target}`",
            hint="replace the link by a file of the project",
        )
    return target


def _add(target: Path, path: Path, rules: Sequence[str], behaviour: str) -> Saved:
    content = read_settings_file(target)
    data = {} if content is None else _object(path, content)
    before = hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else None
    permissions = data.setdefault("permissions", {})
    if not is_object(permissions):
        raise _wrong(path, "permissions", "an object")
    listed = cast("dict[str, object]", permissions).setdefault(behaviour, [])
    if not is_list(listed):
        raise _wrong(path, f"permissions.{behaviour}", "a list")
    added = tuple(rule for rule in dict.fromkeys(rules) if rule not in listed)
    if not added:
        return Saved(path, (), before, before)
    listed.extend(added)
    new = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()
    swap_in(target, new)
    return Saved(path, added, before, hashlib.sha256(new).hexdigest())


def _object(path: Path, content: bytes | Unreadable) -> dict[str, object]:
    answer = content if isinstance(content, Unreadable) else read_settings_text(content)
    if isinstance(answer, Unreadable):
        place = "" if answer.line is None else f", line {answer.line}, column {answer.column}"
        raise ConfigurationError(
            f"the settings file `{path}`{place} {answer.what}; it was left as it is", hint=answer.hint
        )
    if answer.repeated:
        raise ConfigurationError(
            f"the settings file `{path}` has `{answer.repeated[0]}` more than once; it was left as it is",
            hint="keep one of them",
        )
    return answer.data


def _wrong(path: Path, key: str, kind: str) -> ConfigurationError:
    return ConfigurationError(
        f"`{key}` of the settings file `{path}` is not {kind}; it was left as it is",
        hint="correct it by hand",
    )
