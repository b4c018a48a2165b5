"""How one call is judged, taken apart: how its text is read, what each command touches, which rule decides, what would allow it.

Promise: the report comes from the functions that decide, so it cannot say anything else than what happens.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from ostinato.option_values import PermissionMode
from ostinato.permissions.allowance import Allowance, covering_command_rules, settling_rules
from ostinato.permissions.call_paths import CallPaths, paths_of
from ostinato.permissions.decision import decide_paths
from ostinato.permissions.restriction import restricting_rules
from ostinato.permissions.rule_matching import covers_paths_of, name_matches
from ostinato.permissions.rules import Behaviour, Rule
from ostinato.permissions.shell_command import Proven, Redirect, Unprovable
from ostinato.permissions.shell_effects import CommandEffects, Folders, reached_folders
from ostinato.permissions.verdict import Allow, Ask, CallFacts, DecisionReason, Deny, Policy, Verdict

Outcome = Literal["allow", "deny", "ask"]


class PathReport(msgspec.Struct, frozen=True):
    """A path that is touched, where it leads (empty: unknown), and whether all of that is in the workspace."""

    path: Path
    leads_to: tuple[Path, ...]
    is_inside: bool
    protection: str = ""


class RuleReport(msgspec.Struct, frozen=True):
    """A rule that is about this part. `is_certain` is False where it only may cover it."""

    rule: str
    behaviour: Behaviour
    source: str
    is_certain: bool = True


class PartReport(msgspec.Struct, frozen=True):
    """One simple command of a shell text, or a whole call of another tool.

    `words`, `assignments` and `redirects` are what was read; None stands for what is not static. `runs` are the command
    lines that it runs through wrappers, outermost first, itself left out. `problem` says why its files cannot be told.
    `rules` are all rules that are about it; `reason` names the one that decides.
    """

    outcome: Outcome
    reason: DecisionReason
    words: tuple[str | None, ...] = ()
    assignments: tuple[tuple[str, str | None], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    runs: tuple[tuple[str | None, ...], ...] = ()
    reads: tuple[PathReport, ...] = ()
    writes: tuple[PathReport, ...] = ()
    are_paths_complete: bool = True
    problem: str = ""
    rules: tuple[RuleReport, ...] = ()
    suggestions: tuple[str, ...] = ()


class CallReport(msgspec.Struct, frozen=True):
    """The whole call. `unread` says why a shell text is not in the provable subset, "" if it is or there is none.

    `folders` are those in which a command of a shell text may run: the working folder and what `cd` leads to.
    `suggestions` are rules that would answer the same call from now on. `links` are the paths in a shell text that may be
    files and lead elsewhere, with where.
    """

    tool_name: str
    mode: PermissionMode
    outcome: Outcome
    reason: DecisionReason
    suggestions: tuple[str, ...] = ()
    unread: str = ""
    folders: tuple[Path, ...] = ()
    parts: tuple[PartReport, ...] = ()
    links: tuple[tuple[Path, Path], ...] = ()


def report_call(call: CallFacts, policy: Policy) -> CallReport:
    """What `decide` answers for this call, with everything that leads to it. A pure function; it does not raise."""
    paths = paths_of(call)
    verdict = decide_paths(paths, policy)
    report = CallReport(
        call.tool_name,
        policy.mode,
        _outcome(verdict),
        verdict.reason,
        _suggestions(verdict),
        folders=(call.start,),
        links=paths.links(),
    )
    match call.shell:
        case None:
            return replace(report, parts=(_part_of_tool(paths, policy, verdict),))
        case Unprovable(why):
            part = PartReport(report.outcome, verdict.reason, problem=why, rules=_rules(paths, policy))
            return replace(report, unread=why, parts=(part,))
        case Proven(commands):
            start = Folders((call.start,), call.home)
            folders = reached_folders(commands, str(call.input.get("command", "")), start).possible
            parts = tuple(_part_of_command(paths, effect, policy) for effect in paths.effects)
            return replace(report, folders=folders, parts=parts)
        case _:
            assert_never(call.shell)


def _outcome(verdict: Verdict) -> Outcome:
    match verdict:
        case Allow():
            return "allow"
        case Deny():
            return "deny"
        case Ask():
            return "ask"
        case _:
            assert_never(verdict)


def _suggestions(verdict: Verdict) -> tuple[str, ...]:
    return verdict.suggestions if isinstance(verdict, Ask) else ()


def _part_of_tool(paths: CallPaths, policy: Policy, verdict: Verdict) -> PartReport:
    return PartReport(
        _outcome(verdict),
        verdict.reason,
        reads=_paths(paths, paths.call.reads),
        writes=_paths(paths, paths.call.writes),
        rules=_rules(paths, policy),
        suggestions=_suggestions(verdict),
    )


def _part_of_command(paths: CallPaths, effect: CommandEffects, policy: Policy) -> PartReport:
    alone = alone_in(paths, effect)
    verdict = decide_paths(alone, policy)
    return PartReport(
        _outcome(verdict),
        verdict.reason,
        words=effect.command.words(),
        assignments=effect.command.env,
        redirects=effect.command.redirects,
        runs=tuple(link.words() for link in effect.chain[1:]),
        reads=_paths(paths, effect.reads),
        writes=_paths(paths, effect.writes),
        are_paths_complete=effect.is_known,
        problem=effect.problem,
        rules=_rules(alone, policy),
        suggestions=_suggestions(verdict),
    )


def alone_in(paths: CallPaths, effect: CommandEffects) -> CallPaths:
    """The call as if this were its only command; the folders and paths stay those of the whole text."""
    shell = Proven((effect.command,))
    return CallPaths(replace(paths.call, shell=shell), (effect,), paths.moved)


def _paths(paths: CallPaths, touched: Iterable[Path]) -> tuple[PathReport, ...]:
    reports: list[PathReport] = []
    for path in dict.fromkeys(touched):
        protection = paths.protection((path,))
        reports.append(
            PathReport(path, paths.targets(path), paths.is_inside(path), protection[1] if protection else "")
        )
    return tuple(reports)


def _rules(paths: CallPaths, policy: Policy) -> tuple[RuleReport, ...]:
    """All rules that are about the part, those that restrict first: they count first."""
    found = [
        RuleReport(str(rule), rule.behaviour, rule.source, hit == "yes")
        for rule, hit in restricting_rules(paths, policy.rules)
        if hit != "no"
    ]
    allowing = [rule for rule in policy.rules if rule.behaviour == "allow" and _allows(rule, paths, policy)]
    return (*found, *(RuleReport(str(rule), rule.behaviour, rule.source) for rule in allowing))


def _allows(rule: Rule, paths: CallPaths, policy: Policy) -> bool:
    """Whether the rule settles the part, alone or with others."""
    name = paths.call.tool_name
    if rule.spec is None:
        return name_matches(rule, name) or covers_paths_of(rule, name)
    if paths.call.shell is None:
        return isinstance(decide_paths(paths, Policy(rules=(rule,))), Allow) and not isinstance(
            decide_paths(paths, Policy()), Allow
        )
    together, alone = Allowance(paths, policy), Allowance(paths, Policy(policy.mode, (rule,)))
    return any(rule in _used_rules(effect, each) for effect in paths.effects for each in (together, alone))


def _used_rules(effect: CommandEffects, allowance: Allowance) -> tuple[Rule, ...]:
    return (*(settling_rules(effect, allowance) or ()), *covering_command_rules(effect, allowance))
