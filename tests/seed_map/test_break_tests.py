"""The proof is strict: only a test that fails, and fails for its own reason, counts as red."""

import subprocess
from pathlib import Path

import pytest
from scripts.break_tests import Proof, Ran, apply_patch, judged, touched_files

TEST = "tests/test_x.py::test_it"
PATCH = """diff --git a/one.py b/one.py
--- a/one.py
+++ b/one.py
@@ -4,5 +4,5 @@
 changed since
 first
-second
+broken
 third
 changed too
"""


def proof(*tests: str, hangs: bool = False) -> Proof:
    return Proof(("S1",), "one.py", tests or (TEST,), "S1.patch", "breaks", hangs)


def ran(code: int, failures: dict[str, str] | None = None, output: str = "the end") -> Ran:
    return Ran(code, failures or {}, output)


@pytest.mark.parametrize(
    ("wanted", "how", "is_red"),
    [
        (proof(), ran(1, {TEST: "AssertionError"}), True),
        (proof(), ran(1, {f"{TEST}[trio]": "AssertionError"}), True),
        (proof(), ran(0), False),
        (proof(), ran(2, {"tests/test_x.py": "error in collection"}), False),
        (proof(), ran(4), False),
        (proof(TEST, "tests/test_x.py::test_other"), ran(1, {TEST: "AssertionError"}), False),
        (proof(), ran(1, {f"{TEST}_too": "AssertionError"}), False),
        (proof(), ran(1, {TEST: "NameError: name 'x'"}), False),
        (proof(), ran(1, {TEST: "Failed"}, "Timeout (>8.0s)"), False),
        (proof(hangs=True), ran(1, {TEST: "Failed"}, "Timeout (>8.0s)"), True),
    ],
    ids=[
        "fails",
        "fails on one backend",
        "stays green",
        "cannot be collected",
        "no such test",
        "one of two fails",
        "another test fails",
        "a name is missing",
        "hangs",
        "hangs as it must",
    ],
)
def test_only_a_failure_for_its_own_reason_is_red(wanted: Proof, how: Ran, is_red: bool):
    assert judged(wanted, how).is_red is is_red


@pytest.mark.process
def test_a_patch_applies_wherever_its_lines_have_moved_and_says_so_when_they_are_gone(tmp_path: Path):
    patch, target = tmp_path / "S1.patch", tmp_path / "one.py"
    patch.write_text(PATCH)
    assert touched_files(patch) == (Path("one.py"),)
    target.write_text("new\nlines\nabove\nfirst\nsecond\nthird\nbelow\n")
    assert apply_patch(patch, tmp_path) == ""
    assert target.read_text() == "new\nlines\nabove\nfirst\nbroken\nthird\nbelow\n"
    target.write_text("nothing of it\n")
    assert "one.py" in apply_patch(patch, tmp_path)


@pytest.mark.process
def test_a_row_that_does_not_exist_is_named(pytestconfig: pytest.Config):
    command = ["scripts/break-tests", "S999"]
    ended = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "S999" in ended.stderr
