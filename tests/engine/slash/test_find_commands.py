"""Finding command files: the right one wins, and what cannot be used is named and costs no other."""

import os
from pathlib import Path

import pytest
from tests.engine.slash.scene import Stage, write

from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.engine.slash.find_commands import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FILES, find_commands


def bodies(stage: Stage) -> dict[str, str]:
    return {command.qualified_name: command.body for command in find_commands(stage.places).commands}


def body_of(stage: Stage, name: str) -> str | None:
    command = find_commands(stage.places).named(name)
    return None if command is None else command.body


def skipped(stage: Stage) -> list[str]:
    return [problem.path.name for problem in find_commands(stage.places).problems if problem.is_skipped]


def test_all_four_folders_are_read_and_folders_below_become_part_of_the_name(stage: Stage):
    stage.project_command("a", "1")
    stage.project_command("team/deep/b", "2", ".claude")
    stage.user_command("c", "3")
    stage.user_command("d", "4", ".claude")
    assert bodies(stage) == {"project:a": "1", "project:team:deep:b": "2", "user:c": "3", "user:d": "4"}
    assert body_of(stage, "team:deep:b") == "2"


def test_the_project_wins_over_the_user_and_ours_over_the_other_tools(stage: Stage):
    stage.user_command("same", "user, other", ".claude")
    assert body_of(stage, "same") == "user, other"
    stage.user_command("same", "user, ours")
    assert body_of(stage, "same") == "user, ours"
    stage.project_command("same", "project, other", ".claude")
    assert body_of(stage, "same") == "project, other"
    stage.project_command("same", "project, ours")
    assert body_of(stage, "same") == "project, ours"
    assert body_of(stage, "user:same") == "user, ours"
    assert body_of(stage, "project:same") == "project, ours"


def test_a_name_is_matched_as_written_first_and_without_regard_to_case_then(stage: Stage):
    stage.project_command("Review", "upper")
    stage.project_command("review", "lower")
    assert body_of(stage, "Review") == "upper"
    assert body_of(stage, "review") == "lower"
    assert body_of(stage, "REVIEW") == "upper"


def test_a_plain_name_wins_over_a_qualified_one_that_reads_the_same(stage: Stage):
    stage.user_command("x", "the user's x")
    stage.user_command("user/x", "in a folder called user")
    assert body_of(stage, "user:x") == "in a folder called user"


def test_in_the_home_folder_there_are_only_the_users_own(stage: Stage):
    stage.user_command("mine", "text")
    found = find_commands(CommandPlaces(stage.home, stage.home / ".ostinato", stage.home))
    assert [command.scope for command in found.commands] == ["user"]


def test_no_home_is_no_error(stage: Stage):
    stage.project_command("a", "1")
    assert len(find_commands(CommandPlaces(stage.project)).commands) == 1


# ------------------------------------------------------------------------------------------------ what cannot be used

BROKEN: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\n",
    "no-text": b"---\ndescription: x\n---\n\n",
    "never-ends": b"---\ndescription: x\nthe text",
    "no-end": b"---\nfoo\n",
    "binary": b"\x00\x01\x02",
    "too-large": b"x" * (MAX_FILE_BYTES + 1),
    "a b": b"a name with a space",
    "42": b"a name that begins with a digit",
    "n" * 120: b"a long name",
}
ODD: dict[str, bytes] = {
    "colon": b"---\ndescription: A: b\n---\nok",
    "tabs": b"---\nallowed-tools:\n\t- Read\n---\nok",
    "bom": b"\xef\xbb\xbf---\ndescription: x\n---\nok",
    "crlf": b"---\r\ndescription: x\r\n---\r\nok\r\n",
    "latin": b"---\ndescription: caf\xe9\n---\nok",
    "no-front": b"ok",
    "wrong-rule": b"---\nallowed-tools: Bash(, Read\n---\nok",
    "wrong-key": b"---\nallowed-tools: {a: [b\nfoo\n---\nok",
}


def test_one_broken_file_costs_no_other_and_every_broken_one_is_named(stage: Stage):
    for name, data in {**BROKEN, **ODD}.items():
        stage.project_command(name, data)
    found = find_commands(stage.places)
    assert {command.name: command.body for command in found.commands} == dict.fromkeys(ODD, "ok")
    assert sorted(skipped(stage)) == sorted(f"{name}.md" for name in BROKEN)
    assert all(problem.reason for problem in found.problems)


