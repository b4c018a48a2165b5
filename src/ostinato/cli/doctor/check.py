"""One line of a doctor's report, and what a person sees of a key."""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Status = Literal["ok", "warn", "fail"]

MIN_SHOWN_KEY_CHARACTERS: Final = 20
"""Of a shorter key even four characters would be too much."""


class Check(msgspec.Struct, frozen=True):
    """`warn`: it works, but something is missing or odd. `fail`: a conversation would not work. `hint` is for both."""

    name: str
    status: Status
    text: str
    hint: str = ""


def masked_key(key: str) -> str:
    """Enough of a key to know which one it is."""
    return f"…{key[-4:]}" if len(key) >= MIN_SHOWN_KEY_CHARACTERS else "set"


def variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name, "").strip()
