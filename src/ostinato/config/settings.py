"""The settings that the engine acts on, typed, each with its origin: "where does this come from" always has an answer."""

from collections.abc import Mapping
from typing import Final, TypeVar, assert_never, cast

import msgspec

from ostinato.config.keys import SETTINGS
from ostinato.config.merge import Branch, Listed, Node
from ostinato.config.source import Sourced
from ostinato.option_values import Effort, PermissionMode

Value = TypeVar("Value")

_EMPTY: Final = Branch({})


class PermissionSettings(msgspec.Struct, frozen=True):
    """Rules are texts as written, those of the winning source first. `origin.source.anchor` is where `/rel` starts."""

    allow: tuple[Sourced[str], ...] = ()
    deny: tuple[Sourced[str], ...] = ()
    ask: tuple[Sourced[str], ...] = ()
    default_mode: Sourced[PermissionMode] | None = None
    additional_directories: tuple[Sourced[str], ...] = ()
    is_bypass_disabled: bool = False


class Settings(msgspec.Struct, frozen=True):
    """None and empty mean that no file says anything.

    `models` and `features` are plain, in the names of the files. `hooks` is raw: event to groups `{matcher?, hooks}`. `others` holds every key that has no field here, merged;
    `unknown` names those of them that are no setting this version knows.
    """

    permissions: PermissionSettings = PermissionSettings()
    model: Sourced[str] | None = None
    models: Mapping[str, Mapping[str, object]] = msgspec.field(
        default_factory=dict[str, Mapping[str, object]]
    )
    features: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    append_system_prompt: Sourced[str] | None = None
    fallback_model: Sourced[tuple[str, ...]] | None = None
    env: Mapping[str, Sourced[str]] = msgspec.field(default_factory=dict[str, Sourced[str]])
    hooks: Mapping[str, tuple[Sourced[Mapping[str, object]], ...]] = msgspec.field(
        default_factory=dict[str, tuple[Sourced[Mapping[str, object]], ...]]
    )
    small_model: Sourced[str] | None = None
    web_private_hosts: Sourced[tuple[str, ...]] | None = None
    web_search_url: Sourced[str] | None = None
    web_search_headers: Mapping[str, Sourced[str]] = msgspec.field(default_factory=dict[str, Sourced[str]])
    api_key_helper: Sourced[str] | None = None
    instruction_excludes: tuple[Sourced[str], ...] = ()
    max_turns: Sourced[int] | None = None
    cleanup_period_days: Sourced[int] | None = None
    is_auto_compact_enabled: Sourced[bool] | None = None
    effort_level: Sourced[Effort] | None = None
    is_thinking_on: Sourced[bool] | None = None
    pid_namespace: Sourced[bool] | None = None
    others: Mapping[str, Node] = msgspec.field(default_factory=dict[str, Node])
    unknown: tuple[str, ...] = ()


_FIELDS: Final = frozenset({
    "permissions",
    "model",
    "models",
    "features",
    "appendSystemPrompt",
    "fallbackModel",
    "env",
    "hooks",
    "smallModel",
    "web",
    "apiKeyHelper",
    "claudeMdExcludes",
    "maxTurns",
    "cleanupPeriodDays",
    "autoCompactEnabled",
    "effortLevel",
    "alwaysThinkingEnabled",
    "pidNamespace",
})


def settings_from(merged: Branch) -> Settings:
    """The typed form of a tree that was checked when its files were read: types hold, so nothing can fail here."""
    known = {key.name for key in SETTINGS.keys}
    web = _branch(merged, "web")
    search = _branch(web, "search")
    return Settings(
        permissions=_permissions(_branch(merged, "permissions")),
        model=_one(merged, "model", str),
        models=cast("Mapping[str, Mapping[str, object]]", _plain(_branch(merged, "models"))),
        features=cast("Mapping[str, object]", _plain(_branch(merged, "features"))),
        append_system_prompt=_one(merged, "appendSystemPrompt", str),
        fallback_model=_choice(merged, "fallbackModel"),
        env=_variables(_branch(merged, "env")),
        hooks=_hooks(_branch(merged, "hooks")),
        small_model=_one(merged, "smallModel", str),
        web_private_hosts=_choice(web, "privateHosts"),
        web_search_url=_one(search, "url", str),
        web_search_headers=_variables(_branch(search, "headers")),
        api_key_helper=_one(merged, "apiKeyHelper", str),
        instruction_excludes=_texts(merged, "claudeMdExcludes"),
        max_turns=_one(merged, "maxTurns", int),
        cleanup_period_days=_one(merged, "cleanupPeriodDays", int),
        is_auto_compact_enabled=_one(merged, "autoCompactEnabled", bool),
        effort_level=cast("Sourced[Effort] | None", _one(merged, "effortLevel", str)),
        is_thinking_on=_one(merged, "alwaysThinkingEnabled", bool),
        pid_namespace=_one(merged, "pidNamespace", bool),
        others={name: node for name, node in merged.nodes.items() if name not in _FIELDS},
        unknown=tuple(name for name in merged.nodes if name not in known),
    )


def _permissions(branch: Branch) -> PermissionSettings:
    return PermissionSettings(
        allow=_texts(branch, "allow"),
        deny=_texts(branch, "deny"),
        ask=_texts(branch, "ask"),
        default_mode=cast("Sourced[PermissionMode] | None", _one(branch, "defaultMode", str)),
        additional_directories=_texts(branch, "additionalDirectories"),
        is_bypass_disabled="disableBypassPermissionsMode" in branch.nodes,
    )


def _branch(merged: Branch, name: str) -> Branch:
    node = merged.nodes.get(name)
    return node if isinstance(node, Branch) else _EMPTY


def _plain(node: Node) -> object:
    """The value without its origins."""
    match node:
        case Sourced(value=value):
            return value
        case Listed(items=items):
            return [item.value for item in items]
        case Branch(nodes=nodes):
            return {name: _plain(below) for name, below in nodes.items()}
        case _:
            assert_never(node)


def _one(merged: Branch, name: str, kind: type[Value]) -> Sourced[Value] | None:
    node = merged.nodes.get(name)
    return (
        cast("Sourced[Value]", node) if isinstance(node, Sourced) and isinstance(node.value, kind) else None
    )


def _choice(branch: Branch, name: str) -> Sourced[tuple[str, ...]] | None:
    """Of a list that does not add up."""
    chosen = cast("Sourced[list[str]] | None", _one(branch, name, list))
    return None if chosen is None else Sourced(tuple(chosen.value), chosen.origin)


def _texts(branch: Branch, name: str) -> tuple[Sourced[str], ...]:
    node = branch.nodes.get(name)
    return cast("tuple[Sourced[str], ...]", node.items) if isinstance(node, Listed) else ()


def _variables(branch: Branch) -> dict[str, Sourced[str]]:
    return {
        name: cast("Sourced[str]", node) for name, node in branch.nodes.items() if isinstance(node, Sourced)
    }


def _hooks(branch: Branch) -> dict[str, tuple[Sourced[Mapping[str, object]], ...]]:
    return {
        event: cast("tuple[Sourced[Mapping[str, object]], ...]", node.items)
        for event, node in branch.nodes.items()
        if isinstance(node, Listed)
    }
