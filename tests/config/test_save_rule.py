import contextlib
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.config.scene import Scene

from ostinato.config.load import effective
from ostinato.config.places import LOCAL_FILE
from ostinato.config.save_rule import save_rules
from ostinato.config.write_file import swap_in
from ostinato.errors import ConfigurationError


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_saved_rule_is_read_again(tmp_path: Path):
    scene = Scene(tmp_path)
    saved = save_rules(scene.project, ["Bash(npm test:*)", "Bash(git log:*)"])
    assert (saved.before, saved.after) == (None, digest(saved.path))
    rules = effective(scene.load(), is_trusted=True).settings.permissions.allow
    assert [(rule.value, rule.origin.source.level) for rule in rules] == [
        ("Bash(npm test:*)", "local"),
        ("Bash(git log:*)", "local"),
    ]


def test_other_keys_their_order_and_the_permissions_of_the_file_stay(tmp_path: Path):
    scene = Scene(tmp_path)
    data = {
        "zeta": [1.0, None, "ü"],
        "permissions": {"ask": ["Edit"], "allow": ["Read"]},
        "alpha": {"deep": True},
    }
    path = scene.write(str(LOCAL_FILE), data)
    path.chmod(0o640)
    before = digest(path)
    saved = save_rules(scene.project, ["Bash"])
    data["permissions"] = {"ask": ["Edit"], "allow": ["Read", "Bash"]}
    assert path.read_text() == json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert (saved.before, saved.after) == (before, digest(path))
    assert os.listdir(path.parent) == [path.name]


def test_a_rule_that_is_there_is_not_written_again(tmp_path: Path):
    scene = Scene(tmp_path)
    path = scene.write(str(LOCAL_FILE), '{"permissions":{"allow":["Bash"]}}')
    saved = save_rules(scene.project, ["Bash", "Bash"])
    assert saved.added == ()
    assert path.read_text() == '{"permissions":{"allow":["Bash"]}}'


def test_deny_and_ask_rules_go_to_their_own_lists(tmp_path: Path):
    scene = Scene(tmp_path)
    save_rules(scene.project, ["A"], behaviour="deny")
    saved = save_rules(scene.project, ["B"], behaviour="ask")
    assert json.loads(saved.path.read_bytes()) == {"permissions": {"deny": ["A"], "ask": ["B"]}}


@pytest.mark.parametrize(
    "content",
    [
        '{"permissions": {',
        "",
        "[]",
        '{"permissions": []}',
        '{"permissions": {"allow": "Bash"}}',
        '{"a": 1, "a": 2}',
        "// mine\n{}",
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_left_as_it_is(tmp_path: Path, content: str):
    scene = Scene(tmp_path)
    path = scene.write(str(LOCAL_FILE), content)
    with pytest.raises(ConfigurationError, match=r"settings\.local\.json"):
        save_rules(scene.project, ["Bash"])
    assert path.read_text() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_link_out_of_the_project_is_not_written_through(tmp_path: Path):
    scene = Scene(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (scene.project / ".ostinato").symlink_to(outside)
    with pytest.raises(ConfigurationError, match="out of the project"):
        save_rules(scene.project, ["Bash"])
    assert os.listdir(outside) == []


def test_a_link_within_the_project_stays_a_link(tmp_path: Path):
    scene = Scene(tmp_path)
    real = scene.write("kept/local.json", {})
    (scene.project / ".ostinato").mkdir()
    (scene.project / LOCAL_FILE).symlink_to(real)
    save_rules(scene.project, ["Bash"])
    assert (scene.project / LOCAL_FILE).is_symlink()
    assert json.loads(real.read_bytes()) == {"permissions": {"allow": ["Bash"]}}


def test_what_stands_in_the_way_is_named(tmp_path: Path):
    scene = Scene(tmp_path)
    scene.write(".ostinato", "a file")
    with pytest.raises(ConfigurationError, match="cannot save"):
        save_rules(scene.project, ["Bash"])


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        swap_in(path, b"new")
    assert os.listdir(tmp_path) == ["folder"]


SAVER = """
import sys
from pathlib import Path
from ostinato.config.save_rule import save_rules
for index in range(40):
    save_rules(Path(sys.argv[1]), [f"Bash(saver {sys.argv[2]} {index})"])
"""


@pytest.mark.process
def test_parallel_savers_lose_no_rule_and_readers_never_see_half_a_file(tmp_path: Path):
    scene = Scene(tmp_path)
    path = scene.write(str(LOCAL_FILE), {"theirs": 1})
    with contextlib.ExitStack() as stack:
        savers = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", SAVER, str(scene.project), str(number)])
            )
            for number in range(4)
        ]
        reads = 0
        while any(saver.poll() is None for saver in savers):
            assert json.loads(path.read_bytes())["theirs"] == 1
            reads += 1
    assert reads > 0
    assert [saver.returncode for saver in savers] == [0] * 4
    rules = json.loads(path.read_bytes())["permissions"]["allow"]
    assert sorted(rules) == sorted(
        f"Bash(saver {number} {index})" for number in range(4) for index in range(40)
    )
    assert os.listdir(path.parent) == [path.name]
