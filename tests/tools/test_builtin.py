"""The set of tools as models, clients and rules see it."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from ostinato.codec import encode
from ostinato.engine.prompt import system_blocks
from ostinato.testing import tool_context
from ostinato.tool import Tool, ToolOutcome
from ostinato.tools.ask_user_question import AskUserQuestionInput
from ostinato.tools.bash import BashInput
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.edit import EditInput
from ostinato.tools.equipment import Equipment
from ostinato.tools.glob import GlobInput
from ostinato.tools.grep_input import GrepInput
from ostinato.tools.multi_edit import MultiEditInput
from ostinato.tools.notebook_change import NotebookEditInput
from ostinato.tools.read import ReadInput
from ostinato.tools.task_output import TaskOutputInput
from ostinato.tools.task_stop import TaskStopInput
from ostinato.tools.todo_write import TodoWriteInput
from ostinato.tools.web_fetch import WebFetchInput
from ostinato.tools.write import WriteInput
from ostinato.user_questions import UserAsked
from ostinato.web_pages import SearchHit, SearchQuery


async def answers(asked: UserAsked) -> None:
    """A person who leaves every question open."""
    del asked


async def finds_nothing(query: SearchQuery) -> list[SearchHit]:
    del query
    return []


TOOLS = builtin_tools(
    is_read_only_command=lambda _command: False,
    equipment=Equipment(ask_user=answers, search=finds_nothing),
)
"""With everything switched on."""

INPUT_TYPES: list[type[msgspec.Struct]] = [
    AskUserQuestionInput,
    BashInput,
    EditInput,
    GlobInput,
    GrepInput,
    MultiEditInput,
    NotebookEditInput,
    ReadInput,
    TaskOutputInput,
    TaskStopInput,
    TodoWriteInput,
    WebFetchInput,
    SearchQuery,
    WriteInput,
]


def test_names_are_those_that_rules_and_hooks_match_on_in_order():
    assert [tool.name for tool in TOOLS] == [
        "AskUserQuestion",
        "Bash",
        "Edit",
        "Glob",
        "Grep",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "TaskOutput",
        "TaskStop",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Write",
    ]


@pytest.mark.parametrize(
    ("tool", "input_type"),
    list(zip(TOOLS, INPUT_TYPES, strict=True)),
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_schema_and_the_type_behind_it_agree(tool: Tool, input_type: type[msgspec.Struct]):
    fields = msgspec.structs.fields(input_type)
    properties: Mapping[str, Any] = tool.input_schema["properties"]
    assert {field.encode_name for field in fields} == set(properties)
    assert [field.encode_name for field in fields if field.required] == list(tool.input_schema["required"])
    assert tool.input_schema["additionalProperties"] is False


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_small_models_are_offered_is_required_or_text(tool: Tool):
    properties: Mapping[str, Any] = tool.input_schema["properties"]
    if not tool.flat_parameters:  # never offered to them
        return
    assert set(tool.input_schema["required"]) <= set(tool.flat_parameters)
    assert all(properties[name]["type"] == "string" for name in tool.flat_parameters)


def test_system_prompt_and_tools_stay_below_8_kb_whatever_is_switched_on():
    """Peers send 12 to 80 kB with every request before anybody has said a word."""
    prompt = "".join(system_blocks(None, "", is_short=False))
    wire = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in TOOLS
    ]
    assert len(prompt.encode()) + len(encode(wire)) <= 8_192


@pytest.mark.parametrize("name", ["AskUserQuestion", "WebSearch"])
async def test_what_is_switched_off_answers_each_call_with_the_reason(name: str):
    tools = builtin_tools(is_read_only_command=lambda _command: False, equipment=Equipment())
    tool = next(one for one in tools if one.name == name)
    outcome = await tool.call({"whatever": 1}, tool_context())
    assert isinstance(outcome, ToolOutcome)
    assert outcome.is_error
    assert outcome.content == tool.description
