"""What a project may set before anyone trusted it: deny and ask rules, which can only take rights away. All else waits.

Promise: taken file by file and before merging, so that what waits cannot even hide a value of the user's.
"""

from collections.abc import Sequence

import msgspec

from ostinato.config.keys import SETTINGS
from ostinato.config.merge import Document, leaves, merge
from ostinato.config.shape import Fields, is_object
from ostinato.config.source import PROJECT_LEVELS, Sourced


class Split(msgspec.Struct, frozen=True):
    """`acting`: the documents that count now. `withheld`: key and value of everything that waits for trust."""

    acting: tuple[Document, ...]
    withheld: tuple[tuple[str, Sourced[object]], ...]


def acting_parts(documents: Sequence[Document]) -> Split:
    """The documents as they count while the project is not trusted. Order is kept."""
    acting: list[Document] = []
    withheld: list[Document] = []
    for document in documents:
        if document.source.level not in PROJECT_LEVELS:
            acting.append(document)
            continue
        kept = _restrictions(SETTINGS, document.data)
        if kept:
            acting.append(Document(document.source, kept))
        withheld.append(Document(document.source, _rest(SETTINGS, document.data)))
    waiting = [leaf for document in withheld for leaf in leaves(merge((document,)))]
    return Split(tuple(acting), tuple(waiting))


def _restrictions(fields: Fields, data: object) -> dict[str, object]:
    kept: dict[str, object] = {}
    if not is_object(data):
        return kept
    for key in fields.keys:
        value = data.get(key.name)
        if isinstance(key.shape, Fields):
            below = _restrictions(key.shape, value)
            if below:
                kept[key.name] = below
        elif key.restricts and value is not None:
            kept[key.name] = value
    return kept


def _rest(fields: Fields, data: object) -> dict[str, object]:
    """What `_restrictions` leaves."""
    if not is_object(data):
        return {}
    known = {key.name: key for key in fields.keys}
    rest: dict[str, object] = {}
    for name, value in data.items():
        key = known.get(name)
        if key is not None and isinstance(key.shape, Fields):
            rest[name] = _rest(key.shape, value)
        elif (key is None or not key.restricts) and name != "$schema":
            rest[name] = value
    return rest
