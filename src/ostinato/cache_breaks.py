"""When a provider reads less from its prompt cache than it should: what is looked at after a reply, and what was found. The contract
between the loop, which tells of it, and the one who watches.
"""

from typing import Final, Literal, Protocol

import msgspec

from ostinato.history import History
from ostinato.messages import Usage
from ostinato.ports import ModelFacts, ModelRequest

KEPT_S: Final = 300.0
"""For so long after its last use the cache is kept; what we mark asks for no longer."""

CacheBreakCause = Literal[
    "model",
    "thinking",
    "tools",
    "system",
    "instructions",
    "messages",
    "edit",
    "compaction",
    "time",
    "server",
]
"""What was not as it was when the cache was written. `messages`: something that was sent before has changed, and no record says why.
`time`: the provider keeps it no longer. `server`: nothing that is known here.
"""

NO_FAULT: Final[frozenset[CacheBreakCause]] = frozenset({
    "model",
    "thinking",
    "edit",
    "compaction",
    "time",
    "server",
})
"""Somebody wanted these, or nobody here can help them; the others are worth a warning."""


class Replied(msgspec.Struct, frozen=True):
    """A reply that is complete, the request that it answers, built from `messages`, and when that began (monotonic seconds)."""

    response_id: str
    model: ModelFacts
    request: ModelRequest
    messages: History
    usage: Usage
    began_s: float


class CacheBreak(msgspec.Struct, frozen=True):
    """`expected_tokens` were in the cache after the reply before, `read_tokens` of them were read. `what` names what changed: tools,
    a model; `edits` are the ids of the records that changed it. `also`: what else had changed at the same time, and what that
    was; none beside another model, since that has a cache of its own.
    """

    cause: CacheBreakCause
    expected_tokens: int
    read_tokens: int
    what: str = ""
    edits: tuple[str, ...] = ()
    also: tuple[tuple[CacheBreakCause, str], ...] = ()


class WatchCache(Protocol):
    def __call__(self, replied: Replied, /) -> CacheBreak | None:
        """To be asked after every complete reply of a conversation. None if all is as it should be, or nothing is known."""
        ...
