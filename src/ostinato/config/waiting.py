"""What waits for trust, sorted by kind, for a person to read: what the project wants to do, and where it says so."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from ostinato.config.places import MCP_FILE
from ostinato.config.project_things import ACTING_FILES, Things
from ostinato.config.source import Sourced

Kind: TypeAlias = Literal[
    "hooks",
    "MCP servers",
    "commands that settings run",
    "environment variables",
    "models and addresses",
    "permission rules",
    "a permission mode",
    "folders to work in",
    "commands, skills and agents",
    "other settings",
    "what cannot be read",
]

KIND_OF_KEY: Final[Mapping[str, Kind]] = {
    "hooks": "hooks",
    "enableAllProjectMcpServers": "MCP servers",
    "enabledMcpjsonServers": "MCP servers",
    "mcpServers": "MCP servers",
    "apiKeyHelper": "commands that settings run",
    "statusLine": "commands that settings run",
    "env": "environment variables",
    "model": "models and addresses",
    "models": "models and addresses",
    "fallbackModel": "models and addresses",
    "smallModel": "models and addresses",
    "web": "models and addresses",
    "permissions.allow": "permission rules",
    "permissions.defaultMode": "a permission mode",
    "permissions.additionalDirectories": "folders to work in",
}
"""By the key itself or a part of its beginning; all others are "other settings"."""

KINDS: Final[tuple[Kind, ...]] = (*dict.fromkeys(KIND_OF_KEY.values()), "commands, skills and agents")


class WaitingItem(msgspec.Struct, frozen=True):
    """`what` is a key with its value, or the name of a file; `file` says where it stands. Both as the project wrote them."""

    key: str
    value: object
    file: str


class Waiting(msgspec.Struct, frozen=True):
    kind: Kind
    items: tuple[WaitingItem, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.file for item in self.items))


def waiting(withheld: Sequence[tuple[str, Sourced[object]]], things: Things) -> tuple[Waiting, ...]:
    """Everything that waits, in a fixed order of kinds. Empty: nobody need be asked, whatever the project holds."""
    found: dict[Kind, list[WaitingItem]] = {}
    for kind, item in (*_of_settings(withheld), *_of_things(things)):
        found.setdefault(kind, []).append(item)
    order: tuple[Kind, ...] = (*KINDS, "other settings", "what cannot be read")
    return tuple(Waiting(kind, tuple(found[kind])) for kind in order if kind in found)


def _of_settings(
    withheld: Iterable[tuple[str, Sourced[object]]],
) -> Iterator[tuple[Kind, WaitingItem]]:
    for key, item in withheld:
        yield kind_of(key), WaitingItem(key, item.value, item.origin.source.name)


def kind_of(key: str) -> Kind:
    """`key` is the whole way to a value, such as `permissions.allow[2]`."""
    for beginning, kind in KIND_OF_KEY.items():
        if key == beginning or key.startswith((f"{beginning}.", f"{beginning}[")):
            return kind
    return "other settings"


def _of_things(things: Things) -> Iterator[tuple[Kind, WaitingItem]]:
    """Files that act by themselves; what a setting only names is told with that setting."""
    for name, digest in things.digests.items():
        item = WaitingItem("", name, name)
        if digest is None:
            yield "what cannot be read", item
        elif name == MCP_FILE:
            yield "MCP servers", item
        elif name not in ACTING_FILES and _is_in_acting_folder(name):
            yield "commands, skills and agents", item


def _is_in_acting_folder(name: str) -> bool:
    parts = name.split("/")
    return len(parts) > 2 and parts[0] in {".ostinato", ".claude", ".agents"}
