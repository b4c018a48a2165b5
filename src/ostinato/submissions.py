"""What the outside may ask of a running conversation."""

from typing import Literal

import msgspec

AbortReason = Literal["user", "interrupt", "timeout", "terminated", "consumer_left", "budget", "denied"]
"""Why a query stops early. `interrupt`: a new message follows and explains itself."""


class Submission(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """One wish from outside."""


class Prompt(Submission, frozen=True, tag="prompt"):
    uuid: str
    text: str


class Interrupt(Submission, frozen=True, tag="interrupt"):
    reason: AbortReason = "user"
