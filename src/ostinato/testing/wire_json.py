"""Careful reading of JSON bodies that anybody may have sent: a wrong type reads as empty."""

from collections.abc import Iterator
from typing import Any, cast


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_dicts(value: object) -> list[dict[str, Any]]:
    """The items of a list, each as a dictionary."""
    return [as_dict(item) for item in as_list(value)]


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def dictionaries_in(value: object) -> Iterator[dict[str, Any]]:
    """Every dictionary anywhere inside that is not empty, outermost first."""
    here = as_dict(value)
    if here:
        yield here
    for item in (*here.values(), *as_list(value)):
        yield from dictionaries_in(item)
