"""Whatever tools are called, each gets a name of its own that every provider takes, always the same."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.tool_names import fitting_names

LEGAL = string.ascii_letters + string.digits + "_-"
NAME = st.text(max_size=20) | st.text("ab_", max_size=3) | st.integers(60, 70).map(lambda size: "a" * size)
NAMES = st.lists(NAME, max_size=6)


@given(NAMES, st.sets(st.text("ab_", max_size=3)))
def test_any_names_become_legal_ones_of_their_own_that_are_always_the_same(
    names: list[str], taken: set[str]
) -> None:
    fitting = fitting_names(names, taken)
    assert len(set(fitting)) == len(fitting) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in fitting)
    assert taken.isdisjoint(fitting)
    assert fitting_names(names, taken) == fitting
    assert [dict(zip(fitting, names, strict=True))[name] for name in fitting] == names


@given(NAMES)
def test_a_name_does_not_depend_on_the_order_of_those_beside_it(names: list[str]) -> None:
    names = list(dict.fromkeys(names))
    forward = dict(zip(names, fitting_names(names), strict=True))
    backward = dict(zip(names[::-1], fitting_names(names[::-1]), strict=True))
    assert forward == backward


@given(st.lists(st.text(LEGAL, min_size=1, max_size=64), unique=True, max_size=5))
def test_legal_names_stay(names: list[str]) -> None:
    assert fitting_names(names) == tuple(names)


@pytest.mark.parametrize(
    "names",
    [
        ("mcp__" + "s" * 40 + "__" + "t" * 40,),
        ("x" * 64 + "a", "x" * 64 + "b"),
        ("list files", "list/files", "list_files"),
        ("größe", "grösse", "大きさ"),
        ("", " ", "\ud800"),
        ("twice", "twice", "twice"),
    ],
)
def test_names_as_others_give_them_stay_apart(names: tuple[str, ...]) -> None:
    fitting = fitting_names(names)
    assert len(set(fitting)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in fitting)
