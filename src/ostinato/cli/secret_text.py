"""Text with what looks like a secret taken out: keys by their form, headers and settings by their name, and the values that
this process was given as secrets. Better one too many than one too few.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ostinato.secret_values import MASK, secret_values

_BY_NAME: Final = re.compile(
    r"""(?ix) ( [\w-]* (?: authorization | api[_-]?key | secret | passwo?r?d | cookie | credentials | (?<![a-z])token )
    ["']? \s* (?: [:=] | ,\s*b?["'] | \s ) \s* b?["']? (?: (?:bearer|basic|token) \s+ )? )  ( [^\s"',;{}()]{4,} )"""
)
_BY_FORM: Final = re.compile(
    r"""(?x) \b (?: sk-[A-Za-z0-9_-]{8,} | (?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,} | github_pat_\w{16,} | xox[a-z]-[\w-]{8,}
    | AKIA[0-9A-Z]{12,} | AIza[\w-]{20,} | glpat-[\w-]{12,} | hf_[A-Za-z0-9]{16,} | npm_[A-Za-z0-9]{16,} | pypi-[\w-]{16,}
    | eyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]*)? )"""
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_IN_ADDRESS: Final = re.compile(r"(?<=://)[^/\s@:]+(?::[^/\s@]*)?@")


def known_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must not be shown, the longest first: one may hold another."""
    return secret_values(environment)


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """`text` with every secret replaced by `MASK`."""
    for secret in known:
        text = text.replace(secret, MASK)
    text = _BY_FORM.sub(MASK, text)
    text = _BEARER.sub(lambda match: f"{match[1]} {MASK}", text)
    text = _IN_ADDRESS.sub(f"{MASK}@", text)
    return _BY_NAME.sub(lambda match: match[0] if MASK in match[0] else match[1] + MASK, text)
