"""A project may put anything in the place of its settings: there is an answer for each of it, and nothing of it is trusted unseen."""

from pathlib import Path

import pytest
from tests.config.scene import Scene
from tests.permissions.test_paths_that_nobody_can_look_at import NASTY, folder, nobody

from ostinato.attachments.instruction_files import InstructionPlaces
from ostinato.attachments.load_instructions import load_instructions
from ostinato.config.load import load_settings
from ostinato.config.places import find_project_root, is_anything_there
from ostinato.config.project_things import files_named_in, scan_project
from ostinato.config.save_rule import save_rules
from ostinato.errors import ConfigurationError
from ostinato.real_path import real_path

__all__ = ("folder",)

TARGETS = (
    "/proc/1/cwd",
    "/proc/1/cwd/x",
    "/proc/1/root/etc",
    "settings.json",
    "nowhere",
    "/dev/zero",
    "/proc/self/mem",
    "x" * 250,
)
PLACES = (
    ".ostinato", ".claude", ".agents", ".mcp.json", ".ostinato/settings.json", ".ostinato/settings.local.json", ".claude/settings.json",
    ".claude/commands", ".claude/commands/x.md", ".claude/hooks", "CLAUDE.md", "AGENTS.md", ".claude/rules", ".claude/rules/x.md", ".git",
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", PLACES)
def test_a_link_in_the_place_of_anything_stops_no_reading(tmp_path: Path, place: str, target: str):
    scene = Scene(tmp_path)
    if place == ".git":
        (scene.project / ".git").rmdir()
    link = scene.project / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    assert find_project_root(scene.project, scene.home) in {scene.project, *scene.project.parents}
    is_anything_there(scene.places, {"project", "local", "user"})
    loaded = load_settings(scene.places)
    scan_project(scene.places, loaded.documents, loaded.project_digests)
    load_instructions(
        InstructionPlaces(scene.project, (scene.project,), home=scene.home, data_root=scene.data_root)
    )


@pytest.mark.parametrize(
    "text", [*NASTY, "/proc/1/cwd", "/proc/1/cwd/x", *(f"sh {path} '{path}'" for path in NASTY)]
)
def test_a_text_may_name_any_path(folder: Path, text: str):
    with nobody():
        assert all(name for name in files_named_in(text, folder))


@pytest.mark.parametrize("path", [*NASTY, "/proc/1/cwd", "/proc/1/cwd/x/.."])
def test_there_is_always_a_real_path(folder: Path, path: str):
    with nobody():
        assert real_path(folder / path).is_absolute()


def test_an_answer_is_written_through_no_link_that_nobody_may_read(tmp_path: Path):
    scene = Scene(tmp_path)
    (scene.project / ".ostinato").symlink_to("/proc/1/cwd")
    with pytest.raises(ConfigurationError):
        save_rules(scene.project, ["Bash(ls:*)"])