def test_a_rule_that_cannot_be_read_gives_no_right_and_the_others_stay(stage: Stage):
    stage.user_command("x", "---\nallowed-tools: Bash(git log:*), *, Write(x), Read, Bash(open\n---\nok")
    found = find_commands(stage.places)
    assert [str(rule) for rule in found.commands[0].rules] == ["Bash(git log:*)", "Read"]
    assert len(found.problems) == 3
    assert {problem.is_skipped for problem in found.problems} == {False}


def test_no_special_file_is_waited_for(stage: Stage):
    folder = stage.project_command("good", "ok").parent
    os.mkfifo(folder / "pipe.md")
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "folder.md").mkdir()
    (folder / "nowhere.md").symlink_to(folder / "missing")
    (folder / "round.md").symlink_to(folder / "round.md")
    user = stage.home / ".claude" / "commands"
    user.mkdir(parents=True)
    os.mkfifo(user / "pipe.md")
    (user / "zero.md").symlink_to("/dev/zero")
    assert bodies(stage) == {"project:good": "ok"}
    assert sorted(skipped(stage)) == [
        "folder.md",
        "nowhere.md",
        "pipe.md",
        "pipe.md",
        "round.md",
        "zero.md",
        "zero.md",
    ]


def test_a_projects_link_may_not_lead_out_of_the_project(stage: Stage):
    secret = write(stage.root / "secret.md", "a key")
    sibling = write(stage.root / "project-evil" / "x.md", "a sibling with the same beginning")
    folder = stage.project_command("good", "ok").parent
    (folder / "file.md").symlink_to(secret)
    (folder / "sibling.md").symlink_to(sibling)
    (folder / "below").symlink_to(stage.root)
    (folder / "inside.md").symlink_to(write(stage.project / "docs" / "inside.md", "inside"))
    assert bodies(stage) == {"project:good": "ok", "project:inside": "inside"}
    assert sorted(skipped(stage)) == ["below", "file.md", "sibling.md"]


@pytest.mark.parametrize("which", [".ostinato", ".ostinato/commands"])
def test_nor_may_the_folder_of_commands_itself(stage: Stage, which: str):
    outside = stage.root / "outside"
    write(outside / "commands" / "x.md", "from outside")
    link = stage.project / which
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if which == ".ostinato" else outside / "commands")
    assert bodies(stage) == {}
    assert len(skipped(stage)) == 1


def test_the_users_own_may_link_to_wherever_they_like(stage: Stage):
    dotfiles = stage.root / "dotfiles"
    write(dotfiles / "x.md", "from the dotfiles")
    (stage.home / ".claude").mkdir()
    (stage.home / ".claude" / "commands").symlink_to(dotfiles)
    assert bodies(stage) == {"user:x": "from the dotfiles"}


def test_links_that_go_round_end(stage: Stage):
    folder = stage.project_command("good", "ok").parent
    (folder / "again").symlink_to(folder)
    (folder / "up").symlink_to(folder.parent)
    assert bodies(stage) == {"project:good": "ok"}
    assert skipped(stage) == ["again", "commands"]


def test_too_many_files_are_cut_and_said(stage: Stage):
    for number in range(MAX_FILES + 1):
        stage.project_command(f"c{number:04}", "x")
    found = find_commands(stage.places)
    assert len(found.commands) == MAX_FILES
    assert skipped(stage) == [f"c{MAX_FILES:04}.md"]


def test_folders_are_read_so_deep_and_no_deeper(stage: Stage):
    below = "/".join("abcdefgh")
    stage.project_command(f"{below}/in", "in")
    stage.project_command(f"{below}/i/out", "out")
    assert bodies(stage) == {f"project:{below.replace('/', ':')}:in": "in"}
    assert skipped(stage) == ["i"]


def test_names_in_all_folders_together_are_bounded(stage: Stage):
    folder = stage.project_command("a", "a").parent
    (folder / "x").mkdir()
    for number in range(MAX_ENTRIES):
        (folder / "x" / f"{number:05}").touch()
    stage.project_command("y/b", "b")
    assert "project:a" in bodies(stage)
    assert skipped(stage) == ["x"]


def test_an_unreadable_folder_is_named(stage: Stage, tmp_path: Path):
    folder = stage.user_command("x", "text").parent
    folder.chmod(0)
    try:
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        assert skipped(stage) == ["commands"]
    finally:
        folder.chmod(0o700)
