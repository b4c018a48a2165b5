"""What a project wants to do, for a person who decides whether it may: nothing in it can pass for a line of ours."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ostinato.cli.trust_values import without_secrets
from ostinato.config.places import MCP_FILE
from ostinato.config.project_things import Things
from ostinato.config.read_file import read_settings_file
from ostinato.config.settings_text import Read, read_settings_text
from ostinato.config.shape import is_object
from ostinato.config.trust import Change, Trusted, TrustState
from ostinato.config.waiting import Waiting, WaitingItem
from ostinato.visible_text import visible

MAX_ITEMS: Final = 30
"""Of one kind, in a question; `ostinato trust show` has them all."""

MAX_VALUE_CHARACTERS: Final = 2_000


def waiting_text(
    waiting: Sequence[Waiting], things: Things, root: Path, *, max_items: int | None = None
) -> str:
    """A block for each kind, each thing in a line of its own with the file that says so."""
    return "".join(f"{line}\n" for line in _blocks(waiting, things, root, max_items))


def changes_text(state: TrustState) -> str:
    """What is not as it was when it was trusted; empty where nobody ever trusted the folder."""
    if isinstance(state, Trusted) or not state.was_trusted:
        return ""
    lines = (f"  {_shown_change(change)}\n" for change in state.changed)
    return "Since you trusted it:\n" + "".join(lines)


def _shown_change(change: Change) -> str:
    return f"{change.kind}: {_one_line(change.name)}"


def _blocks(waiting: Sequence[Waiting], things: Things, root: Path, max_items: int | None) -> Iterator[str]:
    for part in waiting:
        yield f"  {part.kind}"
        lines = [line for item in part.items for line in _item(item, things, root)]
        yield from (f"    {line}" for line in lines[:max_items])
        if max_items is not None and len(lines) > max_items:
            yield f"    … and {len(lines) - max_items:,} more: `ostinato trust show` lists them all"


def _item(item: WaitingItem, things: Things, root: Path) -> Iterator[str]:
    if item.key:
        yield f"{_one_line(item.key)} = {_value(item.key, item.value)}  ({_one_line(_below(item.file, root))})"
        return
    yield _one_line(item.file)
    if item.file == MCP_FILE:
        yield from (f"  {line}" for line in _servers(things.digests, root))


def _servers(digests: Mapping[str, str | None], root: Path) -> Iterator[str]:
    """The servers of `.mcp.json`, if the file still is what was looked at."""
    content = read_settings_file(root / MCP_FILE)
    if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != digests.get(MCP_FILE):
        return
    answer = read_settings_text(content)
    servers = answer.data.get("mcpServers") if isinstance(answer, Read) else None
    for name, server in servers.items() if is_object(servers) else ():
        key = f"mcpServers.{name.replace('.', '_')}"
        yield f"{_one_line(name)} = {_value(key, server)}"


def _value(key: str, value: object) -> str:
    """Whole as far as it can be, secrets aside: what a mask would hide from sight could be the very thing to see."""
    text = visible(json.dumps(without_secrets(key, value), ensure_ascii=False)).replace("\n", "⏎")
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[:MAX_VALUE_CHARACTERS]}… and {len(text) - MAX_VALUE_CHARACTERS:,} more characters"


def _below(file: str, root: Path) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎")


def names_text(names: Iterable[str]) -> str:
    return "".join(f"{_one_line(name)}\n" for name in names)
