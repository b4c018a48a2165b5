"""What another reader makes of a shell text: the simple commands of shfmt's syntax tree, in the form of ours."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from ostinato.permissions.shell_command import SimpleCommand

SHFMT = Path(sys.executable).with_name("shfmt")
MANY = "\x00many"
"""Stands for a word that braces make several of."""
UNSURE = "\x00unsure"
"""Stands for a word whose text shfmt leaves to others: `$'…'`."""
Node = dict[str, Any]


class Theirs(msgspec.Struct, frozen=True):
    """A simple command as shfmt reads it."""

    argv: tuple[str | None, ...]
    redirects: tuple[tuple[str, str | None], ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()


def shfmt_tree(text: str) -> Node | None:
    """The syntax tree, or None when shfmt does not take the text for bash."""
    done = subprocess.run(
        [SHFMT, "-ln", "bash", "--to-json"], input=text.encode(), capture_output=True, check=False
    )
    return msgspec.json.decode(done.stdout) if done.returncode == 0 else None


def shfmt_commands(tree: Node) -> list[Theirs]:
    """Every simple command in it, and every compound command's redirections as a command without words."""
    return [command for node in _nodes(tree) if (command := _command(node)) is not None]


def _nodes(value: Any) -> Iterator[Node]:
    stack: list[Any] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, dict):
            yield cast("Node", current)
            stack.extend(cast("Node", current).values())
        elif isinstance(current, list):
            stack.extend(cast("list[Any]", current))


def _command(node: Node) -> Theirs | None:
    """The simple command that a statement is, or the redirections of a compound one."""
    if not ("Cmd" in node or "Redirs" in node) or node.get("Type") in {"CmdSubst", "ProcSubst"}:
        return None
    command: Node = node.get("Cmd", {})
    redirects = tuple(_redirect(redirect) for redirect in node.get("Redirs", ()))
    match command.get("Type"):
        case "CallExpr":
            env = tuple(_assignment(assign) for assign in command.get("Assigns", ()))
            return Theirs(tuple(_text(word) for word in command.get("Args", ())), redirects, env)
        case "DeclClause":
            words = tuple(_declared(assign) for assign in command.get("Args", ()))
            return Theirs((command["Variant"]["Value"], *words), redirects)
        case _:
            return Theirs((), redirects) if redirects else None


def _redirect(node: Node) -> tuple[str, str | None]:
    return node["Op"], None if node["Op"] in {"<<", "<<-"} else _text(node["Word"])


def _assignment(node: Node) -> tuple[str, str | None]:
    if node.get("Append") or "Index" in node or "Array" in node:
        return node["Name"]["Value"], None
    return node["Name"]["Value"], _text(node["Value"]) if "Value" in node else ""


def _declared(node: Node) -> str | None:
    if node.get("Naked"):
        return node["Name"]["Value"] if "Name" in node else _text(node["Value"])
    name, value = _assignment(node)
    return None if value is None else value if value in {MANY, UNSURE} else f"{name}={value}"


def _text(word: Node) -> str | None:
    """The static text, None when only running tells it, or one of the marks above."""
    found = ""
    for part in word.get("Parts", ()):
        text = _part(part, in_quotes=False)
        if text is None or text in {MANY, UNSURE}:
            return text
        found += text
    raw = "".join(part["Value"] if part["Type"] == "Lit" else "" for part in word.get("Parts", ()))
    return MANY if "{" in raw and ("," in raw or ".." in raw) else found


def _part(part: Node, *, in_quotes: bool) -> str | None:
    match part["Type"]:
        case "Lit":
            raw: str = part.get("Value", "").replace("\\\n", "")
            escaped = r"\\([$`\"\\])" if in_quotes else r"\\(.)"
            return re.sub(escaped, r"\1", raw, flags=re.DOTALL)
        case "SglQuoted":
            return UNSURE if part.get("Dollar") else part.get("Value", "")
        case "DblQuoted":
            if part.get("Dollar"):
                return None
            texts = [_part(inner, in_quotes=True) for inner in part.get("Parts", ())]
            return None if None in texts else "".join(text or "" for text in texts)
        case _:
            return None


# ------------------------------------------------------------------------------------------------ ours against theirs


def difference(ours: Sequence[SimpleCommand], theirs: Sequence[Theirs]) -> str:
    """What is read differently, "" if nothing is. The order does not matter: each reader has its own."""
    if len(ours) != len(theirs):
        return f"{len(ours)} commands, and {len(theirs)} by shfmt"
    partner: dict[int, int] = {}
    for index, command in enumerate(ours):
        if not _find_partner(index, ours, theirs, partner, set()):
            return f"{command} is in none of {list(theirs)}"
    return ""


def _find_partner(
    index: int,
    ours: Sequence[SimpleCommand],
    theirs: Sequence[Theirs],
    partner: dict[int, int],
    tried: set[int],
) -> bool:
    for place, other in enumerate(theirs):
        if place in tried or not _is_same(ours[index], other):
            continue
        tried.add(place)
        if place not in partner or _find_partner(partner[place], ours, theirs, partner, tried):
            partner[place] = index
            return True
    return False


def _is_same(ours: SimpleCommand, theirs: Theirs) -> bool:
    redirects = [(redirect.operator, redirect.target) for redirect in ours.redirects]
    return (
        _are_words(ours.argv, theirs.argv)
        and len(redirects) == len(theirs.redirects)
        and all(
            a[0] == b[0] and _is_word(a[1], b[1]) for a, b in zip(redirects, theirs.redirects, strict=True)
        )
        and len(ours.env) == len(theirs.env)
        and all(a[0] == b[0] and _is_word(a[1], b[1]) for a, b in zip(ours.env, theirs.env, strict=True))
    )


def _is_word(ours: str | None, theirs: str | None) -> bool:
    """What we call unknown need not be; what we call known must be the same."""
    return ours is None or theirs in {UNSURE, MANY} or ours == theirs


def _are_words(ours: tuple[str | None, ...], theirs: tuple[str | None, ...]) -> bool:
    if not theirs or not ours:
        return not ours and all(word == MANY for word in theirs)
    if theirs[0] == MANY:
        return any(_are_words(ours[count:], theirs[1:]) for count in range(len(ours) + 1))
    return _is_word(ours[0], theirs[0]) and _are_words(ours[1:], theirs[1:])
