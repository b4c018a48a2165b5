"""Every mechanism has its row; every row that is done has a test and a patch that exist; the page says the same."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from scripts.break_tests import PAGE, PATCHES, ROOT, apply_patch, page, read_map, touched_files

SEED_MAP = read_map()
ROWS = 147


@cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_row_has_a_name_and_a_state():
    assert list(SEED_MAP.names) == [f"S{number}" for number in range(1, ROWS + 1)]
    assert set(SEED_MAP.states.values()) <= {"done", "partly", "open"}


def test_a_row_is_done_if_it_is_proved_and_nothing_of_it_is_missing():
    proved = {row for proof in SEED_MAP.proofs for row in proof.rows}
    for row, state in SEED_MAP.states.items():
        assert state != "done" or row in proved, row
        assert state != "open" or row not in proved, row
        assert state != "partly" or SEED_MAP.notes[row], row


def test_every_test_that_proves_a_row_exists():
    for proof in SEED_MAP.proofs:
        assert proof.tests
        for test in proof.tests:
            path, name = test.split("::")
            assert name in names_in(ROOT / path), test


def test_every_patch_belongs_to_one_proof_and_breaks_only_the_file_it_names_and_its_kin():
    named = [proof.patch for proof in SEED_MAP.proofs]
    assert sorted(named) == sorted(path.name for path in (ROOT / PATCHES).glob("*"))
    for proof in SEED_MAP.proofs:
        touched = touched_files(ROOT / PATCHES / proof.patch)
        assert Path("src/ostinato") / proof.where in touched
        assert all(path.is_relative_to("src/ostinato") for path in touched)


def test_every_patch_changes_a_few_lines_only():
    for path in (ROOT / PATCHES).glob("*.patch"):
        changed = re.findall(r"^[+-](?![+-])", path.read_text(), re.MULTILINE)
        assert 1 <= len(changed) <= 10, path.name


def test_the_page_is_what_the_map_says():
    assert (ROOT / PAGE).read_text() == page(SEED_MAP), "run scripts/break-tests --write-page"


@pytest.mark.process
def test_every_patch_applies_to_the_source_as_it_is():
    problems = {
        proof.patch: problem
        for proof in SEED_MAP.proofs
        if (problem := apply_patch(ROOT / PATCHES / proof.patch, ROOT, only_check=True))
    }
    assert problems == {}
