"""Several files made into one tree, in which every value still knows its file and key.

Single values: the first file that has one wins. Lists add up, without doubles. Objects are merged key by key.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

import msgspec

from ostinato.config.keys import SETTINGS
from ostinato.config.shape import Fields, Shape, Texts, is_list, is_object
from ostinato.config.source import Origin, Source, Sourced


class Document(msgspec.Struct, frozen=True):
    """The checked object of one source."""

    source: Source
    data: Mapping[str, object]


class Listed(msgspec.Struct, frozen=True):
    items: tuple[Sourced[object], ...]


class Branch(msgspec.Struct, frozen=True):
    nodes: Mapping[str, "Node"]


Node: TypeAlias = Sourced[object] | Listed | Branch


def merge(documents: Sequence[Document]) -> Branch:
    """`documents` from what wins to what yields."""
    merged = Branch({})
    for document in documents:
        nodes = {
            name: _node(value, document.source, name, _shape_of(SETTINGS, name))
            for name, value in document.data.items()
        }
        merged = _merge_branches(merged, Branch(nodes))
    return merged


def leaves(node: Node, key: str = "") -> Iterator[tuple[str, Sourced[object]]]:
    """Every value with its key in the merged tree, in order."""
    match node:
        case Sourced():
            yield key, node
        case Listed(items=items):
            for index, item in enumerate(items):
                yield f"{key}[{index}]", item
        case Branch(nodes=nodes):
            for name, below in nodes.items():
                yield from leaves(below, f"{key}.{name}" if key else name)
        case _:
            assert_never(node)


def _node(value: object, source: Source, key: str, shape: Shape | None) -> Node:
    if is_object(value):
        return Branch({
            name: _node(part, source, f"{key}.{name}", _shape_of(shape, name)) for name, part in value.items()
        })
    if is_list(value) and not (isinstance(shape, Texts) and not shape.joins):
        sourced = [Sourced(item, Origin(source, f"{key}[{index}]")) for index, item in enumerate(value)]
        return Listed(_without_doubles(sourced))
    return Sourced(value, Origin(source, key))


def _shape_of(shape: Shape | None, name: str) -> Shape | None:
    if not isinstance(shape, Fields):
        return None
    return next((key.shape for key in shape.keys if key.name == name), None)


def _merge_branches(first: Branch, second: Branch) -> Branch:
    nodes = dict(first.nodes)
    for name, node in second.nodes.items():
        above = nodes.get(name)
        nodes[name] = node if above is None else _merged(above, node)
    return Branch(nodes)


def _merged(first: Node, second: Node) -> Node:
    match first, second:
        case Branch(), Branch():
            return _merge_branches(first, second)
        case Listed(), Listed():
            return Listed(_without_doubles((*first.items, *second.items)))
        case _:
            return first


def _without_doubles(items: Sequence[Sourced[object]]) -> tuple[Sourced[object], ...]:
    """The first of equal ones. Compared as JSON: `1` and `true` are two things."""
    first: dict[bytes, Sourced[object]] = {}
    for item in items:
        first.setdefault(msgspec.json.encode(item.value, order="sorted"), item)
    return tuple(first.values())
