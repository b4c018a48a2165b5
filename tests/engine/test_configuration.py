"""Settings in a conversation: what counts, what wins, and what is said of the rest."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from msgspec.structs import replace

from ostinato.config.places import LOCAL_FILE
from ostinato.config.trust import Kept, record_trust
from ostinato.engine.assemble import open_engine
from ostinato.engine.configuration import Configuration, InEffect, in_effect, read_configuration
from ostinato.engine.options import ALL_SETTING_SOURCES, Allow, Options, PermissionAsked
from ostinato.errors import ConfigurationError, UsageError
from ostinato.events import ToolEnd
from ostinato.journal.places import session_file
from ostinato.state import DEFAULT_CONFIG
from ostinato.testing import Reply, ScriptedModel, call, fake_tool, say
from ostinato.tool import Access, ToolContext

LEVELS: Mapping[str, str] = {
    "local": "work/.ostinato/settings.local.json",
    "project": "work/.claude/settings.json",
    "user": "home/.claude/settings.json",
}


class Scene:
    """A home and a project; settings are written by level."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.work = folder / "home", folder / "work"
        for made in (self.home, self.work):
            made.mkdir()
        self.environment = {"HOME": str(self.home), "ANTHROPIC_API_KEY": "x"}

    def write(self, level: str, settings: object) -> Path:
        path = self.folder / LEVELS[level]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
        return path

    def options(self, **given: Any) -> Options:
        chosen: dict[str, Any] = {
            "setting_sources": ALL_SETTING_SOURCES,
            "environment": self.environment,
            **given,
        }
        return Options(cwd=self.work, **chosen)

    def effect(self, **given: Any) -> InEffect:
        options = self.options(**given)
        return in_effect(options, read_configuration(options))

    def trust(self) -> None:
        configuration = read_configuration(self.options())
        assert configuration.found is not None
        places = configuration.places
        assert record_trust(places.data_root, places.project_root, configuration.found.things) == Kept()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


EVERYTHING: Mapping[str, Any] = {
    "model": "opus",
    "maxTurns": 7,
    "effortLevel": "high",
    "alwaysThinkingEnabled": True,
    "fallbackModel": ["haiku", "sonnet"],
    "appendSystemPrompt": "Be kind.",
    "env": {"FOO": "bar", "PATH": "/theirs"},
    "models": {"opus": {"contextWindow": 5_000, "prices": {"cacheRead": 1}, "theirs": 1}},
    "features": {"streamingToolExecution": False, "maxToolConcurrency": 3, "theirs": True},
    "permissions": {"defaultMode": "plan", "additionalDirectories": ["sub"], "allow": ["Bash(ls:*)"]},
}


def test_every_setting_that_is_in_use_becomes_an_option(scene: Scene):
    (scene.work / "sub").mkdir()
    scene.write("project", EVERYTHING)
    scene.trust()
    effect = scene.effect(append_system_prompt="Be brief.")
    options = effect.options
    assert (options.model, options.max_turns, options.permission_mode) == ("opus", 7, "plan")
    assert (options.effort, options.thinking, options.fallback_models) == ("high", "on", ("haiku", "sonnet"))
    assert options.append_system_prompt == "Be kind.\n\nBe brief."
    assert options.environment == {**scene.environment, "FOO": "bar", "PATH": "/theirs"}
    assert options.add_dirs == (scene.work / "sub",)
    assert options.models == {"opus": {"context_window": 5_000, "prices": {"cache_read": 1}}}
    assert options.config == replace(DEFAULT_CONFIG, streaming_tool_execution=False, max_tool_concurrency=3)
    assert [(str(rule), rule.anchor) for rule in effect.rules] == [("Bash(ls:*)", scene.work)]
    assert effect.notices == ()


@pytest.mark.parametrize("value", [True, False])
def test_a_conversation_is_shortened_by_itself_only_where_the_settings_let_it(scene: Scene, *, value: bool):
    scene.write("user", {"autoCompactEnabled": value})
    assert scene.effect().options.config.auto_compact is value
    own = replace(DEFAULT_CONFIG, auto_compact=not value, max_tool_concurrency=2)
    assert scene.effect(config=own).options.config == own


