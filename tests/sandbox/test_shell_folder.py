"""A `cd` lasts to the next round of calls, never out of the allowed folders, and never between judging and running."""

import os
import sys
from pathlib import Path

import pytest

from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.shell_folder import ShellFolder, may_change_folder
from ostinato.sandbox.workspace import LocalWorkspace

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="needs files in memory"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    root = Path(os.path.realpath(tmp_path)) / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root.parent / "outside").mkdir()
    return LocalWorkspace(
        root, (root,), child_environment({"PATH": "/usr/bin:/bin"}), shell=ShellFolder(root, (root,))
    )


async def round_of(workspace: LocalWorkspace, *commands: str) -> list[str]:
    """Output and note of each, then the end of the round."""
    said: list[str] = []
    for command in commands:
        result = await workspace.run_shell(command, timeout_s=20)
        said.append(result.output.strip() + (f" [{result.folder_note}]" if result.folder_note else ""))
    workspace.settle_shell_folder()
    return said


async def test_a_cd_counts_from_the_next_round_on(workspace: LocalWorkspace):
    sub = workspace.cwd / "sub"
    moved, same = await round_of(workspace, "cd sub && ls", "pwd")
    assert moved == f"deep [from your next reply on commands start in {sub}]"
    assert same == str(workspace.cwd)
    assert await round_of(workspace, "pwd", "cd deep; pwd; cd ..") == [str(sub), f"{sub}/deep"]
    assert await round_of(workspace, "pwd") == [str(sub)]


async def test_the_last_command_of_a_round_has_the_last_word(workspace: LocalWorkspace):
    await round_of(workspace, "cd sub", "cd sub/deep")
    assert workspace.shell_folder == workspace.cwd / "sub" / "deep"
    await round_of(workspace, "cd ..", "cd .")
    assert workspace.shell_folder == workspace.cwd / "sub" / "deep"


@pytest.mark.parametrize("target", ["..", "../outside", "/", "/tmp", "link"])
async def test_outside_the_allowed_folders_nothing_starts(workspace: LocalWorkspace, target: str):
    (workspace.cwd / "link").symlink_to(workspace.cwd.parent / "outside")
    await round_of(workspace, "cd sub")
    (said,) = await round_of(workspace, f"cd {workspace.cwd}; cd {target}")
    assert f"commands start in {workspace.cwd} again" in said
    assert await round_of(workspace, "pwd") == [str(workspace.cwd)]


@pytest.mark.parametrize("loss", ["gone", "a link"])
async def test_a_folder_that_was_lost_is_told_once(workspace: LocalWorkspace, loss: str):
    await round_of(workspace, "cd sub/deep")
    (workspace.cwd / "sub" / "deep").rmdir()
    if loss == "a link":
        (workspace.cwd / "sub" / "deep").symlink_to(workspace.cwd.parent / "outside")
    await round_of(workspace)
    lost, later = await round_of(workspace, "pwd", "pwd")
    assert lost.startswith(f"{workspace.cwd} [{workspace.cwd}/sub/deep is gone")
    assert later == str(workspace.cwd)


@pytest.mark.parametrize(
    "command",
    [
        "cd sub; exit 3",
        "cd sub && false",
        "set -e; cd sub; false",
        "cd sub\nif true; then\n  true\nfi",
        "cd sub; cat <<'END'\ntext\nEND",
        "cd sub # and stay",
        "pushd sub >/dev/null",
        "cd -P 'sub'",
        "f() { cd sub; }; f",
        "cd sub; sleep 60 &",
    ],
)
async def test_however_a_command_ends_its_folder_is_known(workspace: LocalWorkspace, command: str):
    await round_of(workspace, command)
    assert workspace.shell_folder == workspace.cwd / "sub"


@pytest.mark.parametrize(
    "command",
    [
        "(cd sub)",
        "cd sub | cat",
        "cd none",
        "cd sub; kill -9 $$",
        "cd sub; exec true",
        "bash -c 'cd sub'",
        "cd sub; trap - EXIT",
    ],
)
async def test_what_does_not_move_the_shell_or_cannot_be_known_changes_nothing(
    workspace: LocalWorkspace, command: str
):
    await round_of(workspace, command)
    assert workspace.shell_folder == workspace.cwd


async def test_code_and_output_are_those_of_the_command(workspace: LocalWorkspace):
    result = await workspace.run_shell("cd sub; echo out; echo err >&2; exit 3", timeout_s=20)
    assert (result.exit_code, result.output) == (3, "out\nerr\n")
    late = await workspace.run_shell("cd sub; sleep 30", timeout_s=0.2)
    assert late.timed_out
    assert workspace.shell_folder == workspace.cwd


async def test_a_folder_with_a_strange_name_is_followed(workspace: LocalWorkspace):
    strange = workspace.cwd / "a 'b' $c\n\udcff"
    strange.mkdir()
    await round_of(workspace, "cd a*")
    assert workspace.shell_folder == strange


@pytest.mark.parametrize(
    ("command", "may"),
    [
        ("cd x", True),
        ("a;cd x", True),
        ("(pushd x)", True),
        ("abcd", False),
        ("./cd", False),
        ("cd.sh", False),
    ],
)
def test_only_what_says_cd_may_change_the_folder(command: str, may: bool):
    assert may_change_folder(command) is may
