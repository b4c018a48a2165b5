"""Programs that run what some of their words say and are no wrappers that are read: runners, other shells, texts with commands.

Promise: a deny or ask rule for a command that stands there makes a question of it; what a program does of itself is not told.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Final

from ostinato.permissions.name_set import names
from ostinato.permissions.rule_matching import command_matches, raw_text_matches
from ostinato.permissions.rules import Rule
from ostinato.permissions.shell_command import SimpleCommand
from ostinato.permissions.wrappers import INTERPRETER, program_name

_ANY: Final = frozenset[str]()

RUNNERS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        names(
            "npx bunx uvx pipx strace ltrace taskset unshare flock script su parallel systemd-run fakeroot proot ssh nsenter bwrap"
            " firejail setpriv runuser chrt numactl prlimit entr gdb lldb tmux screen at batch expect toybox pkexec dbus-run-session"
            " xvfb-run faketime start-stop-daemon concurrently cross-env dotenv doppler nix-shell direnv csh tcsh fish nu pwsh xonsh rc"
            " awk gawk mawk nawk sed tar bsdtar rsync man less more vi vim nvim view ex ed emacs split zip crontab sort rg make"
        ),
        _ANY,
    ),
    **dict.fromkeys(names("npm pnpm yarn bun bundle mise asdf"), frozenset({"exec", "dlx"})),
    **dict.fromkeys(names("docker podman kubectl"), frozenset({"exec", "run"})),
    **dict.fromkeys(
        names("uv poetry pipenv hatch pdm rye conda mamba micromamba op nix"),
        frozenset({"run", "develop", "shell"}),
    ),
    "git": frozenset({
        "bisect",
        "rebase",
        "submodule",
        "filter-branch",
        "filter-repo",
        "difftool",
        "mergetool",
        "ls-remote",
        "clone",
    }),
}
"""The program, and the words of which one must be there for it to run others; none: always."""

_GIT_OPTIONS: Final = names("-c --config-env --exec --upload-pack --receive-pack")


def may_be_passed_on(rule: Rule, command: SimpleCommand) -> bool:
    """Whether the command that the rule is about stands among the words that this program may run."""
    if not command.argv or command.argv[0] is None:
        return False
    name, words = program_name(command.argv[0]), command.argv[1:]
    if not _runs_words(name, words):
        return False
    if any(raw_text_matches(rule, word) for word in _texts(words)):
        return True
    first = 1 if name != "git" else 2  # `git rm` is git's own
    return any(
        command_matches(rule, SimpleCommand(command.argv[index:]))
        for index in range(first, len(command.argv))
    )


def _runs_words(name: str, words: tuple[str | None, ...]) -> bool:
    if INTERPRETER.fullmatch(name) and name not in RUNNERS:
        return True
    wanted = RUNNERS.get(name)
    if name == "git" and not _GIT_OPTIONS.isdisjoint(_names(words)):
        return True
    is_short_exec = words[:1] == ("x",)  # `npm x`
    return wanted is not None and (not wanted or is_short_exec or not wanted.isdisjoint(words))


def _names(words: tuple[str | None, ...]) -> frozenset[str]:
    return frozenset(word.partition("=")[0] for word in words if word is not None)


def _texts(words: tuple[str | None, ...]) -> tuple[str, ...]:
    """Words that could be more than a name: with a blank or a sign in them, and what follows `=` or `ext::`."""
    known = [word for word in words if word is not None]
    values = (word.partition(sign)[2] for sign in ("=", "::") for word in known if sign in word)
    return tuple(chain((word for word in known if not word.isidentifier()), values))