async def test_what_a_pattern_excludes_is_not_loaded_not_even_when_it_is_touched(scene: Scene):
    for folder in (scene.work, scene.work / "vendor"):
        folder.mkdir(exist_ok=True)
        (folder / "AGENTS.md").write_text(f"rule of {folder.name}")
        (folder / "code.py").write_text("x")
    scene.write("user", {"claudeMdExcludes": ["vendor/**"]})
    scene.write("project", {"claudeMdExcludes": ["AGENTS.md"]})  # waits for trust
    model = ScriptedModel(Reply(call("Read", "r", file_path="vendor/code.py")), Reply(say("done")))
    async with open_engine(scene.options(model=model)) as engine:
        async for _ in engine.submit_message("go"):
            pass
    last = str(model.requests[-1])
    assert f"rule of {scene.work.name}" in last
    assert "rule of vendor" not in last


async def test_old_sessions_are_removed_at_the_start_and_the_one_that_goes_on_is_not(scene: Scene):
    first, second = [await _session(scene) for _ in range(2)]
    for path in (first, second):
        os.utime(path, (0, 0))
    scene.write("user", {"cleanupPeriodDays": 30})
    async with open_engine(scene.options(model=ScriptedModel(), resume=second.stem)):
        assert second.exists()
        assert not first.exists()


async def _session(scene: Scene) -> Path:
    async with open_engine(scene.options(model=ScriptedModel(Reply(say("done"))))) as engine:
        async for _ in engine.submit_message("go"):
            pass
        return session_file(scene.home / ".ostinato", scene.work, engine.session_id)


def test_of_an_untrusted_project_nothing_but_deny_and_ask_becomes_an_option(scene: Scene):
    scene.write(
        "project", {**EVERYTHING, "permissions": {"allow": ["Bash"], "deny": ["Read"], "ask": ["Edit"]}}
    )
    effect = scene.effect()
    untouched = scene.options()
    for name in (
        "model",
        "max_turns",
        "permission_mode",
        "effort",
        "thinking",
        "add_dirs",
        "models",
        "config",
    ):
        assert getattr(effect.options, name) == getattr(untouched, name)
    assert effect.options.environment == scene.environment
    assert [(rule.behaviour, str(rule)) for rule in effect.rules] == [("deny", "Read"), ("ask", "Edit")]


WISHES: list[tuple[dict[str, str], str | None, str]] = [
    ({}, None, "of the file"),
    ({"OSTINATO_MODEL": "by variable"}, None, "by variable"),
    ({"ANTHROPIC_MODEL": "theirs"}, None, "theirs"),
    ({"ANTHROPIC_MODEL": "theirs", "OSTINATO_MODEL": "by variable"}, None, "by variable"),
    ({"OSTINATO_MODEL": "by variable"}, "by flag", "by flag"),
]


@pytest.mark.parametrize(("variables", "flag", "model"), WISHES)
@pytest.mark.parametrize("has_file", [True, False])
def test_a_flag_wins_over_a_variable_and_that_over_a_file(
    scene: Scene, variables: dict[str, str], flag: str | None, model: str, has_file: bool
):
    if has_file:
        scene.write("user", {"model": "of the file"})
    scene.environment |= variables
    expected = None if model == "of the file" and not has_file else model
    assert scene.effect(model=flag).options.model == expected


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "²", "9" * 5_001])
def test_a_variable_that_makes_no_sense_is_an_error(scene: Scene, text: str):
    scene.environment["OSTINATO_MAX_TURNS"] = text
    with pytest.raises(ConfigurationError):
        scene.effect()


def test_a_program_reads_no_files_unless_it_names_them(scene: Scene):
    for level in LEVELS:
        scene.write(level, {"model": level})
    scene.trust()
    assert scene.effect(setting_sources=()).options.model is None
    assert scene.effect(setting_sources=("user",)).options.model == "user"
    assert scene.effect(setting_sources=("user", "project")).options.model == "project"
    assert scene.effect(settings={"model": "given"}, setting_sources=()).options.model == "given"
    assert scene.effect(settings='{"model": "given"}').options.model == "given"
    assert scene.effect(settings=scene.folder / LEVELS["local"], setting_sources=()).options.model == "local"


