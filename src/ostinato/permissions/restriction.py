"""Deny and ask rules: what they forbid, and what they might forbid once unknown words are known.

Promise: they are tried on every command and path of a call, in every mode, and an unproven text is tried as text.
"""

import re
from pathlib import Path, PurePath
from typing import Literal

from ostinato.permissions.call_paths import CallPaths
from ostinato.permissions.content_reach import SHOWING
from ostinato.permissions.input_fields import field_matches, field_of
from ostinato.permissions.passed_on import may_be_passed_on
from ostinato.permissions.rule_matching import (
    command_matches,
    command_may_match,
    covers_paths_of,
    input_matches,
    name_matches,
    raw_text_matches,
)
from ostinato.permissions.rules import PATH_TOOLS, Rule
from ostinato.permissions.shell_command import Unprovable
from ostinato.permissions.shell_effects import CommandEffects
from ostinato.permissions.verdict import Ask, DecisionReason, Deny
from ostinato.permissions.wrappers import reads_its_program

Hit = Literal["yes", "maybe", "no"]


def find_restriction(paths: CallPaths, rules: tuple[Rule, ...]) -> Deny | Ask | None:
    """A deny before an ask, a certain one before a possible one; of equals the first rule."""
    hits = restricting_rules(paths, rules)
    for rule, hit in hits:
        if rule.behaviour == "deny" and hit == "yes":
            return Deny(_reason(rule, f"the deny rule `{rule}` of {rule.source} covers it"))
    for rule, hit in hits:
        if rule.behaviour == "ask" and hit == "yes":
            return Ask(_reason(rule, f"the ask rule `{rule}` of {rule.source} covers it"))
    for rule, hit in hits:
        if hit == "maybe":
            return Ask(_reason(rule, f"the {rule.behaviour} rule `{rule}` of {rule.source} may cover it"))
    return None


def restricting_rules(paths: CallPaths, rules: tuple[Rule, ...]) -> tuple[tuple[Rule, Hit], ...]:
    """Every deny and ask rule with how it meets the call, in the order of the rules."""
    return tuple((rule, _hit(rule, paths)) for rule in rules if rule.behaviour != "allow")


def _reason(rule: Rule, text: str) -> DecisionReason:
    return DecisionReason("rule", str(rule), rule.source, text)


def _hit(rule: Rule, paths: CallPaths) -> Hit:
    name = paths.call.tool_name
    if rule.spec is None and (name_matches(rule, name) or covers_paths_of(rule, name)):
        return "yes"
    if rule.spec is not None and field_of(rule.tool, rule.spec):
        if rule.tool == name and field_matches(name, rule.spec, paths.call.input):
            return "yes"
        if rule.tool not in PATH_TOOLS:  # a file may be called so, and is meant too
            return "no"
    if rule.tool in PATH_TOOLS:
        return _hit_by_path(rule, paths)
    if rule.tool == "Cd":
        return _hit_by_folder(rule, paths)
    if rule.tool == "Bash":
        return _hit_by_command(rule, paths)
    if rule.spec is not None and name_matches(rule, name) and input_matches(rule, paths.call.input):
        return "yes"
    return "no"


def _hit_by_path(rule: Rule, paths: CallPaths) -> Hit:
    touched = _meant_paths(rule, paths)
    shown = [path for effect in paths.effects for path in effect.kept] if rule.tool == "Read" else []
    if any(paths.rule_covers(rule, path) for path in (*touched, *shown)):
        return "yes"
    is_fed = any(reads_its_program(link) for effect in paths.effects for link in effect.chain)
    if isinstance(paths.call.shell, Unprovable) or is_fed:
        return "maybe" if _names_it(rule, _text(paths)) or _may_show(rule, paths) else "no"
    # Where a path leads is unknown (a wildcard in a folder's name), or the program's use of its words is.
    if any(not paths.targets(path) for path in touched):
        return "maybe"
    if rule.tool == "Read" and any(paths.rule_reaches(rule, effect) for effect in paths.effects):
        return "maybe"
    if rule.tool == "Edit" and any(effect.writes_unknown for effect in paths.effects):
        return "maybe"
    unknown = [effect for effect in paths.effects if not effect.is_known]
    if any(None in link.words() for effect in unknown for link in effect.chain) and _spells_it(
        rule, _text(paths)
    ):
        return "maybe"
    if any(paths.rule_covers(rule, path) for effect in unknown for path in effect.mentions):
        return "maybe"
    return "maybe" if any(_is_named_inside(rule, effect) for effect in unknown) else "no"


def _meant_paths(rule: Rule, paths: CallPaths) -> tuple[Path, ...]:
    """What the call touches in the way that the rule is about. A tool that changes a file looks at it, and a call that it refuses tells
    what it found there: so a rule for reading a file is about changing it too. One for the bare tool names no file.
    """
    if rule.tool == "Edit":
        return paths.writes()
    return paths.reads() if rule.spec is None else (*paths.reads(), *paths.call.writes)


def _is_named_inside(rule: Rule, effect: CommandEffects) -> bool:
    """Whether a word of a program that is not known holds the last name of the rule, as `-c 'open("name")'` does."""
    name = PurePath(rule.spec or "").name
    if not name or set(name) & set("*?["):
        return False
    pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
    return any(
        word is not None and pattern.search(word) for link in effect.chain for word in link.words()[1:]
    )


def _may_show(rule: Rule, paths: CallPaths) -> bool:
    """Whether an unread text holds a program that shows files, or a redirection, and a name that only running tells."""
    text = _text(paths)
    is_dynamic = rule.tool == "Read" and not set(text).isdisjoint("*?[$`{\\")
    is_sourced = re.search(r"(?:^|[\s;&|({'\"])(?:\.|source)\s", text) is not None
    return is_dynamic and (
        "<" in text or is_sourced or not SHOWING.isdisjoint(re.findall(r"[a-z0-9]+", text))
    )


def _names_it(rule: Rule, text: str) -> bool:
    """Whether the text holds the last fixed name of the rule, or the rule has none."""
    parts = _fixed_names(rule)
    return not parts or parts[-1] in text


def _spells_it(rule: Rule, text: str) -> bool:
    parts = _fixed_names(rule)
    return bool(parts) and parts[-1] in text


def _fixed_names(rule: Rule) -> list[str]:
    return [
        part
        for part in PurePath(rule.spec or "").parts
        if "*" not in part and part not in {"/", "//", "~", "."}
    ]


def _hit_by_folder(rule: Rule, paths: CallPaths) -> Hit:
    for effect in paths.effects:
        is_move = effect.chain[-1].argv[:1] == ("cd",)
        if is_move and (rule.spec is None or any(paths.rule_covers(rule, path) for path in effect.reads)):
            return "yes"
    return "no"


def _hit_by_command(rule: Rule, paths: CallPaths) -> Hit:
    if paths.call.tool_name != "Bash" or rule.spec is None:
        return "no"
    if isinstance(paths.call.shell, Unprovable):
        return "yes" if raw_text_matches(rule, _text(paths)) else "no"
    links = [link for effect in paths.effects for link in effect.chain]
    if any(command_matches(rule, link) for link in links):
        return "yes"
    if any(reads_its_program(link) or may_be_passed_on(rule, link) for link in links):
        return "maybe"  # what it gets may be any command, and this one too
    is_unclear = any(effect.problem for effect in paths.effects) and raw_text_matches(rule, _text(paths))
    return "maybe" if is_unclear or any(command_may_match(rule, link) for link in links) else "no"


def _text(paths: CallPaths) -> str:
    return str(paths.call.input.get("command", ""))
