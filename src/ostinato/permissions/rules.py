"""Permission rules as people write them (`Bash(npm test:*)`, `Edit(/src/**)`), parsed once and matched as data.

Promise: an allow rule covers no more than it shows; a deny or ask rule covers everything it could mean.
"""

import re
from pathlib import Path
from typing import Literal

import msgspec

from ostinato.errors import ConfigurationError
from ostinato.permissions.input_fields import INPUT_FIELDS, field_of, field_problem

Behaviour = Literal["allow", "deny", "ask"]

RULE = re.compile(r"([A-Za-z_*][A-Za-z0-9_*.-]*)(?:\((.*)\))?", re.DOTALL)
PATH_TOOLS = frozenset({"Read", "Edit"})
READ_TOOLS = frozenset({"Read", "Grep", "Glob", "NotebookRead", "LS"})
EDIT_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
PATHS_ELSEWHERE = {
    "Write": "Edit",
    "MultiEdit": "Edit",
    "NotebookEdit": "Edit",
    "Glob": "Read",
    "Grep": "Read",
}
CONTENT_PARAMETERS = {
    "Bash": "command",
    "WebFetch": "url",
    "Agent": "prompt",
    "Task": "prompt",
    "Skill": "skill",
}
_MEANT = {name.lower(): name for name in (*PATH_TOOLS, *CONTENT_PARAMETERS, "Cd")} | {
    name.lower(): instead for name, instead in PATHS_ELSEWHERE.items()
}
"""What a name in other letters was to be, for those that can be narrowed."""


class Rule(msgspec.Struct, frozen=True):
    """One rule. `spec` is None for all uses of the tool. `source` names where it was written, for people.

    `anchor` is the folder that `/rel` patterns start from (the project root, or the folder of the user's settings);
    None means the working folder.
    """

    tool: str
    spec: str | None
    behaviour: Behaviour
    source: str
    anchor: Path | None = None

    def __str__(self) -> str:
        return self.tool if self.spec is None else f"{self.tool}({self.spec})"


def parse_rule(text: str, behaviour: Behaviour, source: str, *, anchor: Path | None = None) -> Rule:
    """Parse one rule, or raise `ConfigurationError` that says which rule and what to write instead."""
    match = RULE.fullmatch(text.strip())
    if match is None:
        raise _error(
            text,
            source,
            "has no form `Tool` or `Tool(what)`",
            "for example `Bash(npm test:*)` or `Edit(/src/**)`",
        )
    tool, spec = match[1], match[2]
    spec = None if spec is None or spec.strip() in {"*", ""} else spec.strip()
    if spec is not None and tool == "Bash":
        spec = re.sub(r"\s+:\*$", ":*", spec)
    if "*" in tool:
        _check_name(text, tool, behaviour, source)
    if spec is not None:
        _check_spec(text, tool, spec, behaviour, source)
    return Rule(tool, spec, behaviour, source, anchor)


def is_plain_path(path: Path) -> bool:
    """Whether a rule with this path means it alone: no character of it is a wildcard."""
    return re.search(r"[*?\[\]()]", str(path)) is None


def _check_name(text: str, tool: str, behaviour: Behaviour, source: str) -> None:
    if behaviour != "allow":
        return
    if not re.match(r"mcp__[A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*__", tool):
        raise _error(
            text,
            source,
            "allows a wildcard of tools",
            "write the tool's name, or `mcp__server__*` for all tools of a server",
        )


def _check_spec(text: str, tool: str, spec: str, behaviour: Behaviour, source: str) -> None:
    if _is_about_an_input(text, tool, spec, behaviour, source):
        return
    if tool in PATHS_ELSEWHERE:
        hint = f"write `{PATHS_ELSEWHERE[tool]}({spec})`: it covers `{tool}` too"
        if behaviour != "allow" and tool in INPUT_FIELDS:
            hint += f"; of its inputs it can name {', '.join(f'`{name}`' for name in INPUT_FIELDS[tool])}"
        raise _error(text, source, f"has a path, which `{tool}` rules do not take", hint)
    if tool == "WebFetch" and not spec.startswith("domain:"):
        raise _error(text, source, "is not a domain", "write `WebFetch(domain:example.org)`")
    if tool == "Bash" and ":*" in spec[:-2]:
        raise _error(text, source, "has `:*` before its end", "`:*` may only end a rule; inside, use `*`")
    if tool in CONTENT_PARAMETERS or tool in PATH_TOOLS or tool == "Cd":
        return
    meant = _MEANT.get(tool.lower())
    if behaviour == "allow":
        hint = f"write `{meant}({spec})`" if meant else f"write `{tool}` to allow all its uses"
        raise _error(text, source, f"narrows `{tool}`, which allow rules cannot", hint)
    if tool in INPUT_FIELDS or ":" not in spec:
        hint = f"write `{meant}({spec})`" if meant else f"write `{tool}(parameter:value)`"
        raise _error(text, source, "does not name a parameter", hint)


def _is_about_an_input(text: str, tool: str, spec: str, behaviour: Behaviour, source: str) -> bool:
    problem = field_problem(tool, spec)
    if problem is not None:
        raise _error(text, source, *problem)
    if not field_of(tool, spec):
        return False
    if behaviour == "allow" and tool == "Bash":
        what = "is about an input, which allow rules cannot be"
        raise _error(text, source, what, "write the command, as `Bash(npm test:*)`")
    return behaviour != "allow"


def _error(text: str, source: str, what: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"the permission rule `{text}` of {source} {what}", hint=hint)