@pytest.mark.parametrize("sources", [("managed",), "user", ("user", "other")])
def test_a_setting_source_that_there_is_not_is_an_error(scene: Scene, sources: Any):
    with pytest.raises(UsageError):
        read_configuration(scene.options(setting_sources=sources))


def test_a_wrong_rule_a_missing_folder_and_a_broken_file_are_named_and_the_rest_counts(scene: Scene):
    scene.write("user", {"permissions": {"allow": ["Edit((", "Read"], "additionalDirectories": ["/missing"]}})
    scene.write("project", "{")
    effect = scene.effect()
    assert [str(rule) for rule in effect.rules] == ["Read"]
    assert effect.options.add_dirs == ()
    told = "\n".join(effect.notices)
    assert all(part in told for part in ("Edit((", "/missing", str(scene.folder / LEVELS["project"])))


def test_a_hundred_faults_are_told_in_a_few_plain_lines(scene: Scene):
    scene.write(
        "project", {"permissions": {"deny": [f"\x1b[2J\u202e{'x' * 9_000}({index}" for index in range(100)]}}
    )
    notices = scene.effect().notices
    assert len(notices) <= 6
    assert all(notice.isprintable() and len(notice) < 500 for notice in notices)


def test_the_callers_own_gates_and_model_win_over_settings(scene: Scene):
    scene.write("user", {"features": {"sequentialTools": True}, "model": "opus"})
    own = replace(DEFAULT_CONFIG, max_tool_concurrency=2)
    model = ScriptedModel(Reply(say("a")))
    options = scene.effect(config=own, model=model).options
    assert (options.config, options.model) == (own, model)


@pytest.mark.parametrize("level", LEVELS)
def test_where_bypass_is_taken_away_a_flag_is_an_error_and_a_setting_is_left_out(scene: Scene, level: str):
    scene.write(level, {"permissions": {"disableBypassPermissionsMode": "disable"}})
    if level != "user":
        scene.write("user", {"permissions": {"defaultMode": "bypassPermissions"}})
        assert scene.effect().options.permission_mode is None
    with pytest.raises(UsageError):
        scene.effect(permission_mode="bypassPermissions")


@pytest.mark.parametrize("level", ["local", "project"])
def test_a_trusted_project_may_choose_a_mode_but_not_the_one_that_allows_everything(scene: Scene, level: str):
    scene.write(level, {"permissions": {"defaultMode": "bypassPermissions"}})
    scene.trust()
    assert scene.effect().options.permission_mode is None
    scene.write(level, {"permissions": {"defaultMode": "acceptEdits"}})
    scene.trust()
    assert scene.effect().options.permission_mode == "acceptEdits"


def test_settings_never_move_our_own_folders(scene: Scene):
    scene.write("user", {"env": {"OSTINATO_HOME": str(scene.work), "HOME": "/elsewhere"}})
    options = scene.options()
    configuration = read_configuration(options)
    assert configuration.places.data_root == scene.home / ".ostinato"
    assert configuration.home == scene.home
    effect = in_effect(options, configuration)
    assert (effect.options.environment or {})["HOME"] == str(scene.home)
    assert any("`HOME`" in notice for notice in effect.notices)


# ------------------------------------------------------------------------------------------------ in an engine


async def outcomes(scene: Scene, *commands: str, **given: Any) -> list[str]:
    """How each command ends, one after another."""
    replies = [Reply(call("Bash", f"t{index}", command=command)) for index, command in enumerate(commands)]
    model = ScriptedModel(*replies, Reply(say("done")))
    options = scene.options(model=model, tools=[fake_tool("Bash")], keep_session=False, **given)
    async with open_engine(options) as engine:
        events = [event async for event in engine.submit_message("go")]
    return [event.outcome for event in events if isinstance(event, ToolEnd)]


class Person:
    """Says yes and remembers, as often as asked."""

    def __init__(self, **answer: Any) -> None:
        self.asked: list[PermissionAsked] = []
        self._answer = answer

    async def __call__(self, asked: PermissionAsked) -> Allow:
        self.asked.append(asked)
        return Allow(remember=asked.suggestions, **self._answer)


