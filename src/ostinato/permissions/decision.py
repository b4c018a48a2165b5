"""The permission decision: a pure function from a call and a policy to allow, deny or ask, each with its reason.

Order: deny rules, (plan mode's refusal,) ask rules, protected paths, mode, allow rules, proof that the call only reads, ask. Deny and ask
rules count in every mode. What cannot be proven is allowed in two cases only: in `bypassPermissions`, and by a
rule for the bare tool `Bash`, which its writer can only have meant as "anything".
"""

from functools import partial

from msgspec.structs import replace

from ostinato.errors import ConfigurationError
from ostinato.permissions.allowance import (
    Allowance,
    covering_rule,
    is_settled,
    only_reads,
    open_redirections,
    reads_inside,
    rules_for_redirections,
    stays_inside,
)
from ostinato.permissions.call_paths import CallPaths, paths_of
from ostinato.permissions.restriction import find_restriction
from ostinato.permissions.rule_matching import command_text
from ostinato.permissions.rules import EDIT_TOOLS, Rule, parse_rule
from ostinato.permissions.shell_command import Unprovable
from ostinato.permissions.suggestion import suggest_rules
from ostinato.permissions.verdict import (
    Allow,
    Ask,
    CallFacts,
    DecisionReason,
    Deny,
    Policy,
    ReasonKind,
    Verdict,
)

NETWORK_TOOLS = frozenset({"WebFetch", "WebSearch"})
"""They write nothing here, but what they send leaves the machine."""


def decide(call: CallFacts, policy: Policy) -> Verdict:
    """What the rules and the mode say about this call. A pure function; it does not raise."""
    return decide_paths(paths_of(call), policy)


def decide_paths(paths: CallPaths, policy: Policy) -> Verdict:
    """The same for a call whose effects are worked out already, or for one of its commands alone."""
    verdict = _decide(paths, policy)
    if not isinstance(verdict, Ask):
        return verdict
    if policy.mode == "dontAsk":
        text = f"{verdict.reason.text}; the mode `dontAsk` refuses what would be asked"
        return Deny(replace(verdict.reason, text=text), is_unasked=True)
    allowance = Allowance(paths, policy)
    suggested = suggest_rules(paths, is_settled=partial(is_settled, allowance=allowance))
    if not suggested and verdict.reason.kind == "no_rule":
        suggested = rules_for_redirections(allowance)
    held = suggested if _would_hold(suggested, paths, policy) else ()
    return replace(verdict, suggestions=held, links=paths.links())


def _would_hold(suggested: tuple[str, ...], paths: CallPaths, policy: Policy) -> bool:
    """Whether the call would be allowed by these rules: what is offered as "always" must not be asked again."""
    try:
        rules = tuple(parse_rule(text, "allow", "suggested") for text in suggested)
    except ConfigurationError:
        return False
    return isinstance(_decide(paths, replace(policy, rules=(*policy.rules, *rules))), Allow)


def _decide(paths: CallPaths, policy: Policy) -> Verdict:
    restricted = find_restriction(paths, policy.rules)
    if isinstance(restricted, Deny):
        return restricted
    # Before any question: asking about what this mode refuses would be a way out of it.
    if policy.mode == "plan" and not _only_reads(paths):
        return Deny(_by_mode(policy, "allows only calls that are proven to read"))
    if restricted is not None:
        return restricted
    if policy.mode == "bypassPermissions":
        return Allow(_by_mode(policy, "allows every call that no rule forbids"))
    protected = _protected(paths)
    if protected is not None:
        return protected
    if policy.mode == "acceptEdits" and _edits_inside(paths):
        return Allow(_by_mode(policy, "allows edits inside the workspace"))
    rule = covering_rule(Allowance(paths, policy))
    if rule is not None:
        return Allow(_by_rule(rule))
    return _without_a_rule(paths, Allowance(paths, policy))


def _by_mode(policy: Policy, text: str) -> DecisionReason:
    return DecisionReason("mode", policy.mode, "mode", f"the mode `{policy.mode}` {text}")


