"""Bash tells what a command wrote and how it ended, within bounds."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.tools.tool_folder import ToolFolder

from ostinato.processes import ProcessResult
from ostinato.testing.fake_workspace import FakeWorkspace, played
from ostinato.tool import EXCLUSIVE, READS_ANYTHING
from ostinato.tools.bash import bash_tool


def playing(tmp_path: Path, result: ProcessResult) -> ToolFolder:
    return ToolFolder(tmp_path, FakeWorkspace(tmp_path, play=lambda _argv: result))


@pytest.mark.process
async def test_both_streams_come_in_their_order(folder: ToolFolder):
    assert await folder.text("Bash", command="echo a; echo b >&2; echo c") == "a\nb\nc"


@pytest.mark.process
async def test_each_command_starts_anew_in_the_working_folder(folder: ToolFolder):
    await folder.text("Bash", command="mkdir sub && cd sub && export X=1")
    assert await folder.text("Bash", command='pwd; echo "[$X]"') == f"{folder.path}\n[]"


@pytest.mark.process
async def test_a_failing_command_is_an_error_with_its_output_and_code(folder: ToolFolder):
    outcome = await folder.call("Bash", command="echo why; exit 3")
    assert outcome.is_error
    assert outcome.content == "why\n[exit code 3]"


@pytest.mark.process
async def test_a_search_without_a_match_is_an_answer(folder: ToolFolder):
    assert "exit code 1" in await folder.text("Bash", command="grep x /dev/null")


@pytest.mark.process
async def test_a_timeout_is_told_with_the_output_so_far(folder: ToolFolder):
    outcome = await folder.call("Bash", command="echo first; sleep 30", timeout=300)
    assert outcome.is_error
    assert outcome.is_timed_out
    assert str(outcome.content).startswith("first\n")


async def test_a_command_that_ends_well_when_told_to_stop_is_late_all_the_same(tmp_path: Path):
    outcome = await playing(tmp_path, played("x", exit_code=0, timed_out=True)).call("Bash", command="x")
    assert outcome.is_error
    assert outcome.is_timed_out


@pytest.mark.process
async def test_a_flood_keeps_head_and_tail_within_the_limit(folder: ToolFolder):
    text = await folder.text("Bash", command="seq 1 1000000")
    assert len(text) <= folder.tool("Bash").max_result_characters
    assert text.startswith("1\n2\n")
    assert "\n1000000\n" in text
    assert "6888896 bytes" in text


@pytest.mark.process
@pytest.mark.parametrize("command", ["read x", "python3 -c 'input()'"])
async def test_nobody_answers_prompts(folder: ToolFolder, command: str):
    assert (await folder.call("Bash", command=command, timeout=20_000)).is_timed_out is False


@pytest.mark.process
async def test_output_is_shown_live(folder: ToolFolder):
    await folder.text("Bash", command="echo live")
    assert "live" in "".join(folder.progress)


async def test_no_output_is_said(tmp_path: Path):
    assert await playing(tmp_path, played("")).text("Bash", command="true") == "[no output]"


async def test_output_is_valid_unicode_without_escapes(tmp_path: Path):
    result = ProcessResult(0, "\x1b[31ma\ud835b\x1b[0m\udcff", "", 10, None, False, 0.0)
    assert await playing(tmp_path, result).text("Bash", command="x") == "a\ufffdb\ufffd"


async def test_where_all_of_a_long_output_is_kept_is_said(tmp_path: Path):
    result = ProcessResult(0, "head\n[...]\ntail", "", 100_000, tmp_path / "spill.txt", False, 0.0)
    assert str(tmp_path / "spill.txt") in await playing(tmp_path, result).text("Bash", command="x")


@pytest.mark.parametrize("given_ms", [0, -1])
async def test_a_deadline_that_would_be_over_at_once_is_an_error_and_nothing_runs(
    folder: ToolFolder, given_ms: int
):
    outcome = await folder.call("Bash", command="touch ran", timeout=given_ms)
    assert outcome.is_error
    assert not (folder.path / "ran").exists()


@pytest.mark.parametrize(("given_ms", "used_s"), [(None, 120.0), (5_000, 5.0), (9_999_999, 600.0)])
async def test_the_deadline_has_a_default_and_a_limit(tmp_path: Path, given_ms: int | None, used_s: float):
    deadlines: list[float] = []

    class Noting(FakeWorkspace):
        async def run(self, argv: Sequence[str], *, timeout_s: float, **rest: object) -> ProcessResult:
            deadlines.append(timeout_s)
            return played()

    folder = ToolFolder(tmp_path, Noting(tmp_path))
    await folder.call("Bash", command="x", **({} if given_ms is None else {"timeout": given_ms}))
    assert deadlines == [used_s]


def test_only_a_proven_command_may_run_beside_others(tmp_path: Path):
    bash = bash_tool(lambda command: command == "ls")
    workspace = FakeWorkspace(tmp_path)
    assert bash.access({"command": "ls"}, workspace) == READS_ANYTHING
    assert bash.access({"command": "rm x"}, workspace) == EXCLUSIVE
    assert bash.is_read_only({"command": "ls"})
    assert not bash.is_read_only({"command": "rm x"})
