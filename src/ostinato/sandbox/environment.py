"""The environment a child process gets: no secrets of ours, nobody to ask, no pager to wait in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SECRET_NAMES: Final = frozenset({
    "API_KEY",
    "MYSQL_PWD",
    "PASSWORD",
    "PGPASSWORD",
    "SECRET",
    "TOKEN",
    "AWS_ACCESS_KEY_ID",
})
"""Names that hold a secret as a whole."""

SECRET_ENDINGS: Final = (
    "_API_KEY",
    "_APIKEY",
    "_ACCESS_KEY",
    "_AUTH",
    "_AUTH_KEY",
    "_CREDENTIALS",
    "_PASSWD",
    "_PASSWORD",
    "_PRIVATE_KEY",
    "_SECRET",
    "_SECRET_KEY",
    "_TOKEN",
)
"""Endings of names that hold a secret: `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`, `GITHUB_TOKEN`, `DB_PASSWORD` …"""

UNATTENDED: Final = MappingProxyType({
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
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
    "TERM": "dumb",
})
"""Pagers print, editors fail at once (a commit without a message must not open one), prompts get no answer.

`NO_COLOR` and `CI` stay as they are: `TERM=dumb` already turns colour off, and both change what test suites do.
"""


def child_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without names that look like secrets, made unattended; `PATH`, `HOME` and the rest stay.

    A caller that wants a child to have a secret adds it to the result by name.
    """
    kept = {name: value for name, value in base.items() if not looks_secret(name)}
    return kept | UNATTENDED


def looks_secret(name: str) -> bool:
    """Whether a variable of this name is likely to hold a secret; upper and lower case count the same."""
    upper = name.upper()
    return upper in SECRET_NAMES or upper.endswith(SECRET_ENDINGS)
