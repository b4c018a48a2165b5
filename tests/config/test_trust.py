import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.config.scene import Scene

from ostinato.config.places import Places
from ostinato.config.project_things import MAX_FILES, Things, is_unchanged, scan_project
from ostinato.config.save_rule import save_rules
from ostinato.config.trust import (
    Change,
    Kept,
    NotKept,
    Trusted,
    Untrusted,
    forget_trust,
    record_trust,
    renew_trust,
    trust_state,
)

HOOK = {
    "Stop": [
        {
            "hooks": [
                {"type": "command", "command": 'python3 "$CLAUDE_PROJECT_DIR/scripts/check it.py" --fast'}
            ]
        }
    ]
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A project with one of everything that could act."""
    made = Scene(tmp_path)
    made.write(".ostinato/settings.json", {"hooks": HOOK, "apiKeyHelper": "./bin/key.sh"})
    made.write(".ostinato/settings.local.json", {"permissions": {"allow": ["Bash"]}})
    made.write(".claude/settings.json", {"statusLine": {"command": "sh bin/../bin/status.sh"}})
    made.write(".claude/settings.local.json", {"env": {"BASH_ENV": "bin/start.sh"}})
    made.write(".mcp.json", {"mcpServers": {"a": {"command": "node", "args": ["tools/server.js"]}}})
    made.write("scripts/check it.py", "pass")
    for name in ("key.sh", "status.sh", "start.sh"):
        made.write(f"bin/{name}", "true")
    made.write("tools/server.js", "1")
    for folder in (".ostinato", ".claude", ".agents"):
        made.write(f"{folder}/commands/one.md", "!`ls`")
        made.write(f"{folder}/skills/two/SKILL.md", "two")
        made.write(f"{folder}/skills/two/run.py", "pass")
        made.write(f"{folder}/agents/three.md", "three")
        made.write(f"{folder}/hooks/four.sh", "true")
    made.write("src/app.py", "not acting")
    made.write("CLAUDE.md", "inert")
    return made


def trust(scene: Scene) -> None:
    assert record_trust(scene.data_root, scene.project, scene.scan()) == Kept()
    assert isinstance(scene.state(), Trusted)


ACTING = [
    ".ostinato/settings.json",
    ".ostinato/settings.local.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
    "scripts/check it.py",
    "bin/key.sh",
    "bin/status.sh",
    "bin/start.sh",
    "tools/server.js",
    *(
        f"{folder}/{name}"
        for folder in (".ostinato", ".claude", ".agents")
        for name in (
            "commands/one.md",
            "skills/two/SKILL.md",
            "skills/two/run.py",
            "agents/three.md",
            "hooks/four.sh",
        )
    ),
]


def test_a_folder_that_nobody_trusted_is_untrusted_and_all_it_supplies_is_named(scene: Scene):
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert not state.was_trusted
    assert state.changed == tuple(Change(name, "added") for name in sorted(ACTING))


@pytest.mark.parametrize("name", ACTING)
def test_a_change_of_any_acting_thing_takes_the_trust_away_and_is_named(scene: Scene, name: str):
    trust(scene)
    path = scene.project / name
    path.write_text(path.read_text() + " ")
    assert scene.state() == Untrusted(scene.scan(), (Change(name, "changed"),), was_trusted=True)


@pytest.mark.parametrize("name", ACTING)
def test_the_loss_of_any_acting_thing_takes_the_trust_away(scene: Scene, name: str):
    trust(scene)
    (scene.project / name).unlink()
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert Change(name, "removed") in state.changed


@pytest.mark.parametrize(
    "name",
    [
        ".claude/skills/new/SKILL.md",
        ".claude/commands/a/b/c.md",
        ".ostinato/plugins/x.json",
        ".agents/hooks/h",
    ],
)
def test_a_new_acting_thing_takes_the_trust_away(scene: Scene, name: str):
    trust(scene)
    scene.write(name, "new")
    assert scene.state() == Untrusted(scene.scan(), (Change(name, "added"),), was_trusted=True)


def test_what_only_the_model_reads_does_not_touch_the_trust(scene: Scene):
    trust(scene)
    for name in (
        "src/app.py",
        "CLAUDE.md",
        ".claude/rules/a.md",
        ".claude/worktrees/a/.claude/settings.json",
    ):
        scene.write(name, "changed")
    assert isinstance(scene.state(), Trusted)


def test_an_executable_bit_and_a_bent_link_are_changes(scene: Scene):
    link = scene.project / ".claude" / "commands" / "link.md"
    scene.write("a.md", "same")
    scene.write("b.md", "same")
    link.symlink_to("../../a.md")
    trust(scene)
    (scene.project / "bin/key.sh").chmod(0o755)
    link.unlink()
    link.symlink_to("../../b.md")
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert {change.name for change in state.changed} == {"bin/key.sh", ".claude/commands/link.md"}


def test_what_a_link_leads_to_is_part_of_the_content(scene: Scene, tmp_path: Path):
    outside = tmp_path / "outside"
    (outside / "skill").mkdir(parents=True)
    (outside / "skill" / "SKILL.md").write_text("a")
    (scene.project / ".claude" / "skills" / "linked").symlink_to(outside / "skill")
    trust(scene)
    (outside / "skill" / "SKILL.md").write_text("b")
    assert scene.state() == Untrusted(
        scene.scan(), (Change(".claude/skills/linked/SKILL.md", "changed"),), was_trusted=True
    )


def test_a_named_script_is_found_by_where_the_name_leads(scene: Scene):
    (scene.project / "real").mkdir()
    scene.write("evil.sh", "1")
    scene.write("deep/inner/x", "")
    scene.write("deep/evil.sh", "1")
    (scene.project / "link").symlink_to("deep/inner")
    scene.write(".claude/settings.json", {"apiKeyHelper": "sh link/../evil.sh"})
    assert {"evil.sh", "deep/evil.sh"} <= set(scene.scan().digests)


def test_the_bytes_that_were_read_are_what_trust_is_for(scene: Scene):
    loaded = scene.load()
    scene.write(".claude/settings.json", {"model": "swapped in after it was read"})
    things = scan_project(scene.places, loaded.documents, loaded.project_digests)
    record_trust(scene.data_root, scene.project, things)
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert Change(".claude/settings.json", "changed") in state.changed


def test_a_thing_is_looked_at_again_before_it_acts(scene: Scene):
    things = scene.scan()
    for name in (".mcp.json", "bin/key.sh"):
        assert is_unchanged(things, scene.project, name)
        scene.write(name, "swapped")
        assert not is_unchanged(things, scene.project, name)
    assert not is_unchanged(things, scene.project, "src/app.py")


def make_loop(folder: Path) -> None:
    (folder / "loop").symlink_to(".")
    (folder / "other").symlink_to(".")


def make_fifo(folder: Path) -> None:
    os.mkfifo(folder / "fifo")


def make_broken_link(folder: Path) -> None:
    (folder / "broken").symlink_to("nowhere")


def make_too_many(folder: Path) -> None:
    for index in range(MAX_FILES + 1):
        (folder / str(index)).touch()


@pytest.mark.parametrize("make", [make_loop, make_fifo, make_broken_link, make_too_many])
def test_what_cannot_be_looked_at_cannot_be_trusted(tmp_path: Path, make: Callable[[Path], None]):
    scene = Scene(tmp_path)
    folder = scene.project / ".claude" / "commands"
    folder.mkdir(parents=True)
    make(folder)
    things = scene.scan()
    assert None in things.digests.values()
    assert len(things.digests) <= MAX_FILES + 2
    assert isinstance(record_trust(scene.data_root, scene.project, things), NotKept)
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert "unreadable" in {change.kind for change in state.changed}


# ------------------------------------------------------------------------------------------------ which folder


def test_trust_of_a_parent_is_not_trust_of_a_repository_in_it_or_of_a_worktree(scene: Scene):
    trust(scene)
    for name in ("child", ".claude/worktrees/one"):
        child = scene.project / name
        child.mkdir(parents=True)
        things = scan_project(Places(child, scene.data_root, None))
        assert isinstance(trust_state(scene.data_root, child, things), Untrusted)


def test_the_same_content_in_another_folder_is_not_trusted(scene: Scene, tmp_path: Path):
    trust(scene)
    scene.project.rename(tmp_path / "moved")
    scene.project = tmp_path / "moved"
    scene.places = Places(scene.project, scene.data_root, None)
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert not state.was_trusted


def test_a_link_to_a_trusted_project_is_that_project(scene: Scene, tmp_path: Path):
    trust(scene)
    link = tmp_path / "link"
    link.symlink_to(scene.project)
    assert isinstance(trust_state(scene.data_root, link, scene.scan()), Trusted)
    places = Places(link, scene.data_root, None)
    loaded = scene.load()
    assert scan_project(places, loaded.documents, loaded.project_digests) == scene.scan()


def test_a_folder_that_differs_in_case_is_another_folder(scene: Scene, tmp_path: Path):
    trust(scene)
    assert isinstance(trust_state(scene.data_root, tmp_path / "Project", scene.scan()), Untrusted)


def test_a_name_that_is_not_utf8_can_be_trusted(tmp_path: Path):
    scene = Scene(tmp_path)
    odd = os.fsdecode(b"\xff.md")
    scene.write(f".claude/commands/{odd}", "x")
    trust(scene)
    scene.write(f".claude/commands/{odd}", "y")
    assert isinstance(scene.state(), Untrusted)


def test_a_project_that_supplies_nothing_has_nothing_to_trust(tmp_path: Path):
    state = Scene(tmp_path).state()
    assert state == Untrusted(Things({}), ())


# ------------------------------------------------------------------------------------------------ the record


def test_trust_can_be_taken_back(scene: Scene):
    trust(scene)
    assert forget_trust(scene.data_root, scene.project) == Kept()
    assert isinstance(scene.state(), Untrusted)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_the_record_is_for_its_owner_alone(scene: Scene, mode: int):
    trust(scene)
    path = scene.data_root / "trust.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(mode)
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert state.reason
    assert isinstance(record_trust(scene.data_root, scene.project, scene.scan()), NotKept)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"version": 99, "projects": {}}', '{"version": 1, "projects": 3}']
)
def test_a_record_that_cannot_be_read_trusts_nothing_and_is_left_as_it_is(scene: Scene, content: str):
    scene.data_root.mkdir()
    path = scene.data_root / "trust.json"
    path.write_text(content)
    path.chmod(0o600)
    state = scene.state()
    assert isinstance(state, Untrusted)
    assert state.reason
    answer = record_trust(scene.data_root, scene.project, scene.scan())
    assert isinstance(answer, NotKept)
    assert answer.hint
    assert path.read_text() == content


def test_a_home_that_cannot_be_written_is_said_and_does_not_stop_anything(scene: Scene, tmp_path: Path):
    (tmp_path / "file").touch()
    for data_root in (None, tmp_path / "file" / "home"):
        answer = record_trust(data_root, scene.project, scene.scan())
        assert isinstance(answer, NotKept)
        assert answer.hint
        assert isinstance(trust_state(data_root, scene.project, scene.scan()), Untrusted)


def test_a_record_in_the_project_itself_is_not_believed(scene: Scene):
    inside = scene.project / ".home"
    inside.mkdir()
    things = scene.scan()
    record = {"version": 1, "projects": {os.path.realpath(scene.project): dict(things.digests)}}
    (inside / "trust.json").write_text(json.dumps(record))
    (inside / "trust.json").chmod(0o600)
    state = trust_state(inside, scene.project, things)
    assert isinstance(state, Untrusted)
    assert state.reason
    assert isinstance(record_trust(inside, scene.project, things), NotKept)


def test_our_own_saved_rule_keeps_the_trust(scene: Scene):
    trust(scene)
    saved = save_rules(scene.project, ["Bash(npm test:*)"])
    assert isinstance(scene.state(), Untrusted)
    assert renew_trust(scene.data_root, scene.project, saved) == Kept()
    assert isinstance(scene.state(), Trusted)


def test_the_first_saved_rule_of_a_project_keeps_the_trust(tmp_path: Path):
    scene = Scene(tmp_path)
    scene.write(".claude/settings.json", {})
    trust(scene)
    renew_trust(scene.data_root, scene.project, save_rules(scene.project, ["Bash"]))
    assert isinstance(scene.state(), Trusted)


def test_a_saved_rule_renews_nothing_that_was_not_trusted(scene: Scene):
    renew_trust(scene.data_root, scene.project, save_rules(scene.project, ["Bash"]))
    assert isinstance(scene.state(), Untrusted)
    trust(scene)
    scene.write(".ostinato/settings.local.json", {"permissions": {"allow": ["Planted"]}})
    renew_trust(scene.data_root, scene.project, save_rules(scene.project, ["Bash(ls)"]))
    assert isinstance(scene.state(), Untrusted)


TRUSTER = """
import sys
from pathlib import Path
from ostinato.config.project_things import Things
from ostinato.config.trust import Kept, record_trust
for index in range(30):
    project = Path(f"/nowhere/{sys.argv[2]}-{index}")
    assert record_trust(Path(sys.argv[1]), project, Things({"a": "b"})) == Kept()
"""


@pytest.mark.process
def test_parallel_processes_lose_no_trust(tmp_path: Path):
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", TRUSTER, str(tmp_path / "home"), str(number)])
            )
            for number in range(4)
        ]
    assert [process.returncode for process in processes] == [0] * 4
    assert len(json.loads((tmp_path / "home" / "trust.json").read_bytes())["projects"]) == 120
