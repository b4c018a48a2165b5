"""Calls and policies for the gate's tests: texts in, facts out, resolved as the engine would resolve them."""

from pathlib import Path
from typing import Any

from ostinato.option_values import PERMISSION_MODES, PermissionMode
from ostinato.permissions.decision import decide
from ostinato.permissions.path_resolution import looked_up
from ostinato.permissions.rules import Behaviour, Rule, parse_rule
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.verdict import CallFacts, Policy

HOME = Path("/nowhere/home")
ROOT = Path("/nowhere/abc")
MODES = PERMISSION_MODES


def resolved(call: CallFacts) -> CallFacts:
    return looked_up(call)


def bash(text: str, root: Path = ROOT) -> CallFacts:
    call = CallFacts("Bash", {"command": text}, False, root, (root,), HOME, shell=read_command(text))
    return resolved(call)


def file_tool(name: str, path: str | Path, root: Path = ROOT) -> CallFacts:
    is_read = name in {"Read", "Grep", "Glob"}
    where = (root / path,)
    reads, writes = (where, ()) if is_read else ((), where)
    call = CallFacts(name, {}, is_read, root, (root,), HOME, reads=reads, writes=writes)
    return resolved(call)


def other_tool(
    name: str, tool_input: dict[str, Any] | None = None, *, is_read_only: bool = False
) -> CallFacts:
    return CallFacts(name, tool_input or {}, is_read_only, ROOT, (ROOT,), HOME)


def policy(*rules: str, mode: PermissionMode = "default") -> Policy:
    """Rules as `allow Bash(x)`."""
    parsed: list[Rule] = []
    for text in rules:
        behaviour, _, body = text.partition(" ")
        kinds: dict[str, Behaviour] = {"allow": "allow", "deny": "deny", "ask": "ask"}
        parsed.append(parse_rule(body, kinds[behaviour], "test settings"))
    return Policy(mode, tuple(parsed))


def outcome(call: CallFacts, *rules: str, mode: PermissionMode = "default") -> str:
    return type(decide(call, policy(*rules, mode=mode))).__name__
