"""What is a secret, said once: by the name of a variable or a setting, or by what a value looks like; and text without secrets.

Promise: a key in use, a password in an address and the values of headers are found wherever they stand in a text.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

MASK: Final = "[masked]"
MIN_SECRET_CHARACTERS: Final = 6
"""A shorter value would be found everywhere in ordinary text."""

SECRET_PARTS: Final = frozenset({
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "SECRET",
    "SECRETS",
    "TOKEN",
})
"""A part of a name, between underscores, that says what the value is."""

SECRET_NAMES: Final = frozenset({
    "ACCESS_KEY",
    "AUTH",
    "AUTHORIZATION",
    "AWS_ACCESS_KEY_ID",
    "COOKIE",
    "CUSTOM_HEADERS",
    "MYSQL_PWD",
    "PASS",
    "PGPASSWORD",
    "PRIVATE_KEY",
    "SSHPASS",
})
"""Names that hold a secret as a whole."""

SECRET_ENDINGS: Final = (
    "_APIKEY",
    "_AUTH",
    "_AUTHORIZATION",
    "_AUTH_CONFIG",
    "_CONNECTION_STRING",
    "_COOKIE",
    "_DSN",
    "_HEADERS",
    "_KEY",
    "_PASS",
    "_PASSWD",
    "_PASSWORD",
    "_PAT",
    "_PWD",
    "_TOKENS",
    "_WEBHOOK",
    "_WEBHOOK_URL",
)
"""Endings of names that hold a secret: `ANTHROPIC_API_KEY`, `NPM_CONFIG__AUTH`, `DOCKER_AUTH_CONFIG` …"""

NEVER_BY_VALUE: Final = frozenset({
    "HOME",
    "LANG",
    "LOGNAME",
    "OLDPWD",
    "PATH",
    "PWD",
    "SHELL",
    "TMPDIR",
    "USER",
    "VIRTUAL_ENV",
})
"""Names that no command can be without; a folder in them may look like a key."""

PLAIN_HEADERS: Final = frozenset({
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "user-agent",
})
"""Headers that never hold a secret, and whose values stand in ordinary texts."""

_KEY: Final = re.compile(
    r"""(?x) (?<![A-Za-z0-9]) (?: (?:sk|pk|rk)[-_](?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{12,} | sk-(?:ant|proj|or)-[A-Za-z0-9_-]{8,}
    | (?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,} | github_pat_\w{16,} | xox[a-z]-[\w-]{8,} | AKIA[0-9A-Z]{12,} | ASIA[0-9A-Z]{12,}
    | AIza[\w-]{20,} | glpat-[\w-]{12,} | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{16,} | pypi-[\w-]{16,} | dckr_pat_[\w-]{8,}
    | eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)? )"""
)
_SHORT_KEY: Final = r"\b(?:sk|pk|rk|hf|npm|pypi|glpat|github_pat)[-_][A-Za-z0-9_-]{8,}"
"""What may be a key and may be a word; hidden where nothing is lost by hiding too much."""

_LONG: Final = r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=~.-]{32,}"
_IN_SETTING: Final = r"(?i)\b(?:api[-_]?key|token|secret|password)=\S|\beyJ[A-Za-z0-9_-]{10,}"
_SETTING_NAME: Final = r"(?i)key(?!board)|token|secret|passw|passphrase|credential|auth(?!or)|bearer|cookie|private|signature|dsn|pwd"
_BY_NAME: Final = r"""(?ix) ( [\w-]* (?: authorization | api[_-]?key | secret | passwo?r?d | cookie | credentials | (?<![a-z])token )
    ["']? \s* (?: [:=] | ,\s*b?["'] | \s ) \s* b?["']? (?: (?:bearer|basic|token) \s+ )? )  ( [^\s"',;{}()]{4,} )"""
_BEARER: Final = r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"
_USER_IN_ADDRESS: Final = r"(?<=://)[^/\s@:]+(?::[^/\s@]*)?@"
_OTHER_SECRET: Final = re.compile(
    r"""(?ix) -----BEGIN | \b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,} | "auth"\s*:\s*"
    | (?:^|[;&?\s])(?:password|passwd|pwd|accountkey|sharedaccesskey|api[-_]?key|token|secret)=[^;&\s]{4,}"""
)
_IN_ADDRESS: Final = re.compile(r"://([^/\s:@]*):([^/\s@]+)@")


def looks_secret(name: str) -> bool:
    """Whether a variable of this name is likely to hold a secret; upper and lower case count the same.

    `SSH_AUTH_SOCK` is none: it lends the use of keys to who may open it, and shows none of them.
    """
    upper = name.upper()
    parts = upper.split("_")
    return (
        upper in SECRET_NAMES
        or upper.endswith(SECRET_ENDINGS)
        or "API_KEY" in upper
        or not SECRET_PARTS.isdisjoint(parts)
    )


def holds_secret(value: str) -> bool:
    """Whether the value looks like one, whatever its name: a known form of key, an address with a password in it."""
    return any(pattern.search(value) for pattern in (_IN_ADDRESS, _KEY, _OTHER_SECRET))


def may_be_secret(key: str, value: str) -> bool:
    """Whether a setting should rather not be shown, by its whole key or its value; better one too many than one too few."""
    return (
        re.search(_SETTING_NAME, key) is not None
        or looks_secret(key.rsplit(".", 1)[-1])
        or holds_secret(value)
        or re.search(_IN_SETTING, value) is not None
        or re.search(_SHORT_KEY, value) is not None
        or re.fullmatch(_LONG, value) is not None
    )


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must not be shown, the longest first: one may hold another."""
    found: set[str] = set()
    for name, value in environment.items():
        if looks_secret(name):
            found |= {value, *_header_values(name, value)}
        for match in _IN_ADDRESS.finditer(value):
            found |= {match[2], unquote(match[2])}
        if name.upper() not in NEVER_BY_VALUE:
            found |= {match[0] for match in _KEY.finditer(value)}
    return usable_secrets(found)


def usable_secrets(values: Iterable[str]) -> tuple[str, ...]:
    """Those that can be masked in a text, the longest first."""
    stripped = {value.strip() for value in values}
    return tuple(
        sorted((value for value in stripped if len(value) >= MIN_SECRET_CHARACTERS), key=len, reverse=True)
    )


def header_secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """What of these headers nobody should read: each value, and what follows `Bearer` in it."""
    return usable_secrets(
        part
        for name, value in headers.items()
        if name.lower() not in PLAIN_HEADERS
        for part in (value, value.partition(" ")[2])
    )


def masked(text: str, secrets: Iterable[str]) -> str:
    """`text` without these values, and without what has the form of a key."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _KEY.sub(MASK, text)


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """`masked`, and without whatever a name before it, or its form, says is secret; for logs, where one too many does no harm."""
    text = re.sub(_SHORT_KEY, MASK, masked(text, known))
    text = re.sub(_BEARER, lambda match: f"{match[1]} {MASK}", text)
    text = re.sub(_USER_IN_ADDRESS, f"{MASK}@", text)
    return re.sub(_BY_NAME, lambda match: match[0] if MASK in match[0] else match[1] + MASK, text)


def _header_values(name: str, value: str) -> tuple[str, ...]:
    """The values of `Name: value` lines and of `name=value,…`, which a server or a log shows one by one."""
    if not name.upper().endswith("HEADERS"):
        return ()
    pairs = (re.split(r"[:=]", line, maxsplit=1) for line in re.split(r"[\n,]", value))
    return tuple(pair[1].strip() for pair in pairs if len(pair) == 2)
