"""Does this rule cover this use of a tool? Names, parameters, hosts, paths and shell commands, each in one function."""

import re
import sys
import unicodedata
from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from ostinato.permissions.rules import CONTENT_PARAMETERS, EDIT_TOOLS, READ_TOOLS, Rule
from ostinato.permissions.running_options import unshown_words
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.wildcard import path_matches, path_may_match, text_matches
from ostinato.permissions.wrappers import program_name
from ostinato.web_host import host_name, host_of

PLAIN_WORD = re.compile(r"[^\s'\"\\$`;&|<>()#]+")
UNKNOWN = "\x00"
"""Stands for a word that is not static: a rule's text cannot hold it, so only a wildcard covers it."""
FOLDS_CASE = sys.platform in {"darwin", "win32"}
"""Whether the usual file systems take `SECRET` and `secret` for one name, and both ways to write an accent."""
PAYLOADS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"-c", "--config-env", "--exec-path"}),
    "node": frozenset({"-e", "-p", "--eval", "--print", "-pe", "-r", "--require", "--import"}),
    "perl": frozenset({"-e", "-E"}),
    "ruby": frozenset({"-e"}),
    "php": frozenset({"-r"}),
} | dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "python", "python3", "pypy3"), frozenset({"-c"}))
"""Options that hand a program text to run: a prefix rule covers them only if it spells them out."""

VALUE_OPTIONS = frozenset({
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "-W",
    "-X",
    "-I",
    "-o",
    "-O",
    "-r",
})
"""Options of the programs above whose value is the next word."""


def name_matches(rule: Rule, tool_name: str) -> bool:
    """Whether the rule is about this tool at all. `mcp__server` covers every tool of the server."""
    if rule.tool == tool_name:
        return True
    if "*" in rule.tool:
        return fnmatchcase(tool_name, rule.tool)
    if rule.tool in {"Agent", "Task"} and tool_name in {"Agent", "Task"}:
        return True
    return (
        rule.tool.startswith("mcp__")
        and rule.tool.count("__") == 1
        and tool_name.startswith(rule.tool + "__")
    )


def covers_paths_of(rule: Rule, tool_name: str) -> bool:
    """Whether a rule for `Read` or `Edit` is also about this tool."""
    return (rule.tool == "Read" and tool_name in READ_TOOLS) or (
        rule.tool == "Edit" and tool_name in EDIT_TOOLS
    )


def input_matches(rule: Rule, tool_input: Mapping[str, Any]) -> bool:
    """Rules with a spec on tools that are neither shells nor files: hosts, agents, skills, `parameter:value`."""
    spec = rule.spec or ""
    if rule.tool == "WebFetch":
        return host_matches(spec.removeprefix("domain:"), str(tool_input.get("url", "")))
    if rule.tool in {"Agent", "Task"}:
        return text_matches(spec, str(tool_input.get("subagent_type", "")))
    if rule.tool == "Skill":
        return text_matches(spec, str(tool_input.get("skill", "")))
    parameter, _, wanted = spec.partition(":")
    value: object = tool_input.get(parameter)
    if not isinstance(value, str | int | float | bool) or parameter == CONTENT_PARAMETERS.get(rule.tool):
        return False
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return text_matches(wanted, shown)


def host_matches(pattern: str, url: str) -> bool:
    """`*.example.org` covers subdomains of any depth; another `*` stays within one label."""
    try:
        host = host_of(urlsplit(url.strip()))
    except ValueError:
        return False
    labels, wanted = host.split("."), _host_pattern(pattern).split(".")
    if wanted[0] == "*" and len(wanted) > 1:
        tail = wanted[1:]
        return len(labels) > len(tail) and _labels_match(tail, labels[-len(tail) :])
    return len(labels) == len(wanted) and _labels_match(wanted, labels)


