"""The environment a child process gets: no secrets of ours, nobody to ask, no pager to wait in, and nothing by which the
environment runs code of its own or changes how the shell reads.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

UNATTENDED: Final = MappingProxyType({
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GH_PAGER": "cat",
    "AWS_PAGER": "cat",
    "BAT_PAGER": "cat",
    "DELTA_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "GH_PROMPT_DISABLED": "1",
    "COMPOSER_NO_INTERACTION": "1",
    "DEBCONF_NONINTERACTIVE_SEEN": "true",
    "APT_LISTCHANGES_FRONTEND": "none",
    "NEEDRESTART_MODE": "l",
    "TERM": "dumb",
})
"""Pagers print, editors fail at once (a commit without a message must not open one), prompts get no answer.

`NO_COLOR` and `CI` stay as they are: `TERM=dumb` already turns colour off, and both change what test suites do.
"""

STEERING_NAMES: Final = frozenset({
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "BASHOPTS",
    "CDPATH",
    "ENV",
    "GLOBIGNORE",
    "IFS",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
})
"""They make a shell run something first, `cd` go elsewhere, or words mean something else: then what was read and judged
is not what runs."""

STEERING_BEGINNINGS: Final = ("BASH_FUNC_",)
"""Exported functions, which stand before programs of the same name."""

QUIET_GIT: Final = MappingProxyType({
    "core.fsmonitor": "false",
    "safe.bareRepository": "explicit",
    "log.showSignature": "false",
})
"""Settings by which a repository's own configuration cannot start a program when git only looks, and no folder that
merely looks like a bare repository counts as one."""


class ChildEnvironment(Mapping[str, str]):
    """`child_environment(base)`, looked through when a first child is started: a conversation may start none."""

    def __init__(self, base: Mapping[str, str]) -> None:
        self._base = dict(base)

    @cached_property
    def _found(self) -> Mapping[str, str]:
        return child_environment(self._base)

    def __getitem__(self, name: str) -> str:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def child_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without what looks like a secret, by its name or its value, or steers a shell, made unattended; `PATH`, `HOME`
    and the rest stay.

    A caller that wants a child to have a secret adds it to the result by name.
    """
    kept = {
        name: value for name, value in base.items() if not (_is_secret(name, value) or steers_shell(name))
    }
    # git counts these, and fails where one is missing.
    kept |= {name: "" for name in base if name.startswith("GIT_CONFIG_VALUE_") and name not in kept}
    kept |= {
        name: "withheld.setting" for name in base if name.startswith("GIT_CONFIG_KEY_") and name not in kept
    }
    if "PATH" in kept:
        kept["PATH"] = _without_working_folder(kept["PATH"])
    return kept | UNATTENDED | _quiet_git(base)


def _is_secret(name: str, value: str) -> bool:
    from ostinato.secret_values import NEVER_BY_VALUE, holds_secret, looks_secret  # ruff: ignore[import-outside-top-level] - its many patterns load with a first child

    return looks_secret(name) or (name.upper() not in NEVER_BY_VALUE and holds_secret(value))


def _without_working_folder(path: str) -> str:
    """The PATH without the working folder (`.`, or nothing between two colons): a file there that is called `ls` is no `ls`."""
    return ":".join(
        folder for folder in path.split(":") if folder.rstrip("/") not in {"", "."} or folder == "/"
    )


def steers_shell(name: str) -> bool:
    """Whether a shell that finds this variable behaves otherwise than its text says."""
    return name in STEERING_NAMES or name.startswith(STEERING_BEGINNINGS)


def _quiet_git(base: Mapping[str, str]) -> dict[str, str]:
    """git's settings by environment, behind those that are already there: of equal ones the last counts."""
    given = base.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() and len(given) < 4 else 0
    settings = {"GIT_CONFIG_COUNT": str(first + len(QUIET_GIT)), "GIT_OPTIONAL_LOCKS": "0"}
    for index, (name, value) in enumerate(QUIET_GIT.items(), start=first):
        settings |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return settings