def _by_rule(rule: Rule) -> DecisionReason:
    return DecisionReason(
        "rule", str(rule), rule.source, f"the allow rule `{rule}` of {rule.source} covers it"
    )


def _ask(kind: ReasonKind, rule: str, source: str, text: str) -> Ask:
    return Ask(DecisionReason(kind, rule, source, text))


def _protected(paths: CallPaths) -> Ask | None:
    written = list(paths.writes())
    for effect in paths.effects:
        if effect.changes_git_settings:
            return _ask(
                "protected_path",
                "git's settings",
                "protected paths",
                "this git command may change git's settings",
            )
        if not effect.is_known:
            written.extend(effect.mentions)
    read = paths.read_protection()
    if read is not None:
        text = f"`{read[0]}` is protected ({read[1]}) and never read without a yes"
        return _ask("protected_path", read[1], "protected paths", text)
    found = paths.protection(written)
    if found is None:
        return None
    text = f"`{found[0]}` is protected ({found[1]}) and never written without a yes"
    return _ask("protected_path", found[1], "protected paths", text)


def _only_reads(paths: CallPaths) -> bool:
    """Whether the call is proven to write nothing; it may still read outside the workspace."""
    if paths.call.shell is not None:
        return bool(paths.effects) and all(only_reads(effect) for effect in paths.effects)
    return paths.call.is_read_only and not paths.call.writes


def _edits_inside(paths: CallPaths) -> bool:
    call = paths.call
    if call.shell is not None:
        return bool(paths.effects) and all(stays_inside(effect, paths) for effect in paths.effects)
    return (
        call.tool_name in EDIT_TOOLS and bool(call.writes) and paths.are_inside((*call.writes, *call.reads))
    )


def _without_a_rule(paths: CallPaths, allowance: Allowance) -> Verdict:
    if paths.call.shell is not None:
        return _shell_without_a_rule(paths, allowance)
    call = paths.call
    is_trusted = call.tool_name not in NETWORK_TOOLS and not call.tool_name.startswith("mcp__")
    if not (call.is_read_only and is_trusted and not call.writes):
        return _ask("no_rule", "", "default", f"no rule covers this use of `{call.tool_name}`")
    if paths.may_all_be_read(call.reads):
        return Allow(
            DecisionReason("read_only", "read-only tool", "built in", "it only reads, inside the workspace")
        )
    return _ask("outside", "workspace", "built in", "it reads outside the workspace")


def _shell_without_a_rule(paths: CallPaths, allowance: Allowance) -> Verdict:
    if isinstance(paths.call.shell, Unprovable):
        return _ask(
            "unprovable", "shell reader", "built in", f"what it runs cannot be proven: {paths.call.shell.why}"
        )
    problem = next((effect.problem for effect in paths.effects if effect.problem), "")
    if problem:
        return _ask("unprovable", "shell reader", "built in", f"what it touches cannot be proven: {problem}")
    if paths.effects and all(reads_inside(effect, paths) for effect in paths.effects):
        text = "every command in it is proven to only read, inside the workspace"
        return Allow(DecisionReason("read_only", "read-only commands", "built in", text))
    open_effect = next(
        (effect for effect in paths.effects if not is_settled(effect, allowance=allowance)), None
    )
    if open_effect is None:
        return _ask("no_rule", "", "default", "there is nothing to run")
    shown = command_text(open_effect.command).replace("\x00", "…")
    if only_reads(open_effect):
        text = f"`{shown or 'a redirection'}` reads outside the workspace"
        return _ask("outside", "workspace", "built in", text)
    held_up = open_redirections(open_effect, allowance)
    if held_up:
        path = held_up[0]
        verb = "writing" if path in open_effect.writes else "reading"
        by = "an option" if path in open_effect.optioned else "the redirection"
        whose = f"{by} of `{shown}`" if shown else "a redirection"
        return _ask("no_rule", "", "default", f"no rule covers {verb} `{path}` by {whose}")
    doubt = f", and {open_effect.doubt}" if open_effect.doubt else ""
    return _ask("no_rule", "", "default", f"no rule covers `{shown}`{doubt}")