async def test_an_answer_always_holds_at_once_and_in_the_next_conversation(scene: Scene):
    person = Person()
    found = await outcomes(scene, "npm test", "npm test -- a", "npm publish", can_use_tool=person)
    assert found == ["ok", "ok", "ok"]
    assert [asked.input["command"] for asked in person.asked] == ["npm test", "npm publish"]
    assert person.asked[0].rules_file == scene.work / LOCAL_FILE
    saved = json.loads((scene.work / LOCAL_FILE).read_text())
    assert saved == {"permissions": {"allow": ["Bash(npm test:*)", "Bash(npm publish:*)"]}}
    assert await outcomes(scene, "npm test", "npm install") == ["ok", "denied"]


async def test_an_answer_for_the_conversation_leaves_no_file(scene: Scene):
    person = Person(remember_for="conversation")
    assert await outcomes(scene, "npm test", "npm test -- a", can_use_tool=person) == ["ok", "ok"]
    assert len(person.asked) == 1
    assert not (scene.work / ".ostinato").exists()


async def test_an_answer_keeps_the_trust_of_a_trusted_project(scene: Scene):
    scene.write("project", {"permissions": {"allow": ["Bash(make:*)"]}})
    scene.trust()
    assert await outcomes(scene, "make", "npm test", can_use_tool=Person()) == ["ok", "ok"]
    assert await outcomes(scene, "make", "npm test") == ["ok", "ok"]


async def test_an_answer_beside_settings_that_only_forbid_holds_the_next_time(scene: Scene):
    scene.write("project", {"permissions": {"deny": ["Bash(rm:*)"]}})
    assert await outcomes(scene, "npm test", can_use_tool=Person()) == ["ok"]
    assert await outcomes(scene, "npm test", "rm a") == ["ok", "denied"]


async def test_in_an_untrusted_project_an_answer_is_not_saved_beside_what_nobody_trusts(scene: Scene):
    path = scene.write("local", {"permissions": {"allow": ["Bash(make:*)"]}})
    before = path.read_bytes()
    person = Person()
    assert await outcomes(scene, "npm test", "npm test", "make", can_use_tool=person) == ["ok", "ok", "ok"]
    assert [asked.rules_file for asked in person.asked] == [None, None]
    assert path.read_bytes() == before


async def test_without_the_local_files_an_answer_holds_for_the_conversation(scene: Scene):
    person = Person()
    assert await outcomes(scene, "npm test", can_use_tool=person, setting_sources=()) == ["ok"]
    assert person.asked[0].rules_file is None
    assert not (scene.work / ".ostinato").exists()


async def test_a_rule_that_cannot_be_saved_holds_and_is_told(scene: Scene):
    told: list[str] = []
    (scene.work / ".ostinato").symlink_to(scene.home)
    (scene.home / "settings.local.json").symlink_to("settings.local.json")
    found = await outcomes(
        scene,
        "npm test",
        "npm test",
        can_use_tool=Person(),
        on_notice=told.append,
        configuration=read_before_the_links(scene),
    )
    assert found == ["ok", "ok"]
    assert len(told) == 1


def read_before_the_links(scene: Scene) -> Configuration:
    """A configuration that was read before somebody put the links there."""
    link = scene.work / ".ostinato"
    link.unlink()
    configuration = read_configuration(scene.options())
    link.symlink_to(scene.home)
    return configuration


@pytest.mark.parametrize("command", ["sh -c 'npm test'", "npm test > /dev/sda", "eval npm test", "$NPM test"])
async def test_what_cannot_be_proven_simple_is_never_remembered(scene: Scene, command: str):
    class Greedy:
        async def __call__(self, asked: PermissionAsked) -> Allow:
            assert asked.suggestions == ()
            return Allow(remember=("Bash(npm test:*)",))

    assert await outcomes(scene, command, can_use_tool=Greedy()) == ["denied"]
    assert not (scene.work / ".ostinato").exists()


