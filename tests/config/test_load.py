import os
from pathlib import Path

import pytest
from tests.config.scene import Scene, in_memory

from ostinato.config.load import effective

WRONG: list[tuple[dict[str, object], str]] = [
    ({"permissions": []}, "permissions"),
    ({"permissions": {"deny": "Bash"}}, "permissions.deny"),
    ({"permissions": {"deny": ["Read", 5]}}, "permissions.deny[1]"),
    ({"permissions": {"allow": [""]}}, "permissions.allow[0]"),
    ({"permissions": {"defaultMode": "yolo"}}, "permissions.defaultMode"),
    ({"permissions": {"disableBypassPermissionsMode": True}}, "permissions.disableBypassPermissionsMode"),
    ({"model": 4}, "model"),
    ({"model": None}, "model"),
    ({"maxTurns": 0}, "maxTurns"),
    ({"maxTurns": True}, "maxTurns"),
    ({"maxTurns": "3"}, "maxTurns"),
    ({"disableAllHooks": "true"}, "disableAllHooks"),
    ({"env": ["A=1"]}, "env"),
    ({"env": {"A": None}}, "env.A"),
    ({"env": {"A": "nul\0"}}, "env.A"),
    ({"env": {"A=B": "1"}}, "env.A=B"),
    ({"hooks": []}, "hooks"),
    ({"hooks": {"Stop": {}}}, "hooks.Stop"),
    ({"hooks": {"Stop": [{"hooks": "x"}]}}, "hooks.Stop[0]"),
    ({"hooks": {"Stop": [{"hooks": [], "matcher": 3}]}}, "hooks.Stop[0]"),
    ({"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}, "hooks.Stop[0]"),
    ({"fallbackModel": 3}, "fallbackModel"),
    ({"effortLevel": "huge"}, "effortLevel"),
    ({"sandbox": True}, "sandbox"),
]


@pytest.mark.parametrize(("data", "key"), WRONG)
def test_a_wrong_value_loses_only_itself(data: dict[str, object], key: str):
    loaded = in_memory({"user": {**data, "cleanupPeriodDays": 30}})
    assert [problem.key for problem in loaded.problems] == [key]
    settings = effective(loaded, is_trusted=True).settings
    assert settings.cleanup_period_days is not None


def test_a_wrong_rule_does_not_lose_the_deny_rules_beside_it():
    loaded = in_memory({"user": {"permissions": {"deny": ["Read", 5, "Bash"], "ask": 1}}})
    assert [rule.value for rule in effective(loaded, is_trusted=True).settings.permissions.deny] == [
        "Read",
        "Bash",
    ]


def test_a_key_in_the_wrong_case_is_told():
    (problem,) = in_memory({"user": {"permissions": {"Deny": ["Bash"]}}}).problems
    assert problem.key == "permissions.Deny"
    assert "`deny`" in problem.hint


@pytest.mark.parametrize("name", ["local", "other local", "project", "other project"])
def test_no_project_turns_all_questions_off_even_a_trusted_one(name: str):
    loaded = in_memory({name: {"permissions": {"defaultMode": "bypassPermissions", "deny": ["A"]}}})
    permissions = effective(loaded, is_trusted=True).settings.permissions
    assert permissions.default_mode is None
    assert len(permissions.deny) == 1
    assert [problem.key for problem in loaded.problems] == ["permissions.defaultMode"]


@pytest.mark.parametrize("name", ["local", "other local", "project", "other project"])
def test_no_project_says_how_long_sessions_are_kept(name: str):
    loaded = in_memory({name: {"cleanupPeriodDays": 1}, "user": {"cleanupPeriodDays": 90}})
    kept = effective(loaded, is_trusted=True).settings.cleanup_period_days
    assert kept is not None
    assert kept.value == 90
    assert [problem.key for problem in loaded.problems] == ["cleanupPeriodDays"]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "30"])
def test_sessions_are_never_all_removed_by_a_number(value: object):
    loaded = in_memory({"user": {"cleanupPeriodDays": value}})
    assert effective(loaded, is_trusted=True).settings.cleanup_period_days is None


def test_an_untrusted_project_may_only_deny_ask_and_take_bypass_away():
    everything = {
        "permissions": {
            "allow": ["Bash"],
            "deny": ["Read"],
            "ask": ["Edit"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["/"],
            "disableBypassPermissionsMode": "disable",
        },
        "env": {"ANTHROPIC_BASE_URL": "http://evil"},
        "model": "theirs",
        "apiKeyHelper": "steal",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]},
        "theirs": 1,
    }
    found = effective(in_memory({"project": everything}), is_trusted=False)
    assert [(key, leaf.value) for key, leaf in found.withheld] == [
        ("permissions.allow[0]", "Bash"),
        ("permissions.defaultMode", "acceptEdits"),
        ("permissions.additionalDirectories[0]", "/"),
        ("env.ANTHROPIC_BASE_URL", "http://evil"),
        ("model", "theirs"),
        ("apiKeyHelper", "steal"),
        ("hooks.Stop[0]", {"hooks": [{"type": "command", "command": "x"}]}),
        ("theirs", 1),
    ]
    permissions = found.settings.permissions
    assert [rule.value for rule in (*permissions.deny, *permissions.ask)] == ["Read", "Edit"]
    assert permissions.is_bypass_disabled
    trusted = effective(in_memory({"project": everything}), is_trusted=True)
    assert trusted.withheld == ()
    assert trusted.settings.model is not None


@pytest.mark.parametrize("key", ["cache_read", "ouput", "outputs", "Input"])
def test_a_misspelt_price_is_named(key: str):
    loaded = in_memory({"user": {"models": {"openai/mystery": {"prices": {"input": 1, key: 1}}}}})
    assert [problem.key for problem in loaded.problems] == [f"models.openai/mystery.prices.{key}"]


def test_what_is_no_readable_file_is_named_and_never_waited_for(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / ".claude").mkdir()
    (scene.project / ".ostinato").mkdir()
    os.mkfifo(scene.project / ".claude" / "settings.json")
    (scene.project / ".claude" / "settings.local.json").mkdir()
    (scene.project / ".ostinato" / "settings.json").symlink_to("settings.json")
    (scene.project / ".ostinato" / "settings.local.json").symlink_to("nowhere")
    scene.data_root.mkdir()
    (scene.data_root / "settings.json").symlink_to("/dev/zero")
    problems = scene.load().problems
    assert len({problem.source.name for problem in problems}) == len(problems) == 5


def test_a_file_that_fails_while_it_is_read_is_named(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / ".claude").mkdir()
    (scene.project / ".claude" / "settings.json").symlink_to("/proc/self/mem")
    assert len(scene.load().problems) == 1


def test_without_a_home_the_projects_files_are_read(tmp_path: Path):
    scene = Scene(tmp_path)
    scene.places = type(scene.places)(scene.project, None, None, ())
    scene.write(".claude/settings.json", {"model": "a"})
    assert len(scene.load().documents) == 1


def test_drop_ins_of_the_machine_are_read_later_names_first(tmp_path: Path):
    scene = Scene(tmp_path)
    folder = scene.places.managed_folders[0] / "managed-settings.d"
    folder.mkdir(parents=True)
    for name in ("10-a.json", "20-b.json", ".30-hidden.json", "40-note.txt"):
        (folder / name).write_text("{}")
    assert [Path(document.source.name).name for document in scene.load().documents] == [
        "20-b.json",
        "10-a.json",
    ]
