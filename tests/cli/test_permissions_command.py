"""`ostinato permissions explain` as people run it: an answer, how it came about, and nothing that runs."""

from pathlib import Path

import msgspec
import pytest
from tests.cli.command import Desk

pytestmark = pytest.mark.process


def test_a_command_is_explained_and_not_run(tmp_path: Path):
    desk = Desk(tmp_path)
    ended = desk.run(
        "permissions", "explain", "touch ran && rm -rf x", "--allowed-tools", "Bash(touch:*)", "--disallowed-tools", "Bash(rm:*)"
    )  # fmt: skip
    assert ended.code == 0
    assert ended.text.startswith("denied: ")
    assert "Bash(touch:*)" in ended.text
    assert list(desk.work.iterdir()) == []


def test_json_has_the_same_answer_for_programs(tmp_path: Path):
    desk = Desk(tmp_path)
    ended = desk.run("permissions", "explain", "--tool", "Read", "/etc/passwd", "--json")
    report = msgspec.json.decode(ended.out)
    assert (report["outcome"], report["suggestions"]) == ("ask", ["Read(//etc/passwd)"])


def test_the_mode_counts(tmp_path: Path):
    desk = Desk(tmp_path)
    ended = desk.run("permissions", "explain", "--tool", "Edit", "a", "--permission-mode", "acceptEdits")
    assert ended.text.startswith("allowed: ")


def test_a_rule_that_is_none_is_a_usage_error(tmp_path: Path):
    ended = Desk(tmp_path).run("permissions", "explain", "ls", "--allowed-tools", "Bash(")
    assert ended.code == 2
    assert ended.out == b""


def test_rules_and_mode_of_the_settings_count_with_their_file(tmp_path: Path):
    desk = Desk(tmp_path)
    (desk.home / ".ostinato").mkdir()
    settings = {"permissions": {"deny": ["Bash(rm:*)"], "defaultMode": "acceptEdits"}}
    (desk.home / ".ostinato/settings.json").write_bytes(msgspec.json.encode(settings))
    ended = desk.run("permissions", "explain", "rm x", "--allowed-tools", "Bash")
    assert ended.text.startswith("denied: ")
    assert "settings.json" in ended.text
    assert desk.run("permissions", "explain", "--tool", "Edit", "a").text.startswith("allowed: ")
    assert desk.run("permissions", "explain", "rm x", "--setting-sources=").text.startswith("asked: ")


def test_what_an_untrusted_project_allows_does_not_count_until_it_is_trusted(tmp_path: Path):
    desk = Desk(tmp_path)
    (desk.work / ".ostinato").mkdir()
    settings = {"permissions": {"allow": ["Bash(make:*)"]}}
    (desk.work / ".ostinato/settings.json").write_bytes(msgspec.json.encode(settings))
    ended = desk.run("permissions", "explain", "make")
    assert ended.text.startswith("asked: ")
    assert "not trusted" in ended.err
    assert desk.run("permissions", "explain", "make", "--trust").text.startswith("allowed: ")


def test_a_subcommand_that_is_called_wrongly_names_its_own_help(tmp_path: Path):
    ended = Desk(tmp_path).run("permissions", "explain")
    assert ended.code == 2
    assert "`ostinato permissions explain --help`" in ended.err
