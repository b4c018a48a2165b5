"""What git says of the folder stands behind the system prompt, the same for a whole conversation, and starts no program but git."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.repository_snapshot import MAX_STATUS_CHARACTERS, repository_snapshot
from ostinato.providers.anthropic_wire import CACHE_MARK, AnthropicBodies
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, anthropic_problems, call, say

pytestmark = pytest.mark.process


class Repository:
    """A repository with one commit on `trunk`, a home of its own, and a program that leaves a mark when it is run."""

    def __init__(self, root: Path) -> None:
        self.folder, self.mark = root / "work", root / "was-run"
        self.environment = {
            "HOME": str(root / "home"),
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.folder.mkdir()
        (root / "home").mkdir()
        self.program = root / "program"
        self.program.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        self.program.chmod(0o755)
        self.git("init", "-q", "-b", "trunk")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        (self.folder / "a.txt").write_text("alpha\n")
        self.git("add", "a.txt")
        self.git("commit", "-q", "-m", "First words")

    def git(self, *words: str, folder: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=folder or self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    async def told(self, folder: Path | None = None, **more: str) -> str:
        return await repository_snapshot(folder or self.folder, {**self.environment, **more}, deadline_s=20)

    def options(self, model: ScriptedModel, **more: Any) -> Options:
        return Options(cwd=self.folder, model=model, environment=self.environment, **more)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


async def systems(chosen: Options, model: ScriptedModel) -> list[tuple[str, ...]]:
    async with open_engine(chosen) as engine:
        async for _ in engine.submit_message("go"):
            pass
    return [tuple(request.system) for request in model.requests]


async def test_branch_main_branch_user_status_and_the_last_five_commits_are_told(repository: Repository):
    for number in range(6):
        repository.git("commit", "-q", "--allow-empty", "-m", f"Step {number}")
    repository.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    repository.git("switch", "-q", "-c", "topic")
    (repository.folder / "new.txt").write_text("new\n")
    lines = (await repository.told()).splitlines()
    assert "- branch: topic" in lines
    assert "- main branch: trunk" in lines
    assert "- user: Ada" in lines
    assert "?? new.txt" in lines
    assert [line.split(" ", 1)[1] for line in lines[-5:]] == [f"Step {number}" for number in (5, 4, 3, 2, 1)]


async def test_it_is_the_end_of_the_system_prompt_and_stays_the_same_when_files_change(
    repository: Repository,
):
    write = call("Write", "t1", file_path="b.txt", content="beta\n")
    model = ScriptedModel(Reply(write), Reply(say("done")))
    first, second = await systems(
        repository.options(model, permission_mode="acceptEdits", append_system_prompt="Speak French."), model
    )
    assert (repository.folder / "b.txt").exists()
    assert first[-2] == "Speak French."
    assert "First words" in first[-1]
    assert second == first


async def test_conversations_in_different_repositories_send_the_same_up_to_the_cache_mark_before_it(
    tmp_path: Path,
):
    bodies: list[bytes] = []
    for name in "one", "two":
        (tmp_path / name).mkdir()
        repository = Repository(tmp_path / name)
        repository.git("commit", "-q", "--amend", "-m", f"Only in {name}")
        model = ScriptedModel(Reply(say("ok")))
        (system,) = await systems(repository.options(model, append_system_prompt="Be kind."), model)
        assert f"Only in {name}" in system[-1]
        bodies.append(AnthropicBodies(SCRIPTED_FACTS).body(model.requests[0]))
    first, second = (body[: body.index(CACHE_MARK) + len(CACHE_MARK)] for body in bodies)
    assert first == second
    assert first.endswith(b'"Be kind."' + CACHE_MARK)
    for body in bodies:
        assert anthropic_problems(json.loads(body)) == ()


@pytest.mark.parametrize("more", [{"instructions": False}, {"system_prompt": "Mine."}, {"small": True}])
async def test_who_wants_none_gets_none(repository: Repository, more: Mapping[str, Any]):
    is_small, asked = "small" in more, {name: value for name, value in more.items() if name != "small"}
    model = ScriptedModel(Reply(say("ok")), facts=replace(SCRIPTED_FACTS, short_prompt=is_small))
    (system,) = await systems(repository.options(model, **asked), model)
    assert "First words" not in "".join(system)


async def test_a_long_status_is_cut_and_says_so(repository: Repository):
    for number in range(200):
        (repository.folder / f"a-rather-long-name-{number:03}").touch()
    told = await repository.told()
    status = told[told.index("- status:") : told.index("- last commits:")]
    assert "git status --short" in status
    assert 1_500 < len(status) < MAX_STATUS_CHARACTERS + 200


async def test_a_repository_without_commits_and_one_without_a_branch_are_told_too(repository: Repository):
    repository.git("switch", "-q", "--detach")
    assert "- branch: (none" in await repository.told()
    fresh = repository.folder / "fresh"
    fresh.mkdir()
    repository.git("init", "-q", "-b", "begin", folder=fresh)
    told = await repository.told(fresh)
    assert "- branch: begin" in told
    assert told.endswith("(none)")


async def test_where_git_fails_or_is_late_there_is_nothing(repository: Repository, tmp_path: Path):
    assert await repository.told(PATH=str(tmp_path / "nowhere")) == ""
    (repository.folder / ".git" / "HEAD").write_text("broken")
    assert await repository.told() == ""
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    environment = {**repository.environment, "PATH": f"{slow}:{os.environ['PATH']}"}
    assert await repository_snapshot(repository.folder, environment, deadline_s=0.05) == ""


def plant_monitor(repository: Repository) -> Path:
    repository.git("config", "core.fsmonitor", str(repository.program))
    return repository.folder


def plant_filter(repository: Repository) -> Path:
    repository.git("config", "filter.x.clean", str(repository.program))
    (repository.folder / ".gitattributes").write_text("* filter=x\n")
    (repository.folder / "a.txt").write_text("omega\n")
    return repository.folder


def plant_included(repository: Repository) -> Path:
    (repository.folder / "more").write_text(f"[core]\n\tfsmonitor = {repository.program}\n")
    repository.git("config", "include.path", "../more")
    return repository.folder


def plant_above_an_empty_git_folder(repository: Repository) -> Path:
    plant_filter(repository)
    inner = repository.folder / "inner"
    (inner / ".git").mkdir(parents=True)
    return inner


def plant_bare(repository: Repository) -> Path:
    bare = repository.folder / "bare"
    repository.git("init", "-q", "--bare", str(bare))
    repository.git("config", "core.bare", "false", folder=bare)
    repository.git("config", "core.worktree", "..", folder=bare)
    repository.git("config", "core.fsmonitor", str(repository.program), folder=bare)
    return bare


def plant_in_a_repository_inside(repository: Repository) -> Path:
    inner = repository.folder / "inner"
    repository.git("clone", "-q", ".", "inner")
    repository.git("add", "inner")
    repository.git("config", "filter.x.clean", str(repository.program), folder=inner)
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "a.txt").write_text("omega\n")
    return repository.folder


def plant_missing_objects(repository: Repository) -> Path:
    commit = repository.git("commit-tree", "-m", "gone", "HEAD^{tree}").strip()
    repository.git("update-ref", "refs/heads/trunk", commit)
    (repository.folder / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    for name, value in (
        ("extensions.partialClone", "x"),
        ("remote.x.promisor", "true"),
        ("remote.x.url", str(repository.folder)),
        ("remote.x.uploadpack", str(repository.program)),
        ("core.repositoryFormatVersion", "1"),
    ):
        repository.git("config", name, value)
    return repository.folder


PLANTS = [
    plant_monitor,
    plant_filter,
    plant_included,
    plant_above_an_empty_git_folder,
    plant_bare,
    plant_in_a_repository_inside,
    plant_missing_objects,
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
async def test_no_program_that_a_repository_plants_is_run(repository: Repository, plant: Any):
    await repository.told(plant(repository))
    assert not repository.mark.exists()


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_each_plant_works_on_a_git_that_is_not_held_back(repository: Repository, plant: Any):
    folder = plant(repository)
    for words in (("status", "--short"), ("log", "-1")):
        subprocess.run(
            ["git", *words], cwd=folder, env=repository.environment, capture_output=True, check=False
        )
    assert repository.mark.exists()


async def test_what_names_and_commits_say_stays_on_its_line(repository: Repository):
    repository.git("commit", "-q", "--allow-empty", "-m", "Red \x1b[31m" + "x" * 500)
    last = (await repository.told()).splitlines()[-2]
    assert "\x1b" not in last
    assert len(last) < 250


async def test_the_environment_cannot_lead_git_elsewhere(repository: Repository, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    repository.git("init", "-q", "-b", "elsewhere", folder=other)
    assert "- branch: trunk" in await repository.told(GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other))
