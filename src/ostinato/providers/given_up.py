"""What a model's requests do without, because its server refused it: left out, or under its other name.

Which parameters a model takes is known only in part. Each is given up at most once, so this ends. What carries meaning
(messages, tools) is never given up.
"""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

OTHER_NAMES: Mapping[str, str] = MappingProxyType({
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
})


class GivenUp:
    """What one model's requests do without. `optional` may be left out (`a.b` is the field `b` of `a`); what has another
    name goes under that."""

    def __init__(self, optional: frozenset[str]) -> None:
        self._optional = optional
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def give_up(self, name: str, *, sent: bytes = b"") -> bool:
        """Whether the next request will be another one than the body `sent`, which was refused for `name`."""
        wanted = name if name in self._optional else name.partition(".")[0]
        if wanted not in self._optional and wanted not in OTHER_NAMES:
            return False
        if wanted in self._names:
            return _holds(sent, wanted)  # another request was refused while this one was under way
        if OTHER_NAMES.get(wanted) in self._names:
            return False  # neither name is taken: there is nothing left to try
        self._names.add(wanted)
        return True

    def name_of(self, name: str) -> str:
        """The name under which `name` is sent."""
        return OTHER_NAMES[name] if name in self._names and name in OTHER_NAMES else name


def _holds(body: bytes, name: str) -> bool:
    """Whether a request body has the field `name` (`a.b` is the field `b` of `a`)."""
    outer, _, inner = name.partition(".")
    try:
        field = msgspec.json.decode(body, type=dict[str, msgspec.Raw]).get(outer)
    except msgspec.DecodeError:
        return False
    if field is None or not inner:
        return field is not None
    return _holds(bytes(field), inner)