def _host_pattern(pattern: str) -> str:
    """Written as hosts are called, label by label where some are open."""
    labels = pattern.split(".") if "*" in pattern else [pattern.strip("[]")]
    try:
        return ".".join(label.lower() if "*" in label else host_name(label) for label in labels)
    except ValueError:
        return pattern.lower()


def _labels_match(wanted: list[str], labels: list[str]) -> bool:
    return all(text_matches(pattern, label) for pattern, label in zip(wanted, labels, strict=True))


# -- paths


def path_rule_matches(
    rule: Rule, path: Path, *, cwd: Path, home: Path, folds_case: bool = FOLDS_CASE
) -> bool:
    """Whether the rule's pattern covers an absolute path. `//a` is absolute, `~/a` in the home folder, `/a` from the
    rule's anchor, `a` from the working folder. One name without a slash is found at any depth by deny and ask
    rules, and at the working folder only by allow rules (unless it is a wildcard of files).

    `folds_case`: deny and ask rules cover a name however it is written, as the file system does."""
    base, pattern = _anchored(rule, cwd=cwd, home=home)
    if folds_case and rule.behaviour != "allow":
        base, path, pattern = Path(_folded(str(base))), Path(_folded(str(path))), _folded(pattern)
    parts = _parts_of(pattern)
    if not path.is_relative_to(base) or ".." in parts:
        return False
    return path_matches(parts, path.relative_to(base).parts)


def path_rule_reaches(
    rule: Rule, folder: Path, *, cwd: Path, home: Path, folds_case: bool = FOLDS_CASE
) -> bool:
    """Whether the rule's pattern covers the folder, or may cover something below it."""
    base, pattern = _anchored(rule, cwd=cwd, home=home)
    if folds_case and rule.behaviour != "allow":
        base, folder, pattern = Path(_folded(str(base))), Path(_folded(str(folder))), _folded(pattern)
    parts = _parts_of(pattern)
    if folder.is_relative_to(base):
        return path_may_match(parts, folder.relative_to(base).parts)
    return base.is_relative_to(folder)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold())


def fixed_place(rule: Rule, *, cwd: Path, home: Path) -> Path:
    """The folder or file below which everything lies that the rule's pattern covers."""
    base, pattern = _anchored(rule, cwd=cwd, home=home)
    fixed = takewhile(lambda part: not set(part) & set("*?["), _parts_of(pattern))
    return base.joinpath(*fixed)


def _parts_of(pattern: str) -> tuple[str, ...]:
    return tuple(part for part in PurePath(pattern).parts if part not in {"/", "."})


def _anchored(rule: Rule, *, cwd: Path, home: Path) -> tuple[Path, str]:
    spec = rule.spec or "**"
    if spec.startswith("//"):
        return Path("/"), spec[2:]
    if spec.startswith("~/"):
        return home, spec[2:]
    if spec.startswith("/"):
        return rule.anchor or cwd, spec[1:]
    if spec.startswith("./"):
        return cwd, spec[2:]
    name = spec.removesuffix("/**").removesuffix("/")
    is_one_name = "/" not in name
    is_anywhere = is_one_name and (rule.behaviour != "allow" or (name == spec and "*" in name))
    return cwd, f"**/{spec}" if is_anywhere else spec


# -- shell commands


def command_matches(rule: Rule, command: SimpleCommand) -> bool:
    """Whether the rule's spec covers one simple command. Deny and ask rules also try the words joined by blanks."""
    if not command.argv:
        return False
    spec = rule.spec or "*"
    if rule.behaviour == "allow":
        return _spec_matches(spec, command_text(command)) and not _has_hidden_payload(spec, command)
    variants = {command_text(command), " ".join(UNKNOWN if word is None else word for word in command.argv)}
    named = command.argv[0]
    if named is not None and "/" in named:
        variants |= {program_name(named) + text[len(named) :] for text in variants if text.startswith(named)}
    return any(_spec_matches(each, text) for each in (spec, _by_name(spec)) for text in variants)


