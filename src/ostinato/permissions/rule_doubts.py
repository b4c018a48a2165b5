"""Rules that can never match, in words for who wrote them: a deny rule that does nothing looks just like one that works.

Names that other agents use are known, for their settings are read too; tools of a caller and of MCP servers are never doubted.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from ostinato.permissions.name_set import names
from ostinato.permissions.rules import Rule

KNOWN_TOOLS: Final = names(
    "Bash BashOutput KillBash KillShell Read Edit Write MultiEdit NotebookEdit NotebookRead Grep Glob LS WebFetch WebSearch Agent"
    " Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite EnterPlanMode ExitPlanMode EnterWorktree"
    " ExitWorktree Skill SlashCommand AskUserQuestion Cd ListMcpResources ListMcpResourcesTool ReadMcpResource"
    " ReadMcpResourceTool LSP Monitor PowerShell ToolSearch StructuredOutput"
)


def doubt_of(rule: Rule, tool_names: Iterable[str] = ()) -> str:
    """Why the rule can match nothing, and what to write; "" where it can. `tool_names` are those of the caller's own tools."""
    known = KNOWN_TOOLS | frozenset(tool_names)
    if rule.tool.startswith("mcp__") or any(fnmatchcase(name, rule.tool) for name in known):
        return ""
    if "*" in rule.tool and fnmatchcase("mcp__", rule.tool.split("*")[0] + "*"):
        return ""
    return f"there is no tool `{rule.tool}`, so it does nothing: {_advice(rule, known)}"


def doubts(rules: Iterable[Rule], tool_names: Iterable[str] = ()) -> tuple[str, ...]:
    """A sentence for each rule that can match nothing."""
    named = frozenset(tool_names)
    found = ((rule, doubt_of(rule, named)) for rule in rules)
    return tuple(
        f"the {rule.behaviour} rule `{rule}` of {rule.source} matches nothing: {doubt}"
        for rule, doubt in found
        if doubt
    )


def _advice(rule: Rule, known: frozenset[str]) -> str:
    from difflib import get_close_matches  # ruff: ignore[import-outside-top-level] - most rules are right

    spec = "" if rule.spec is None else f"({rule.spec})"
    same = [name for name in sorted(known) if name.casefold() == rule.tool.casefold()]
    close = same or get_close_matches(rule.tool, sorted(known), n=1, cutoff=0.6)
    is_program = not same and rule.tool.islower() and "*" not in rule.tool
    if is_program:
        command = rule.tool if rule.spec is None else f"{rule.tool} {rule.spec.removesuffix(':*')}".strip()
        return f"for the command write `Bash({command}:*)`"
    return (
        f"write `{close[0]}{spec}`"
        if close
        else "names are `Bash`, `Read`, `Edit`, `WebFetch`, `mcp__server__tool`"
    )
