"""A call's input is repaired where there is no doubt; else one message says everything that is wrong."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ostinato.tool import Tool, ToolContext, build_tool
from ostinato.tool_input import InvalidInput, checked_input


async def nothing(_input: Mapping[str, Any], _context: ToolContext) -> str:
    return ""


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["content", "count"]},
        "names": {"type": "array", "items": {"type": "string"}},
        "maybe": {"type": ["string", "null"]},
        "place": {
            "type": "object",
            "properties": {"line": {"type": "integer"}},
            "required": ["line"],
            "additionalProperties": False,
        },
        "free": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}
NOTHING: Mapping[str, object] = {}
TOOL: Tool = build_tool("Look", description="", input_schema=SCHEMA, call=nothing)


def message_for(given_input: Mapping[str, Any], tool: Tool = TOOL) -> str:
    checked = checked_input(tool, given_input)
    assert isinstance(checked, InvalidInput)
    return checked.message


def repaired(**given_input: object) -> object:
    checked = checked_input(TOOL, {"file_path": "f", **given_input})
    assert not isinstance(checked, InvalidInput), checked
    return {name: value for name, value in checked.items() if name != "file_path"}


@pytest.mark.parametrize(
    "fine",
    [
        {"limit": 3},
        {"ratio": 3},
        {"ratio": 0.5},
        {"all": False},
        {"mode": "count"},
        {"names": ["a", "b"]},
        {"maybe": None},
        {"place": {"line": 1}},
        {"free": [1]},
    ],
)
def test_what_fits_passes_unchanged(fine: dict[str, object]):
    assert repaired(**fine) == fine


@pytest.mark.parametrize(
    ("given_input", "meant"),
    [
        ({"limit": "20"}, {"limit": 20}),
        ({"limit": "20.0"}, {"limit": 20}),
        ({"limit": 20.0}, {"limit": 20}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"all": "true"}, {"all": True}),
        ({"all": "False"}, {"all": False}),
        ({"limit": None}, {}),
        ({"names": ["a", 1]}, {"names": ["a", "1"]}),
        ({"place": {"line": "7"}}, {"place": {"line": 7}}),
    ],
)
def test_what_is_meant_without_doubt_is_repaired(given_input: dict[str, object], meant: dict[str, object]):
    assert repaired(**given_input) == meant


@pytest.mark.parametrize(
    ("given_input", "words"),
    [
        (NOTHING, ["`file_path` is missing"]),
        ({"path": "f"}, ["`file_path` is missing", "`path` is unknown, did you mean `file_path`"]),
        ({"file_path": "f", "limti": 1}, ["did you mean `limit`"]),
        ({"file_path": "f", "zzzz": 1}, ["`zzzz` is unknown; known are `file_path`"]),
        ({"file_path": None}, ["`file_path` must be a string, not null"]),
        ({"file_path": ["f"]}, ["`file_path` must be a string, not an array"]),
        ({"file_path": "f", "limit": "many"}, ["`limit` must be an integer, not a string"]),
        ({"file_path": "f", "limit": 1.5}, ["`limit` must be an integer, not a number"]),
        ({"file_path": "f", "limit": True}, ["`limit` must be an integer, not a boolean"]),
        ({"file_path": "f", "all": 1}, ["`all` must be a boolean"]),
        ({"file_path": "f", "mode": "lines"}, ["`mode` must be one of `content`, `count`"]),
        ({"file_path": "f", "names": ["a", NOTHING]}, ["`names[1]` must be a string"]),
        ({"file_path": "f", "place": {"lin": 1}}, ["`place.line` is missing", "did you mean `place.line`"]),
        ({"file_path": "f", "limit": "nan"}, ["`limit` must be an integer"]),
        ({"file_path": "f", "limit": "inf"}, ["`limit` must be an integer"]),
    ],
)
def test_everything_wrong_is_said_in_one_message(given_input: dict[str, object], words: list[str]):
    message = message_for(given_input)
    assert all(word in message for word in words), message


def test_further_properties_pass_where_the_schema_allows_them():
    tool = replace(TOOL, input_schema={"type": "object", "properties": {"a": {"type": "integer"}}})
    assert checked_input(tool, {"a": 1, "b": [2]}) == {"a": 1, "b": [2]}


def test_the_tools_own_check_comes_after_the_schema():
    def validate(given_input: Mapping[str, Any]) -> str | None:
        return "no" if given_input.get("limit") == 20 else None

    tool = replace(TOOL, validate=validate)
    assert "no" in message_for({"file_path": "f", "limit": "20"}, tool)


def test_the_input_itself_is_not_touched():
    given_input = {"file_path": "f", "limit": "20", "names": [1]}
    checked_input(TOOL, given_input)
    assert given_input == {"file_path": "f", "limit": "20", "names": [1]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from([*SCHEMA["properties"], "other"])


@settings(deadline=None)
@given(st.dictionaries(KEYS, JSON))
def test_any_json_gets_an_answer_and_what_passed_passes_again(given_input: dict[str, Any]):
    checked = checked_input(TOOL, given_input)
    if not isinstance(checked, InvalidInput):
        assert repr(checked_input(TOOL, checked)) == repr(checked)
