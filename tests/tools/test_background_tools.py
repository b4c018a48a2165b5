"""Bash in the background, TaskOutput and TaskStop as a model uses them."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from tests.tools.tool_folder import ToolFolder

from ostinato.errors import UsageError
from ostinato.processes import background_task_id
from ostinato.sandbox.background import BackgroundProcesses
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.tool import NO_ACCESS, find_tool
from ostinato.tool_input import InvalidInput, checked_input
from ostinato.tools.builtin import builtin_tools

ID = background_task_id("t1")

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncGenerator[ToolFolder, None]:
    root = tmp_path
    environment = child_environment({"PATH": "/usr/bin:/bin"})
    background = BackgroundProcesses(environment, tmp_path / "spill")
    yield ToolFolder(root, LocalWorkspace(root, (root,), environment, background=background))
    await background.aclose()


@pytest.mark.process
async def test_a_call_returns_at_once_and_names_what_it_started(folder: ToolFolder):
    outcome = await folder.call("Bash", command="sleep 60", run_in_background=True, timeout=1)
    assert not outcome.is_error
    assert ID in str(outcome.content)
    assert outcome.display == {"background_task_id": ID}
    assert "running" in await folder.text("TaskOutput", task_id=ID)


@pytest.mark.process
async def test_output_is_read_in_parts_and_the_end_with_its_code(folder: ToolFolder):
    await folder.call(
        "Bash", command="printf '\\033[31mred\\033[0m 10%%\\r20%%\\n'; exit 4", run_in_background=True
    )
    text = await folder.text("TaskOutput", task_id=ID, block=True)
    assert text.split("\n")[1:] == ["20%"]
    assert "exit code 4" in text
    assert "[no new output]" in await folder.text("TaskOutput", task_id=ID)
    assert "20%" in await folder.text("TaskOutput", task_id=ID, offset=0)


@pytest.mark.process
async def test_a_question_without_a_line_end_is_seen(folder: ToolFolder):
    await folder.call("Bash", command="printf 'Continue? '; sleep 60", run_in_background=True)
    text = ""
    with anyio.fail_after(10):
        while "Continue?" not in text:
            text = await folder.text("TaskOutput", task_id=ID, block=True, timeout=10)
    assert "[no output]" not in text


@pytest.mark.process
async def test_long_output_comes_page_by_page(folder: ToolFolder):
    await folder.call("Bash", command="seq 1 20000", run_in_background=True)
    pages = [await folder.text("TaskOutput", task_id=ID, block=True)]
    while "call again for the next" in pages[-1]:
        pages.append(await folder.text("TaskOutput", task_id=ID))
    numbers = [line for page in pages for line in page.split("\n") if line.isdecimal()]
    assert numbers == [str(number) for number in range(1, 20001)]


@pytest.mark.process
async def test_without_an_id_all_are_listed(folder: ToolFolder):
    assert "nothing" in await folder.text("TaskOutput")
    await folder.call("Bash", command="sleep 60", run_in_background=True)
    assert f"{ID}: running" in await folder.text("TaskOutput")


@pytest.mark.process
@needs_linux
async def test_a_stop_says_what_became_of_it(folder: ToolFolder):
    await folder.call("Bash", command="sleep 60", run_in_background=True)
    assert "stopped" in await folder.text("TaskStop", task_id=ID)
    assert "stopped" in await folder.text("TaskOutput", task_id=ID)


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
async def test_an_unknown_id_is_refused_with_those_that_there_are(folder: ToolFolder, name: str):
    with pytest.raises(UsageError, match="bash_none"):
        await folder.call(name, task_id="bash_none")


async def test_where_nothing_can_run_in_the_background_that_is_said(tmp_path: Path):
    with pytest.raises(UsageError, match="background"):
        await ToolFolder(tmp_path).call("Bash", command="sleep 60", run_in_background=True)


@pytest.mark.parametrize(
    ("older", "id_name", "name"),
    [
        ("BashOutput", "bash_id", "TaskOutput"),
        ("BashOutput", "shell_id", "TaskOutput"),
        ("KillShell", "shell_id", "TaskStop"),
        ("KillBash", "shell_id", "TaskStop"),
        ("TaskStop", "shell_id", "TaskStop"),
        ("TaskOutput", "task_id", "TaskOutput"),
        ("TaskStop", "task_id", "TaskStop"),
    ],
)
def test_older_names_lead_to_the_same_tools_and_to_the_same_inputs(older: str, id_name: str, name: str):
    tool = find_tool(builtin_tools(is_read_only_command=lambda _command: False), older)
    assert tool is not None
    assert tool.name == name
    assert checked_input(tool, {id_name: ID}) == {"task_id": ID}
    assert set(tool.input_schema["properties"]) & {"bash_id", "shell_id"} == set()


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
@pytest.mark.parametrize("other", ["task_id", "bash_id"])
def test_two_ids_by_two_names_are_refused(tmp_path: Path, name: str, other: str):
    tool = ToolFolder(tmp_path).tool(name)
    assert isinstance(checked_input(tool, {"shell_id": "x", other: "y"}), InvalidInput)


@pytest.mark.process
@needs_linux
async def test_calls_as_old_transcripts_make_them_work(folder: ToolFolder):
    await folder.call("Bash", command="sleep 60", run_in_background=True)
    assert "running" in await folder.text("TaskOutput", bash_id=ID)
    assert "stopped" in await folder.text("TaskStop", shell_id=ID)


@pytest.mark.parametrize("name", ["TaskOutput", "TaskStop"])
def test_both_wait_for_nobody_and_ask_nobody(tmp_path: Path, name: str):
    folder = ToolFolder(tmp_path)
    tool = folder.tool(name)
    assert tool.access({"task_id": "x"}, folder.workspace) == NO_ACCESS
    assert tool.is_read_only({"task_id": "x"})
