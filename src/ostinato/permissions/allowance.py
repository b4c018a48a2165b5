"""What allows a call without asking: allow rules, commands that only read, edits in the mode that accepts them.

Promise: a compound command is allowed only if each of its commands is, and each redirection as the read or write
that it is.
"""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostinato.permissions.call_paths import CallPaths
from ostinato.permissions.path_rules import path_rules
from ostinato.permissions.rule_matching import command_matches, covers_paths_of, input_matches, name_matches
from ostinato.permissions.rules import PATH_TOOLS, Rule
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.shell_effects import CommandEffects
from ostinato.permissions.verdict import Policy
from ostinato.permissions.wrappers import TRANSPARENT


class Allowance(msgspec.Struct, frozen=True):
    """A call and the policy it is judged by."""

    paths: CallPaths
    policy: Policy

    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.policy.rules if rule.behaviour == "allow")


def only_reads(effect: CommandEffects) -> bool:
    """Whether one command is proven to write nothing, wherever it reads."""
    return effect.is_known and effect.is_read_only and not effect.writes and not effect.problem


def reads_inside(effect: CommandEffects, paths: CallPaths) -> bool:
    return only_reads(effect) and paths.may_all_be_read(effect.reads)


def stays_inside(effect: CommandEffects, paths: CallPaths) -> bool:
    """Whether all that one command reads and writes is known and inside the workspace.

    A folder that is copied over another one of its name may write over anything in it, git's internals too.
    """
    if not effect.is_known or effect.problem or not paths.call.folders.isdisjoint(effect.merged):
        return False
    return paths.are_inside((*effect.reads, *effect.writes))


def covering_rule(allowance: Allowance) -> Rule | None:
    """An allow rule that settles the whole call (of several, the first one that was needed)."""
    call, rules = allowance.paths.call, allowance.rules()
    for rule in rules:
        if rule.spec is None and (
            name_matches(rule, call.tool_name) or covers_paths_of(rule, call.tool_name)
        ):
            return rule
    if call.shell is not None:
        return _rule_for_shell(allowance)
    touched = [(path, "Edit") for path in call.writes] + [(path, "Read") for path in call.reads]
    covering = [_path_rules(path, tool, allowance) for path, tool in touched]
    if covering and None not in covering:
        return next(rule for found in covering for rule in found or ())
    for rule in rules:
        is_other = rule.spec is not None and rule.tool not in PATH_TOOLS | {"Bash"}
        if is_other and name_matches(rule, call.tool_name) and input_matches(rule, call.input):
            return rule
    return None


def is_settled(effect: CommandEffects, *, allowance: Allowance) -> bool:
    """Whether this one command needs no question."""
    return settling_rules(effect, allowance) is not None


def _rule_for_shell(allowance: Allowance) -> Rule | None:
    settled = [settling_rules(effect, allowance) for effect in allowance.paths.effects]
    if None in settled:
        return None
    return next((rule for rules in settled for rule in rules or ()), None)


def settling_rules(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...] | None:
    """The rules that settle one command (none are needed for what only reads), or None when it stays open."""
    paths = allowance.paths
    if effect.problem:
        return None
    if reads_inside(effect, paths) or (
        allowance.policy.mode == "acceptEdits" and stays_inside(effect, paths)
    ):
        return ()
    redirected = _rules_for_redirections(effect, allowance)
    commanded = _rules_for_command(effect, allowance)
    return None if redirected is None or commanded is None else commanded + redirected


def covering_command_rules(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...]:
    """The rules that settle the command itself, its redirections aside; empty when it stays open or needs none."""
    return () if effect.problem else _rules_for_command(effect, allowance) or ()


def open_redirections(effect: CommandEffects, allowance: Allowance) -> tuple[Path, ...]:
    """The paths of redirections that nothing allows, where they alone hold the command up; empty where it is open itself."""
    if effect.problem or _rules_for_command(effect, allowance) is None:
        return ()
    return tuple(
        path
        for path in effect.redirected
        if _rules_for_redirections(replace(effect, redirected=(path,)), allowance) is None
    )


def rules_for_redirections(allowance: Allowance) -> tuple[str, ...]:
    """Rules, as text for settings, that would allow a call which only redirections hold up; empty where there is more to it."""
    found: list[str] = []
    for effect in allowance.paths.effects:
        if is_settled(effect, allowance=allowance):
            continue
        rules = [
            path_rules(path, "Edit" if path in effect.writes else "Read", allowance.paths)
            for path in open_redirections(effect, allowance)
        ]
        if not rules or () in rules:
            return ()
        found += [rule for each in rules for rule in each]
    return tuple(dict.fromkeys(found))


def _rules_for_redirections(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...] | None:
    found: list[Rule] = []
    shows_all = _command_rule(effect.command, allowance, is_exact=True) is not None
    for path in effect.redirected:
        if shows_all and path in effect.optioned:
            continue
        is_written = path in effect.writes
        if not is_written and allowance.paths.may_be_read(path):
            continue
        if is_written and allowance.paths.is_inside(path) and allowance.policy.mode == "acceptEdits":
            continue
        rules = _path_rules(path, "Edit" if is_written else "Read", allowance)
        if rules is None:
            return None
        found += rules
    return tuple(found)


def _rules_for_command(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...] | None:
    if not effect.command.argv:
        return ()
    exact = _command_rule(effect.command, allowance, is_exact=True)
    if exact is not None:
        return (exact,)
    by_path = _rules_for_reads(effect, allowance)
    if by_path is not None:
        return by_path
    needed = [link for link in effect.chain[:-1] if link.argv[0] not in TRANSPARENT] + [effect.chain[-1]]
    found = [_command_rule(link, allowance, is_exact=False) for link in needed]
    return None if None in found else tuple(rule for rule in found if rule is not None)


def _rules_for_reads(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...] | None:
    """A read-only command may read what `Read` rules allow, as the tool could."""
    if not (effect.is_known and effect.is_read_only):
        return None
    outside = [path for path in effect.reads if not allowance.paths.may_be_read(path)]
    tool = "Cd" if effect.chain[-1].argv[:1] == ("cd",) else "Read"
    found = [_path_rules(path, tool, allowance) for path in outside]
    return None if None in found else tuple(rule for rules in found for rule in rules or ())


def _command_rule(command: SimpleCommand, allowance: Allowance, *, is_exact: bool) -> Rule | None:
    for rule in allowance.rules():
        is_about_shell = rule.tool == "Bash" and rule.spec is not None
        if is_about_shell and not (is_exact and "*" in (rule.spec or "")) and command_matches(rule, command):
            return rule
    return None


def _path_rules(path: Path, tool: str, allowance: Allowance) -> tuple[Rule, ...] | None:
    """The rules for `Read` or `Edit` that cover the path as written and where it leads, each by one rule or another; what
    may be edited may be read, and where one may read one may go."""
    tools = {tool, "Edit"} | ({"Read"} if tool == "Cd" else set[str]())
    paths, given = allowance.paths, [rule for rule in allowance.rules() if rule.tool in tools]
    rules = [rule for rule in given if rule.spec is not None]
    for rule in given:
        is_anywhere = tool == "Cd" and rule.tool == tool and rule.spec is None
        if is_anywhere or (rule.spec is not None and paths.rule_covers(rule, path)):
            return (rule,)
    places = paths.places(path)
    found = [next((rule for rule in rules if paths.rule_matches(rule, place)), None) for place in places]
    return tuple(rule for rule in found if rule is not None) if found and None not in found else None
