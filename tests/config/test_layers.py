from pathlib import Path

import pytest
from tests.config.scene import FILES, PLACES, Scene, in_memory

from ostinato.config.load import effective, given
from ostinato.config.places import Places, find_project_root, is_anything_there
from ostinato.config.source import Level
from ostinato.errors import UsageError

ORDER = [
    "managed later drop-in",
    "managed drop-in",
    "managed",
    "other managed",
    "--settings",
    "local",
    "other local",
    "project",
    "other project",
    "user",
    "other user",
]


@pytest.mark.parametrize("index", range(len(ORDER)))
def test_the_first_file_of_the_order_that_says_something_wins(index: int):
    present = ORDER[index:]
    flag = '{"model": "--settings"}' if "--settings" in present else None
    loaded = in_memory({name: {"model": name} for name in present if name in FILES}, settings_flag=flag)
    model = effective(loaded, is_trusted=True).settings.model
    assert model is not None
    assert (model.value, model.origin.source.name) == (present[0], FILES.get(present[0], "--settings"))
    assert loaded.problems == ()


MANAGED = [name for name in FILES if "managed" in name]


def test_a_flag_wins_over_a_variable_and_that_over_every_file_but_managed_ones():
    flag = given("flags", "model", "by flag", name="--model")
    variable = given("environment", "model", "by variable", name="OSTINATO_MODEL")
    files: dict[str, object] = {name: {"model": name} for name in FILES if name not in MANAGED}
    for documents, wins in (((flag, variable), "by flag"), ((variable,), "by variable")):
        model = effective(in_memory(files, given=documents), is_trusted=True).settings.model
        assert model is not None
        assert model.value == wins
        assert str(model.origin) == documents[0].source.name


@pytest.mark.parametrize("name", MANAGED)
def test_nothing_wins_over_a_managed_file(name: str):
    flag = given("flags", "model", "by flag", name="--model")
    model = effective(in_memory({name: {"model": "managed"}}, given=[flag]), is_trusted=True).settings.model
    assert model is not None
    assert model.value == "managed"


def test_a_given_list_adds_up_with_those_of_the_files():
    flag = given("flags", "permissions.deny", ("Bash",), name="--disallowed-tools")
    loaded = in_memory({"user": {"permissions": {"deny": ["Read"]}}}, given=[flag])
    assert [rule.value for rule in effective(loaded, is_trusted=False).settings.permissions.deny] == [
        "Bash",
        "Read",
    ]


@pytest.mark.parametrize(
    "levels", [set[Level](), {"user"}, {"project", "local"}, {"user", "project", "local"}]
)
def test_only_the_chosen_levels_are_read(levels: set[Level]):
    loaded = in_memory({name: {} for name in FILES}, chosen=frozenset(levels))
    assert {document.source.level for document in loaded.documents} == {"managed", *levels}


def test_rules_start_from_the_project_or_from_the_folder_of_the_users_file():
    loaded = in_memory({name: {} for name in FILES}, settings_flag="{}")
    anchors = {document.source.name: document.source.anchor for document in loaded.documents}
    assert anchors[FILES["local"]] == anchors[FILES["other project"]] == PLACES.project_root
    assert anchors[FILES["user"]] == Path("/home/.ostinato")
    assert anchors[FILES["other user"]] == Path("/home/.claude")
    assert anchors["--settings"] is None


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("missing.json", None),
        ("broken.json", "{"),
        ("{broken", None),
        ("list.json", "[]"),
        ("latin.json", b"\xe9"),
    ],
)
def test_settings_asked_for_by_name_must_be_usable(value: str, content: object):
    files = {} if content is None else {value: content}
    with pytest.raises(UsageError):
        in_memory(files, settings_flag=value)


def test_the_settings_flag_takes_a_path():
    loaded = in_memory({"/given.json": {"model": "a"}}, settings_flag="/given.json")
    assert [str(document.source) for document in loaded.documents] == ["/given.json"]


def test_the_project_is_the_nearest_folder_with_a_git_entry(tmp_path: Path):
    worktree = tmp_path / "repository" / "worktree"
    (worktree / "deep").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    assert find_project_root(worktree / "deep", None) == tmp_path / "repository"
    (worktree / ".git").write_text("gitdir: elsewhere")
    assert find_project_root(worktree / "deep", None) == worktree
    assert find_project_root(worktree, tmp_path) == worktree


def test_a_home_under_version_control_is_no_project_of_the_folders_below_it(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "work").mkdir()
    assert find_project_root(tmp_path / "work", tmp_path) == tmp_path / "work"


def test_in_the_home_folder_the_users_file_is_not_a_projects(tmp_path: Path):
    scene = Scene(tmp_path)
    places = Places(scene.home, scene.data_root, scene.home / ".claude", ())
    scene.places = places
    scene.project = scene.home
    scene.write(".claude/settings.json", {"model": "mine"})
    scene.write(".claude/skills/a/SKILL.md", "mine")
    loaded = scene.load()
    assert [document.source.level for document in loaded.documents] == ["user"]
    assert scene.scan().digests == {}


def test_a_link_of_the_project_to_the_users_file_stays_the_projects(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.home / ".claude").mkdir()
    (scene.home / ".claude" / "settings.json").write_text('{"model": "mine"}')
    (scene.project / ".claude").mkdir()
    (scene.project / ".claude" / "settings.json").symlink_to(scene.home / ".claude" / "settings.json")
    assert [document.source.level for document in scene.load().documents] == ["project", "user"]


@pytest.mark.parametrize(
    "name", ["project", "local", "user", "managed", ".mcp.json", ".agents/skills/a/SKILL.md"]
)
def test_whatever_lies_anywhere_is_seen_by_the_quick_look(tmp_path: Path, name: str):
    scene = Scene(tmp_path)
    everything = ("user", "project", "local")
    assert not is_anything_there(scene.places, everything)
    match name:
        case "user":
            made = scene.data_root / "settings.json"
        case "managed":
            made = scene.places.managed_folders[1] / "managed-settings.d" / "a.json"
        case "project" | "local":
            made = (
                scene.project / ".claude" / ("settings.json" if name == "project" else "settings.local.json")
            )
        case _:
            made = scene.project / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.touch()
    assert is_anything_there(scene.places, everything)
    assert is_anything_there(scene.places, ()) == (name == "managed")