def command_may_match(rule: Rule, command: SimpleCommand) -> bool:
    """Whether a deny or ask rule could cover the command once its non-static words are known (a superset)."""
    if None not in command.argv or not command.argv:
        return False
    known = command_text(command).split(UNKNOWN)[0].rstrip()
    named = known[known.find(" ") if " " in known else len(known) :]
    known_by_name = program_name(known[: len(known) - len(named)]) + named
    for spec in (rule.spec or "*", _by_name(rule.spec or "*")):
        fixed = spec.removesuffix(":*").split("*")[0].rstrip()
        if any(fixed.startswith(text) or text.startswith(fixed) for text in (known, known_by_name)):
            return True
    return False


def _by_name(spec: str) -> str:
    """`/usr/bin/rm:*` as `rm:*`: a deny rule for a program's file means the program, however it is called."""
    end = re.search(r"[\s:*]|$", spec)
    first = spec[: end.start()] if end else spec
    return program_name(first) + spec[len(first) :] if "/" in first and not first.endswith("/") else spec


def raw_text_matches(rule: Rule, text: str) -> bool:
    """Deny and ask rules on a text that could not be read: the pattern may stand anywhere a word could start."""
    spec = _by_name(rule.spec or "*").removesuffix(":*").removesuffix(" *").strip()
    pieces = [re.escape(" ".join(piece.split())) for piece in spec.split("*")]
    pattern = r"(?:^|[\s;&|(){`'\"/=!])" + pieces[0]
    if not re.search(pattern, " ".join(text.split())):
        return False
    return all(piece.strip() in " ".join(text.split()) for piece in spec.split("*"))


def command_text(command: SimpleCommand) -> str:
    """The command as one line: words joined by blanks, unusual ones in quotes, non-static ones as `UNKNOWN`."""
    return " ".join(UNKNOWN if word is None else quoted(word) for word in command.argv)


def quoted(word: str) -> str:
    if PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _spec_matches(spec: str, text: str) -> bool:
    prefix = spec.removesuffix(":*") if spec.endswith(":*") else spec.removesuffix(" *")
    if prefix != spec:
        return text_matches(prefix, text) or text_matches(prefix + " *", text)
    return text_matches(spec, text) or ("*" not in spec and text_matches(_requoted(spec), text))


def _requoted(spec: str) -> str:
    """An exact rule that was written with double quotes, in the quotes that `command_text` uses."""
    return re.sub(r'"([^"\\$`\']*)"', lambda match: quoted(match[1]), spec)


def _has_hidden_payload(spec: str, command: SimpleCommand) -> bool:
    """Whether a wildcard, not the rule's own words, would cover an option that carries a program's text."""
    if "*" not in spec:
        return False
    spelt = spec.split("*")[0].removesuffix(":").split()
    if any(word is None or word not in spelt for word in unshown_words(command)):
        return True
    program = program_name(command.argv[0] or "")
    options = PAYLOADS.get(program) or PAYLOADS.get(re.sub(r"[0-9.]+$", "", program), frozenset[str]())
    shown = frozenset(spelt)
    leading = _leading_options(command.argv) if options else ()
    return any(_is_payload(word, options) and word not in shown for word in leading)


def _leading_options(argv: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The words before the script, module or subcommand: only there is `-c` the program's own."""
    found: list[str | None] = []
    for before, word in pairwise(argv):
        is_value = before in VALUE_OPTIONS and word is not None and not word.startswith("-")
        if word is not None and not is_value and (not word.startswith("-") or word in {"-", "--", "-m"}):
            break
        if not is_value:
            found.append(word)
    return tuple(found)


def _is_payload(word: str | None, options: frozenset[str]) -> bool:
    """`-c`, `-cTEXT`, `-xc`, `--eval=TEXT`; a non-static word of such a program may be one."""
    if word is None:
        return True
    if word.startswith("--"):
        return word.partition("=")[0] in options
    letters = {option[1:] for option in options if len(option) == 2}
    return word.startswith("-") and len(word) > 1 and any(letter in word[1:] for letter in letters)
