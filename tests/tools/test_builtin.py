"""The set of tools as models, clients and rules see it."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from ostinato.codec import encode
from ostinato.deferred_tools import FoundTools
from ostinato.engine.prompt import system_blocks
from ostinato.testing import tool_context
from ostinato.tool import Tool, ToolOutcome, find_tool
from ostinato.tool_input import InvalidInput, checked_input
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
from ostinato.tools.tool_search import tool_search_tool
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


KNOWN_INPUTS: Mapping[str, Mapping[str, Any]] = {
    "AskUserQuestion": {
        "questions": [
            {
                "question": "Which?",
                "header": "Way",
                "multiSelect": False,
                "options": [{"label": "a", "description": "one"}, {"label": "b", "description": "other"}],
            }
        ]
    },
    "Bash": {
        "command": "ls",
        "timeout": 1000,
        "description": "List",
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
    },
    "Edit": {"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": True},
    "ExitPlanMode": {"plan": "first this"},
    "Glob": {"pattern": "*", "path": "."},
    "Grep": {
        "pattern": "a", "path": ".", "glob": "*.py", "output_mode": "content", "-A": 1, "-B": 1, "-C": 1, "context": 1, "-n": True,
        "-i": True, "-o": True, "type": "py", "head_limit": 1, "offset": 1, "multiline": True,
    },
    "ListMcpResourcesTool": {"server": "s"},
    "NotebookEdit": {
        "notebook_path": "f.ipynb",
        "cell_id": "a",
        "new_source": "b",
        "cell_type": "code",
        "edit_mode": "replace",
    },
    "Read": {"file_path": "f", "offset": 1, "limit": 1, "pages": "1-2"},
    "ReadMcpResourceTool": {"server": "s", "uri": "u"},
    "Skill": {"skill": "s", "args": "a"},
    "TaskStop": {"task_id": "bash_1"},
    "TodoWrite": {"todos": [{"content": "a", "status": "pending", "activeForm": "doing a"}]},
    "ToolSearch": {"query": "select:a", "max_results": 1},
    "WebFetch": {"url": "https://example.org", "prompt": "what"},
    "WebSearch": {"query": "a", "allowed_domains": ["a.org"], "blocked_domains": ["b.org"]},
    "Write": {"file_path": "f", "content": "a"},
}  # fmt: skip
"""What clients, rules and hooks know these tools by: the inputs of the published types, each said once."""

NOT_HERE_YET = {"ExitPlanMode", "ListMcpResourcesTool", "ReadMcpResourceTool", "Skill"}
SEARCH = tool_search_tool((), FoundTools(), max_tokens=1000)


@pytest.mark.parametrize("name", KNOWN_INPUTS)
def test_every_known_input_of_a_known_tool_is_taken(name: str):
    tool = find_tool((*TOOLS, SEARCH), name)
    if name in NOT_HERE_YET:
        assert tool is None
        return
    assert tool is not None
    assert not isinstance(checked_input(tool, KNOWN_INPUTS[name]), InvalidInput)


@pytest.mark.parametrize("value", [True, False, None, "yes"])
def test_leaving_a_sandbox_that_is_not_there_changes_nothing_of_a_call(value: object):
    """It is gone before rules, hooks and the person judge, and a model is not told that it can be said."""
    bash = find_tool(TOOLS, "Bash")
    assert bash is not None
    given = {"command": "rm f", "dangerouslyDisableSandbox": value}
    assert checked_input(bash, given) == {"command": "rm f"}
    assert bash.essential(given) == bash.essential({"command": "rm f"})
    assert "dangerouslyDisableSandbox" not in str(bash.input_schema)


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
