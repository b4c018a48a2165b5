"""Diffs that `patch` understands, however large the files are."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato.tools.file_diff import unified_diff

LINES = st.lists(st.sampled_from("abcde"), max_size=30)


def test_equal_texts_have_no_diff():
    assert unified_diff("a\n", "a\n", "f") == ""


def test_numbers_count_from_the_start_of_the_file():
    before = "".join(f"{i}\n" for i in range(1, 101))
    diff = unified_diff(before, before.replace("50\n", "fifty\n"), "f")
    assert diff.split("\n")[2:] == [
        "@@ -47,7 +47,7 @@",
        " 47",
        " 48",
        " 49",
        "-50",
        "+fifty",
        " 51",
        " 52",
        " 53",
    ]


def test_a_missing_line_end_shows():
    mark = "\\ No newline at end of file"
    assert unified_diff("a", "a\n", "f").split("\n")[3:] == ["-a", mark, "+a"]


def test_a_huge_change_is_cut_with_a_mark():
    diff = unified_diff("".join(f"{i}\n" for i in range(50_000)), "x\n" * 50_000, "f")
    assert len(diff) <= 100_100
    assert diff.endswith("[... diff cut ...]")


@pytest.mark.process
@pytest.mark.skipif(shutil.which("patch") is None, reason="needs the patch program")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(old=LINES, new=LINES)
def test_patch_makes_the_new_text_of_the_old(tmp_path: Path, old: list[str], new: list[str]):
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    diff = unified_diff(before, after, "f")
    if not diff:
        assert before == after
        return
    target = tmp_path / "f"
    target.write_text(before)
    subprocess.run(["patch", "-s", str(target)], input=f"{diff}\n".encode(), check=True)
    assert (target.read_text() if target.exists() else "") == after
