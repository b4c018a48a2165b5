"""Every tool says here whether it knows beforehand that a call is in vain, and why; what it then says is what the call would say."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tools.file_changers import CHANGERS
from tests.tools.test_access_of_every_tool import TOOLS
from tests.tools.tool_folder import ToolFolder

from ostinato.errors import UsageError
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing import tool_context
from ostinato.tool import Tool, ToolContext, ToolOutcome
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.equipment import Equipment
from ostinato.web.reader import WebReader

ONLY_TRYING_TELLS: Mapping[str, str] = {
    "Read": "what it would look at is what the person is asked about",
    "Glob": "as for Read",
    "Grep": "as for Read",
    "ToolSearch": "it refuses nothing",
}

SPOILT = "spoilt"
"""A file that has changed since it was seen."""


@dataclass(frozen=True)
class Vain:
    """A call that its tool refuses. `file` is seen, unseen or spoilt beforehand."""

    tool: str
    given: Mapping[str, Any]
    file: str = ""


QUESTION: Mapping[str, Any] = {"question": "Which?", "options": []}
IN_VAIN = {
    "nothing is asked": Vain("AskUserQuestion", {"questions": []}),
    "the same is asked twice": Vain("AskUserQuestion", {"questions": [QUESTION, QUESTION]}),
    "no time to run": Vain("Bash", {"command": "ls", "timeout": 0}),
    "a command with a NUL": Vain("Bash", {"command": "echo a\0b"}),
    "a command in the background with a NUL": Vain("Bash", {"command": "a\0b", "run_in_background": True}),
    "no new rounds": Vain("Snip", {"rounds": ["a"]}),
    "output of an unknown command": Vain("TaskOutput", {"task_id": "bash_9"}),
    "an unknown command": Vain("TaskStop", {"task_id": "bash_9"}),
    "an empty step": Vain("TodoWrite", {"todos": [{"content": " ", "status": "pending"}]}),
    "no address": Vain("WebFetch", {"url": "a page"}),
    "another scheme": Vain("WebFetch", {"url": "ftp://a.example/"}),
    "a password in the address": Vain("WebFetch", {"url": "https://a:b@a.example/"}),
    "this machine": Vain("WebFetch", {"url": "http://127.0.0.1:8000/"}),
    "this machine by name": Vain("WebFetch", {"url": "http://localhost:8000/"}),
    "a cloud's own address": Vain("WebFetch", {"url": "http://169.254.169.254/latest"}),
    "a number that is private": Vain("WebFetch", {"url": "http://[::ffff:10.0.0.1]/"}),
    "no words to search for": Vain("WebSearch", {"query": " "}),
    "both kinds of domains": Vain(
        "WebSearch", {"query": "a", "allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}
    ),
    "only a part was seen": Vain("Write", {"file_path": "f.txt", "content": "x"}, "partly"),
    "no such text": Vain("Edit", {"file_path": "f.txt", "old_string": "none", "new_string": "x"}, "seen"),
    "a text in two places": Vain(
        "Edit", {"file_path": "f.txt", "old_string": "s", "new_string": "x"}, "seen"
    ),
    "nothing to change": Vain("Edit", {"file_path": "f.txt", "old_string": "s", "new_string": "s"}, "seen"),
    "a new file that is there": Vain(
        "Edit", {"file_path": "f.txt", "old_string": "", "new_string": "x"}, "seen"
    ),
    "a path that is none": Vain("Edit", {"file_path": "a\0b", "old_string": "a", "new_string": "x"}),
    "no such cell": Vain(
        "NotebookEdit", {"notebook_path": "f.ipynb", "cell_id": "z", "new_source": "x"}, "seen"
    ),
    "no notebook": Vain(
        "NotebookEdit", {"notebook_path": "f.txt", "cell_id": "a", "new_source": "x"}, "seen"
    ),
    **{
        f"{how} file for {changer.tool}": Vain(changer.tool, changer.call(), how)
        for changer in CHANGERS
        for how in ("unseen", SPOILT)
    },
    **{
        f"no file for {changer.tool}": Vain(changer.tool, changer.call("other/" + changer.file))
        for changer in CHANGERS
        if changer.tool != "Write"
    },
}
POSSIBLE = {
    **{f"{changer.tool} of a seen file": Vain(changer.tool, changer.call(), "seen") for changer in CHANGERS},
    "a new file": Vain("Write", {"file_path": "new/f.txt", "content": "x"}),
    "a new file by Edit": Vain("Edit", {"file_path": "new.txt", "old_string": "", "new_string": "x"}),
    "a command": Vain("Bash", {"command": "exit 1"}),
    "all commands": Vain("TaskOutput", {}),
    "a page": Vain("WebFetch", {"url": "https://a.example/"}),
    "a search": Vain("WebSearch", {"query": "a"}),
    "a list": Vain("TodoWrite", {"todos": []}),
    "a question": Vain("AskUserQuestion", {"questions": [QUESTION]}),
}


async def nobody(host: str, port: int) -> list[str]:
    """Only what needs no look-up is found; a name would be told to others."""
    assert host in {"localhost", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "::ffff:a00:1"}, host
    return ["127.0.0.1" if host == "localhost" else host]


def equipped() -> Mapping[str, Tool]:
    """Those of `TOOLS`, with a web that reads."""
    web = Equipment(web=WebReader(resolve=nobody))
    tools = builtin_tools(is_read_only_command=lambda _command: False, equipment=web)
    return {**TOOLS, "WebFetch": next(tool for tool in tools if tool.name == "WebFetch")}


def files(folder: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def context(path: Path, file: str) -> ToolContext:
    background = BackgroundProcesses(child_environment({"PATH": "/usr/bin:/bin"}), None)
    folder = ToolFolder(path, LocalWorkspace(path, (path,), background=background))
    for changer in CHANGERS:
        put = folder.put(changer.file, changer.before)
        if file and file != "unseen":
            folder.saw(put)
        seen = folder.files.get(put)
        if seen is not None and file == "partly":
            folder.files.put(put, replace(seen, is_partial=True))
        if file == SPOILT:
            put.write_text(changer.before + " ")
    return tool_context(workspace=folder.workspace, files=folder.files)


async def looked(tool: Tool, given: Mapping[str, Any], around: ToolContext) -> str | None:
    assert tool.cannot_succeed is not None
    try:
        return await tool.cannot_succeed(given, around)
    except UsageError as error:
        return str(error)


async def said(tool: Tool, given: Mapping[str, Any], around: ToolContext) -> str:
    try:
        outcome = await tool.call(given, around)
    except UsageError as error:
        return str(error)
    assert isinstance(outcome, ToolOutcome)
    assert outcome.is_error, outcome
    return str(outcome.content)


def test_a_new_tool_has_to_decide():
    """A look that is not in the table of what is in vain fails here, and so does a tool without one that gives no reason."""
    with_a_look = {name for name, tool in TOOLS.items() if tool.cannot_succeed is not None}
    assert with_a_look == {vain.tool for vain in IN_VAIN.values()}
    assert set(TOOLS) - with_a_look == set(ONLY_TRYING_TELLS)


@pytest.mark.parametrize("vain", IN_VAIN.values(), ids=IN_VAIN)
async def test_the_look_says_what_the_call_says(tmp_path: Path, vain: Vain):
    tool, around = equipped()[vain.tool], context(tmp_path, vain.file)
    before = files(tmp_path)
    words = await looked(tool, vain.given, around)
    assert words
    assert words == await said(tool, vain.given, around)
    assert files(tmp_path) == before


@pytest.mark.parametrize("call", POSSIBLE.values(), ids=POSSIBLE)
async def test_of_what_may_succeed_a_look_says_nothing_and_changes_nothing(tmp_path: Path, call: Vain):
    around = context(tmp_path, call.file)
    before = files(tmp_path)
    assert await looked(equipped()[call.tool], call.given, around) is None
    assert files(tmp_path) == before


OFF = ["AskUserQuestion", "WebFetch", "WebSearch"]


@pytest.mark.parametrize("name", OFF)
async def test_what_is_switched_off_says_so_before_and_in_the_call(tmp_path: Path, name: str):
    assert set(OFF) == Equipment().switched_off
    tools = builtin_tools(is_read_only_command=lambda _command: False, equipment=Equipment())
    tool = next(tool for tool in tools if tool.name == name)
    around, given = tool_context(tmp_path), {"url": "https://a.example/"}
    assert await looked(tool, given, around) == await said(tool, given, around)


@pytest.mark.parametrize("name", ["Bash", "TaskOutput", "TaskStop"])
async def test_where_nothing_runs_in_the_background_that_is_known_too(tmp_path: Path, name: str):
    around = tool_context(tmp_path)
    given = {"command": "ls", "run_in_background": True} if name == "Bash" else {"task_id": "bash_1"}
    words = await looked(TOOLS[name], given, around)
    assert words == await said(TOOLS[name], given, around)


async def test_of_two_faults_of_a_command_a_look_tells_the_one_that_the_call_tells(tmp_path: Path):
    around, given = tool_context(tmp_path), {"command": "a\0b", "run_in_background": True}
    assert await looked(TOOLS["Bash"], given, around) == await said(TOOLS["Bash"], given, around)