QUICK = """
import sys
from pathlib import Path
from ostinato.engine.configuration import in_effect, read_configuration
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
options = Options(cwd=Path(sys.argv[1]), environment={"HOME": sys.argv[1]}, setting_sources=ALL_SETTING_SOURCES)
in_effect(options, read_configuration(options))
print(*(name for name in sys.modules if name.startswith("ostinato.config.")))
"""


@pytest.mark.process
def test_where_no_settings_lie_only_the_places_are_loaded(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", QUICK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ostinato.config.places"]


# ------------------------------------------------------------------------------------------------ gates


async def runs_in_sequence(scene: Scene, *, changed_to: object = None) -> list[bool]:
    """For each of two passes: whether its two calls ran one after the other. The first pass writes new settings."""
    order: list[str] = []

    async def work(_arguments: Mapping[str, Any], context: ToolContext) -> str:
        order.append(f"+{context.tool_use_id}")
        if changed_to is not None:
            scene.write("user", changed_to)
        for _ in range(100):  # long enough for the other call to begin, if it may
            await anyio.lowlevel.checkpoint()
        order.append(f"-{context.tool_use_id}")
        return "ok"

    tool = fake_tool("Work", work, access=lambda _arguments, _workspace: Access())
    passes = [Reply(call("Work", f"{turn}1"), call("Work", f"{turn}2")) for turn in "ab"]
    model = ScriptedModel(*passes, Reply(say("done")))
    options = scene.options(model=model, tools=[tool], allowed_tools=("Work",), keep_session=False)
    async with open_engine(options) as engine:
        async for _event in engine.submit_message("go"):
            pass
    return [order[start : start + 2] == [f"+{turn}1", f"-{turn}1"] for turn, start in (("a", 0), ("b", 4))]


@pytest.mark.parametrize("is_sequential", [True, False])
async def test_a_gate_of_the_loop_is_switched_by_settings(scene: Scene, is_sequential: bool):
    scene.write("user", {"features": {"sequentialTools": is_sequential}})
    assert await runs_in_sequence(scene) == [is_sequential, is_sequential]


@pytest.mark.parametrize("is_sequential", [True, False])
async def test_a_gate_that_is_flipped_while_a_query_runs_counts_from_the_next_conversation(
    scene: Scene, is_sequential: bool
):
    flipped = {"features": {"sequentialTools": not is_sequential}}
    scene.write("user", {"features": {"sequentialTools": is_sequential}})
    assert await runs_in_sequence(scene, changed_to=flipped) == [is_sequential, is_sequential]
    assert await runs_in_sequence(scene) == [not is_sequential, not is_sequential]


LOST: Mapping[str, object] = {
    "no JSON": '{"permissions": {"deny": ["Bash"]},}',
    "no object": "[]",
    "empty": "",
    "no list": {"permissions": {"deny": "Bash"}},
    "no text": {"permissions": {"deny": [5]}},
    "another case": {"Permissions": {"deny": ["Bash"]}},
    "no rule": {"permissions": {"deny": ["Bash("]}},
    "permissions": {"permissions": []},
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("settings", LOST.values(), ids=LOST)
@pytest.mark.parametrize("asks", ["flag", "setting", "later"])
async def test_nothing_runs_unasked_while_a_rule_that_denies_may_be_lost(
    scene: Scene, level: str, settings: object, asks: str
):
    path = scene.write(level, settings)
    if asks == "later":
        async with open_engine(scene.options(model=ScriptedModel())) as engine:
            with pytest.raises(UsageError):
                engine.set_permission_mode("bypassPermissions")
        return
    given: dict[str, Any] = {"permission_mode": "bypassPermissions"} if asks == "flag" else {}
    if asks == "setting":
        given["settings"] = {"permissions": {"defaultMode": "bypassPermissions"}}
    with pytest.raises(ConfigurationError, match=path.name):
        scene.effect(**given)


def test_a_fault_that_can_lose_no_restriction_stops_no_mode(scene: Scene):
    scene.write("user", {"model": 5, "permissions": {"allow": ["Bash(", 5]}})
    effect = scene.effect(permission_mode="bypassPermissions")
    assert effect.options.permission_mode == "bypassPermissions"
    assert not effect.is_bypass_disabled
