"""The allow rules that a person's answers made in this conversation, and those of them that the project's local file has by now.

Promise: what is called kept stands in the file at this moment.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from anyio import to_thread

from ostinato.config.places import LOCAL_FILE
from ostinato.config.read_file import read_settings_file
from ostinato.config.settings_text import Read, read_settings_text
from ostinato.config.shape import is_list, is_object
from ostinato.engine.gate import ANSWERED
from ostinato.engine.slash.scene import SlashScene


class GivenAnswers(msgspec.Struct, frozen=True):
    """Rules as they are written. `file` is where `kept` stands; the others hold for this conversation."""

    file: Path
    kept: tuple[str, ...] = ()
    not_kept: tuple[str, ...] = ()


async def given_answers(scene: SlashScene) -> GivenAnswers:
    file = scene.places.project_root / LOCAL_FILE
    rules = tuple(dict.fromkeys(str(rule) for rule in scene.policy.rules if rule.source == ANSWERED))
    if not rules:
        return GivenAnswers(file)
    there = frozenset(await to_thread.run_sync(_allowed_in, file))
    return GivenAnswers(
        file,
        tuple(rule for rule in rules if rule in there),
        tuple(rule for rule in rules if rule not in there),
    )


def _allowed_in(file: Path) -> tuple[str, ...]:
    content = read_settings_file(file)
    answer = read_settings_text(content) if isinstance(content, bytes) else None
    permissions = answer.data.get("permissions") if isinstance(answer, Read) else None
    allowed = permissions.get("allow") if is_object(permissions) else None
    return tuple(_texts(allowed)) if is_list(allowed) else ()


def _texts(items: Iterable[object]) -> Iterable[str]:
    return (item for item in items if isinstance(item, str))
