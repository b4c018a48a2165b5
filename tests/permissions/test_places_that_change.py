"""Places that are not what they seem when a call is judged: folders that it moves itself, and links that differ by process."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.permissions.gate_calls import MODES, bash, outcome

from ostinato.permissions.path_resolution import resolve_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("plain", "secret", "sub/file", "vendor/app/file", "app/file"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "sub" / "link").symlink_to("/etc")
    (tmp_path / "inner").symlink_to("sub")
    for name in (".", "nested", "vendor/app", "app"):
        subprocess.run(("git", "init", "-q", name), cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "mv sub y; touch y/link/z",
        "mv sub y && cat y/link/passwd",
        "mv sub y && cd y && cat link/passwd",
        "mv sub y && cd y/link && cat passwd",
        "cp -a sub y && cat y/link/passwd",
        "cp -R sub y; echo x > y/link/z",
        "mkdir q && mv sub q && cat q/sub/link/passwd",
        "mv inner y && touch y/link/z",
        "cat y/link/passwd; mv sub y",
        "mv sub y; mv y z; cat z/link/passwd",
        "if mv sub y; then cat y/link/passwd; fi",
    ],
)
def test_below_a_folder_that_the_call_moves_nothing_is_known(command: str, folder: Path):
    for mode in MODES:
        if mode != "bypassPermissions":
            assert (
                outcome(bash(command, folder), "allow Bash(mv:*)", "allow Bash(cp:*)", mode=mode) != "Allow"
            ), mode


@pytest.mark.parametrize(
    "command",
    ["cp -r nested/. .", "cp -a nested/ .", "cp -r nested/./. y", "cp -r vendor/app .", "cp -r sub/.. y"],
)
def test_a_copy_over_what_is_there_is_no_plain_edit(command: str, folder: Path):
    assert outcome(bash(command, folder), mode="acceptEdits") == "Ask"


@pytest.mark.parametrize(
    "command",
    [
        "mv plain q",
        "mkdir -p q && mv plain q/",
        "mv sub/file q && cat q",
        "mkdir q && mv sub q",
        "cp -r sub q",
        "cp plain sub && cat sub/plain",
    ],
)
def test_plain_moves_and_copies_are_still_edits(command: str, folder: Path):
    assert outcome(bash(command, folder), mode="acceptEdits") == "Allow"


LINKS = (
    "/proc/self/cwd/secret", "/proc/thread-self/cwd/secret", "/dev/fd/../cwd/secret", "/proc/self/root{}/secret", "/proc/./self//cwd/secret",
    "/proc/self/task/../cwd/secret", "own/secret", "./sub/../own/secret", "/proc/self/fd/9", "/dev/fd/9",
)  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("form", ["cat {}", "cat < {}", "cp {} b", "grep x {}", "cd {}/.. && cat secret"])
def test_a_link_that_differs_by_process_leads_nowhere_that_is_known(form: str, link: str, folder: Path):
    (folder / "own").symlink_to("/proc/self/cwd")
    path = link.replace("{}", str(folder))
    for mode in MODES:
        assert outcome(bash(form.replace("{}", path), folder), "deny Read(secret)", mode=mode) != "Allow", (
            mode
        )
    assert resolve_paths([folder / path]) == {}


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/status",
        "/proc/cpuinfo",
        "/dev/null",
        "/usr/bin/env",
        "/proc/self/../cpuinfo",
        "inner/file",
    ],
)
def test_other_paths_lead_where_they_lead(path: str, folder: Path):
    assert resolve_paths([folder / path]) == {folder / path: (Path(os.path.realpath(folder / path)),)}


@pytest.mark.parametrize(
    "command", ["cat <> secret", "cat 0<> secret", "read -r x <> secret", "{ cat; } <> secret"]
)
def test_opening_for_both_is_reading_too(command: str, folder: Path):
    assert outcome(bash(command, folder), "deny Read(secret)", mode="bypassPermissions") == "Deny"
    assert outcome(bash(command, folder), "deny Edit(secret)", mode="bypassPermissions") == "Deny"
