"""Hypothesis strategies made from the types themselves, so that a new kind of record is tested the day it appears."""

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as shape

from ostinato.events import Event
from ostinato.messages import Message
from ostinato.records import AnyEdit, AnyFact, Record

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
JSON_OBJECTS = st.dictionaries(st.text(), JSON_VALUES, max_size=3)


def kinds(union: Any) -> list[type[msgspec.Struct]]:
    """The classes of a union."""
    return [info.cls for info in shape.multi_type_info(union.__args__) if isinstance(info, shape.StructType)]


@cache
def values(cls: type[msgspec.Struct]) -> st.SearchStrategy[msgspec.Struct]:
    """Every value of a struct class that JSON can hold."""
    info = shape.type_info(cls)
    assert isinstance(info, shape.StructType)
    return st.fixed_dictionaries({field.name: _of(field.type) for field in info.fields}).map(
        lambda fields: cls(**fields)
    )


_LEAVES: dict[type[shape.Type], st.SearchStrategy[Any]] = {
    shape.DictType: JSON_OBJECTS,
    shape.AnyType: JSON_VALUES,
    shape.StrType: st.text(),
    shape.BoolType: st.booleans(),
    shape.IntType: st.integers(-(2**63), 2**63 - 1),
    shape.FloatType: st.floats(allow_nan=False, allow_infinity=False),
    shape.NoneType: st.none(),
}


def _of(kind: shape.Type) -> st.SearchStrategy[Any]:
    match kind:
        case shape.StructType():
            return st.deferred(lambda: values(kind.cls))
        case shape.UnionType():
            return st.one_of([_of(option) for option in kind.types])
        case shape.VarTupleType():
            return st.lists(_of(kind.item_type), max_size=2).map(tuple)
        case shape.LiteralType():
            return st.sampled_from(list(kind.values))
        case shape.DictType(value_type=shape.StructType()):
            return st.dictionaries(_of(kind.key_type), _of(kind.value_type), max_size=2)
        case _:
            return _LEAVES[type(kind)]


def any_of(union: Any) -> st.SearchStrategy[Any]:
    return st.one_of([values(cls) for cls in kinds(union)])


RECORDS: st.SearchStrategy[Record] = any_of(Record)
RECORD_KINDS = kinds(Record)
EVENT_KINDS = kinds(Event)
MESSAGE_KINDS = kinds(Message)
UNSTRUCTURED_KINDS = kinds(AnyEdit | AnyFact)
