"""Rules of settings that cannot be read as rules: at the start they are left out, so nothing shows them as in force."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ostinato.config.load import Effective
from ostinato.config.merge import Branch, Listed, Node
from ostinato.config.source import Problem, Sourced
from ostinato.errors import ConfigurationError
from ostinato.permissions.rules import Behaviour, parse_rule

_BEHAVIOURS: Final[tuple[Behaviour, ...]] = ("deny", "ask", "allow")


def without_unread_rules(effective: Effective) -> tuple[Effective, tuple[Problem, ...]]:
    """The settings with only those rules that act, and what is wrong with each of the others."""
    permissions = effective.merged.nodes.get("permissions")
    if not isinstance(permissions, Branch):
        return effective, ()
    nodes: dict[str, Node] = dict(permissions.nodes)
    problems: list[Problem] = []
    for behaviour in _BEHAVIOURS:
        listed = nodes.get(behaviour)
        if isinstance(listed, Listed):
            nodes[behaviour] = Listed(_read(listed.items, behaviour, problems))
    if not problems:
        return effective, ()
    merged = Branch({**effective.merged.nodes, "permissions": Branch(nodes)})
    return replace(effective, merged=merged), tuple(problems)


def _read(
    rules: Sequence[Sourced[object]], behaviour: Behaviour, problems: list[Problem]
) -> tuple[Sourced[object], ...]:
    read: list[Sourced[object]] = []
    for rule in rules:
        source = rule.origin.source
        try:
            parse_rule(str(rule.value), behaviour, f"`permissions.{behaviour}`")
        except ConfigurationError as error:
            problems.append(Problem(source, f"is no rule: {error.message}", error.hint, rule.origin.key))
        else:
            read.append(rule)
    return tuple(read)
