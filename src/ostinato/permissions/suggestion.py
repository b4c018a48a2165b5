"""Which rules would have answered the question: one for each command that is still open, no wider than it shows.

Promise: nothing is suggested for what cannot be proven, for programs that run other text, or for protected paths.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from ostinato.permissions.call_paths import CallPaths
from ostinato.permissions.name_set import names
from ostinato.permissions.path_rules import path_rules
from ostinato.permissions.rule_matching import PAYLOADS, PLAIN_WORD, command_text
from ostinato.permissions.rules import EDIT_TOOLS, READ_TOOLS
from ostinato.permissions.running_options import unshown_words
from ostinato.permissions.shell_command import Unprovable
from ostinato.permissions.shell_effects import CommandEffects
from ostinato.permissions.wrappers import FORMS, TRANSPARENT
from ostinato.web_host import host_of

SUBCOMMAND_PROGRAMS = names(
    "git npm pnpm yarn bun deno cargo go uv pip pip3 poetry pdm hatch docker podman kubectl helm gh glab make just task"
    " dotnet mvn gradle terraform brew apt systemctl rustup conda bundle rake composer mix"
)
SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
HOST = re.compile(r"[a-z0-9:][a-z0-9.:-]*", re.ASCII)
"""What a rule can name without a wildcard in it."""

NESTED_NAME = re.compile(r"\w[\w:.-]*", re.ASCII)
CONTAINERS = frozenset({"docker", "podman", "kubectl"})
"""What these run is the whole of their words, not the next one."""
NESTED = frozenset({"run", "compose", "exec"})


def suggest_rules(paths: CallPaths, *, is_settled: Callable[[CommandEffects], bool]) -> tuple[str, ...]:
    """Rules, as text for settings, that would allow this call from now on; empty when no honest rule would."""
    call = paths.call
    if paths.read_protection() is not None:
        return ()
    if call.shell is not None:
        return () if isinstance(call.shell, Unprovable) else _for_shell(paths, is_settled)
    if paths.protection(paths.writes()) is not None:
        return ()
    if call.tool_name in READ_TOOLS and call.reads:
        return _for_paths(call.reads, "Read", paths)
    if call.tool_name in EDIT_TOOLS and call.writes:
        return _for_paths(call.writes, "Edit", paths)
    if call.tool_name == "WebFetch":
        return _for_host(str(call.input.get("url", "")))
    return (call.tool_name,)


def _for_host(url: str) -> tuple[str, ...]:
    try:
        host = host_of(urlsplit(url.strip()))
    except ValueError:
        return ()
    return (f"WebFetch(domain:{host})",) if HOST.fullmatch(host) else ()


def _for_paths(touched: Iterable[Path], tool: str, paths: CallPaths) -> tuple[str, ...]:
    found = [path_rules(path, tool, paths) for path in touched]
    return () if () in found else tuple(dict.fromkeys(rule for rules in found for rule in rules))


def _for_shell(paths: CallPaths, is_settled: Callable[[CommandEffects], bool]) -> tuple[str, ...]:
    found: list[str] = []
    for effect in paths.effects:
        if is_settled(effect):
            continue
        rule = _for_command(effect, paths)
        if rule is None:
            return ()
        found.append(rule)
    return tuple(dict.fromkeys(found))


def _for_command(effect: CommandEffects, paths: CallPaths) -> str | None:
    """One rule, or None when the command is unproven, writes elsewhere by a redirection, or is protected."""
    touched = (*effect.writes, *effect.mentions)
    if (
        effect.problem
        or not set(effect.redirected) <= set(effect.optioned)
        or effect.changes_git_settings
        or paths.protection(touched) is not None
    ):
        return None
    if any(link.argv[0] not in TRANSPARENT for link in effect.chain[:-1]):
        return None
    argv = effect.chain[-1].argv
    program = argv[0] if argv else None
    if program is None or program in FORMS or not PLAIN_WORD.fullmatch(program):
        return None
    if program in PAYLOADS and program != "git" and not _names_a_script(argv):
        return None  # it would run whatever is piped into it
    prefix = _subcommand_prefix(argv)
    is_wider = bool(effect.optioned or unshown_words(effect.chain[-1]))
    if prefix is not None and not is_wider:
        return f"Bash({prefix}:*)"
    text = command_text(effect.chain[-1])
    is_exact = None not in argv and "*" not in text and "\n" not in text
    return f"Bash({text})" if is_exact else None


def _names_a_script(argv: tuple[str | None, ...]) -> bool:
    return any(word is not None and not word.startswith("-") for word in argv[1:])


def _subcommand_prefix(argv: tuple[str | None, ...]) -> str | None:
    if argv[0] not in SUBCOMMAND_PROGRAMS or len(argv) < 2 or not SUBCOMMAND.fullmatch(argv[1] or ""):
        return None
    words = [argv[0], argv[1]]
    if argv[1] in NESTED:
        if (
            argv[0] in CONTAINERS
            or len(argv) < 3
            or not NESTED_NAME.fullmatch(argv[2] or "")
            or argv[2] in PAYLOADS
        ):
            return None
        words.append(argv[2])
    return " ".join(word or "" for word in words)
