"""What the outside may ask of a running conversation."""

from typing import Literal

import msgspec

from ostinato.records import PromptMode, QueuePriority

AbortReason = Literal["user", "interrupt", "timeout", "terminated", "consumer_left", "budget", "denied"]
"""Why a query stops early. `interrupt`: a new message follows and explains itself."""


class QueuedPrompt(msgspec.Struct, frozen=True):
    """A text that waits for its turn. The message that it becomes has the same `uuid`."""

    uuid: str
    text: str
    priority: QueuePriority = "next"
    mode: PromptMode = "prompt"
