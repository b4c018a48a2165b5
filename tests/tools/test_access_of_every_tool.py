"""No tool passes by: each one's access is known here, and whoever names a path stands in the tables that test what such tools share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tests.engine import test_one_policy_for_every_tool as policy
from tests.tools.file_changers import CHANGERS
from tests.tools.test_builtin import answers, finds_nothing
from tests.tools.test_file_policy import reading_calls
from tests.tools.test_overlap import READERS, WRITERS
from tests.tools.tool_folder import ToolFolder

from ostinato.deferred_tools import FoundTools
from ostinato.hideable_rounds import HideableRounds
from ostinato.loop.access import conflicts
from ostinato.tool import EXCLUSIVE, NO_ACCESS, READS_ANYTHING, Access, Tool
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.equipment import Equipment
from ostinato.tools.tool_search import tool_search_tool

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        *builtin_tools(
            is_read_only_command=lambda command: command == "ls",
            equipment=Equipment(ask_user=answers, search=finds_nothing, hideable=HideableRounds()),
        ),
        tool_search_tool((), FoundTools(), max_tokens=1000),
    )
}

OF_NO_FILE = {
    "AskUserQuestion",
    "Snip",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
}
"""They overlap with everything but what may do anything: waiting for a person or a page must not hold a change back."""

RUN_ALONE = {"Bash", "TodoWrite"}
"""A command may do anything, and of two lists the later one counts."""


def filled(schema: Mapping[str, Any], text: str) -> Any:
    """An input of that schema with everything in it, and `text` wherever a text may stand."""
    if choices := schema.get("enum"):
        return choices[0]
    match schema.get("type"):
        case "object":
            properties = cast("Mapping[str, Mapping[str, Any]]", schema["properties"])
            return {name: filled(one, text) for name, one in properties.items()}
        case "array":
            return [filled(schema["items"], text)]
        case "boolean":
            return False
        case "integer" | "number":
            return 1
        case _:
            return text


def access(tool: Tool, folder: ToolFolder, text: str = "a/f.ipynb") -> Access:
    return tool.access(filled(tool.input_schema, text), folder.workspace)


@pytest.fixture
def folder(tmp_path: Path) -> ToolFolder:
    return ToolFolder(tmp_path)


def test_whoever_names_a_path_is_in_every_table_of_such_tools(folder: ToolFolder):
    """A new tool that reads or changes files fails here until it stands in them."""
    found = {name: access(tool, folder) for name, tool in TOOLS.items()}
    writers = {name for name, one in found.items() if one.writes}
    readers = {name for name, one in found.items() if one.reads and not one.writes}
    assert writers == {changer.tool for changer in CHANGERS} == set(WRITERS) == set(policy.CHANGES)
    assert readers == set(READERS) == set(policy.LOOKS) | {"Glob"}  # it shows names, and no content
    assert writers | readers == set(reading_calls(""))
    for name in writers | readers:
        named = found[name].reads + found[name].writes
        assert named
        assert all(
            path.is_relative_to(folder.path / "a/f.ipynb") for path in named
        )  # a pattern leads below it


def test_what_any_other_tool_touches_is_said_here(folder: ToolFolder):
    others = set(TOOLS) - {*READERS, *WRITERS}
    assert others == OF_NO_FILE | RUN_ALONE
    assert {name: access(TOOLS[name], folder) for name in RUN_ALONE} == dict.fromkeys(RUN_ALONE, EXCLUSIVE)
    assert access(TOOLS["Bash"], folder, "ls") == READS_ANYTHING
    assert {name: access(TOOLS[name], folder) for name in OF_NO_FILE} == dict.fromkeys(OF_NO_FILE, NO_ACCESS)


@pytest.mark.parametrize("name", sorted(OF_NO_FILE))
def test_what_touches_no_file_overlaps_with_all_but_what_runs_alone(folder: ToolFolder, name: str):
    one = access(TOOLS[name], folder)
    for other, tool in TOOLS.items():
        two = access(tool, folder)
        assert conflicts(one, two) is conflicts(two, one) is (other in RUN_ALONE), other
    look = access(TOOLS["Bash"], folder, "ls")
    assert not conflicts(one, look)
    assert not conflicts(look, one)
