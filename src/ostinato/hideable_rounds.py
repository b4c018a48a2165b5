"""Old rounds that the model may ask to have hidden, under short names that it can say: shared by the stage that knows the
conversation, the tool that is asked, and the reminder that tells of them.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

TOOL_NAME: Final = "Snip"
NAME_CHARACTERS: Final = 6
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class HideableRound(msgspec.Struct, frozen=True):
    """`what` names its calls; `tokens` by estimate."""

    name: str
    what: str
    tokens: int


class Offer(msgspec.Struct, frozen=True):
    """What is worth telling the model of now; `key` says how full the window was, so that it is told once."""

    key: str
    rounds: tuple[HideableRound, ...]


def nothing_to_hide() -> Sequence[HideableRound]:
    return ()


class HideableRounds:
    """Of one conversation. `look` finds them in the view of the newest request; fewer than `least_tokens` are not worth hiding."""

    def __init__(self) -> None:
        self.look: Callable[[], Sequence[HideableRound]] = nothing_to_hide
        self.least_tokens = 0
        self.offer: Offer | None = None


def round_name(uuid: str) -> str:
    """Short, and the same in every run: of the message that the round begins with."""
    number = zlib.crc32(uuid.encode())
    name = ""
    for _ in range(NAME_CHARACTERS):
        number, digit = divmod(number, len(DIGITS))
        name += DIGITS[digit]
    return name
