"""What the model was given once it may read again, and nothing beside it: the folder of stored results is no second workspace."""

from pathlib import Path

import msgspec
from tests.permissions.gate_calls import MODES, bash, file_tool, outcome

from ostinato.permissions.verdict import CallFacts

STORED = Path("/data/session/tool-results")
ONE = str(STORED / "t1.txt")


def kept(call: CallFacts, **resolved: tuple[Path, ...]) -> CallFacts:
    leads = dict(call.resolved) | {Path(ONE): resolved.get("leads", (Path(ONE),))}
    return msgspec.structs.replace(call, stored_results=STORED, resolved=leads)


def test_a_stored_result_is_read_without_asking_in_every_mode() -> None:
    for mode in MODES:
        assert outcome(kept(file_tool("Read", ONE)), mode=mode) == "Allow"
        assert outcome(kept(bash(f"head -n 20 {ONE}")), mode=mode) == "Allow"


def test_without_such_a_folder_the_same_path_is_outside() -> None:
    assert outcome(file_tool("Read", ONE)) == "Ask"


def test_it_is_not_written() -> None:
    for mode in ("default", "acceptEdits"):
        assert outcome(kept(file_tool("Write", ONE)), mode=mode) == "Ask"
        assert outcome(kept(bash(f"echo x > {ONE}")), mode=mode) == "Ask"


def test_a_link_in_it_leads_no_further_and_a_deny_rule_holds_there_too() -> None:
    assert outcome(kept(file_tool("Read", ONE), leads=(Path("/etc/shadow"),))) == "Ask"
    assert outcome(kept(file_tool("Read", ONE)), f"deny Read(/{ONE})") == "Deny"
