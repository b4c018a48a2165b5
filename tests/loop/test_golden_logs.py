"""The whole event log of each scenario, as it is stored beside this file.

A log that changed on purpose is written anew by `OSTINATO_WRITE_GOLDEN=1 pytest tests/loop/test_golden_logs.py`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from tests.loop.scenarios import REASONS, SCENARIOS

import ostinato.loop
from ostinato.events import TerminalReason
from ostinato.state import ContinueReason
from ostinato.testing import log_lines, transitions

GOLDEN = Path(__file__).with_name("golden")

NO_MECHANISM = frozenset({"structured_output_retry_exhausted", "tool_deferred"})
"""Declared for clients of the field; nothing ends a query so yet. What does must bring its scenario."""

IN_ANY_ORDER = frozenset({
    "a look and a write",
    "a part that stays",
    "an account beside the passes",
    "another model goes on with a part",
    "overloads after effects",
})
"""A call runs there beside the stream or another call, and which of them is first is nobody's promise."""


def test_every_reason_has_its_scenario():
    reasons = {*get_args(ContinueReason), *get_args(TerminalReason)}
    assert reasons - set(REASONS) == NO_MECHANISM
    assert set(REASONS) <= reasons


def test_a_reason_without_a_scenario_is_one_that_nothing_gives():
    loop = Path(next(iter(ostinato.loop.__path__)))
    sources = [file.read_text() for file in loop.rglob("*.py")]
    assert [reason for reason in NO_MECHANISM if any(f'"{reason}"' in source for source in sources)] == []


def test_no_log_is_stored_that_no_scenario_makes():
    assert {file.stem for file in GOLDEN.iterdir()} == {name.replace(" ", "_") for name in SCENARIOS}


def stored(name: str, lines: Sequence[str]) -> str:
    """The log in its file, written anew if that is wished."""
    file = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("OSTINATO_WRITE_GOLDEN"):
        file.write_text("\n".join((*lines, "")))
    return file.read_text()


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_run_takes_the_course_that_is_stored(name: str):
    played = SCENARIOS[name]()
    events = await played.play()
    reasons = {*transitions(played.terminal), played.terminal.reason}
    assert name in reasons or name not in REASONS
    found, expected = list(log_lines(events)), stored(name, log_lines(events)).splitlines()
    if name in IN_ANY_ORDER:
        found, expected = sorted(found), sorted(expected)
    assert found == expected
