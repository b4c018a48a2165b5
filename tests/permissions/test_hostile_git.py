"""A repository that was planted runs nothing through git commands that are allowed because they only look."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.permissions.gate_calls import bash, outcome

from ostinato.permissions.repository_settings import repository_problem
from ostinato.sandbox.environment import child_environment

pytestmark = pytest.mark.process

LOOKING = [
    "git status", "git status --short", "git diff", "git diff --stat", "git diff HEAD", "git diff --cached", "git log -p -2", "git log --oneline",
    "git show HEAD", "git show HEAD:a.txt", "git blame a.txt", "git branch -a", "git tag -l", "git ls-files", "git ls-files -m -o", "git ls-tree HEAD",
    "git rev-parse HEAD", "git remote -v", "git shortlog -s HEAD", "git describe --tags --always --dirty", "git rev-list HEAD", "git cat-file -p HEAD",
    "git reflog", "git count-objects -v", "git merge-base HEAD HEAD", "git name-rev HEAD",
]  # fmt: skip


def git(root: Path, *words: str) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *identity, *words], cwd=root, env=environment, check=True, capture_output=True)


def repository(root: Path) -> None:
    """Two commits, a file with a change that is not committed, and one that git does not know."""
    git(root, "init", "-q", ".")
    for text in ("one\n", "two\n"):
        (root / "a.txt").write_text(text)
        git(root, "add", "a.txt")
        git(root, "commit", "-q", "-m", text)
    (root / "a.txt").write_text("three\n")
    (root / "new.txt").write_text("new\n")


def setting(name: str, value: str = "{run}", attributes: str = "") -> Callable[[Path, str], None]:
    def plant(root: Path, run: str) -> None:
        git(root, "config", "--local", name, value.format(run=run))
        if attributes:
            (root / ".gitattributes").write_text(attributes)

    return plant


def hook(root: Path, run: str) -> None:
    file = root / ".git/hooks/post-index-change"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{run}\n")
    file.chmod(0o755)


def hooks_elsewhere(root: Path, run: str) -> None:
    git(root, "config", "core.hooksPath", "tools")
    file = root / "tools/post-index-change"
    file.parent.mkdir()
    file.write_text(f"#!/bin/sh\n{run}\n")
    file.chmod(0o755)


def included(root: Path, run: str) -> None:
    (root / "more").write_text(f'[diff]\n\texternal = "{run}"\n')
    git(root, "config", "include.path", "../more")


def signed(root: Path, run: str) -> None:
    script = root / "sign"
    script.write_text(
        f"#!/bin/sh\n{run}\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED \\n' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    script.chmod(0o755)
    git(root, "config", "gpg.program", str(script))
    git(root, "config", "log.showSignature", "true")
    git(root, "commit", "-q", "-S", "-m", "signed", "-a")
    (root / "a.txt").write_text("four\n")


def worktree_settings(root: Path, run: str) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    (root / ".git/config.worktree").write_text(f'[diff]\n\texternal = "{run}"\n')


def submodule(root: Path, run: str) -> None:
    inner = root / "inner"
    inner.mkdir()
    repository(inner)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./inner", "sub")
    git(root, "commit", "-q", "-m", "sub")
    settings = root / ".git/modules/sub/config"
    settings.write_text(
        settings.read_text() + f'[filter "x"]\n\tclean = "{run}; cat"\n[core]\n\tfsmonitor = "{run}"\n'
    )
    (root / "sub/.gitattributes").write_text("*.txt filter=x\n")
    (root / "sub/a.txt").write_text("9wo\n")


def bare(root: Path, run: str) -> None:
    """Files that make the folder itself look like a bare repository; there is no `.git`."""
    for name in ("HEAD", "config", "objects", "refs", "index"):
        (root / ".git" / name).rename(root / name)
    settings = (
        (root / "config")
        .read_text()
        .replace("bare = false", f'bare = false\n\tworktree = .\n\tfsmonitor = "{run}"')
    )
    (root / "config").write_text(settings)
    subprocess.run(["rm", "-rf", root / ".git"], check=True)


KINDS: dict[str, Callable[[Path, str], None]] = {
    "core.fsmonitor": setting("core.fsmonitor", "{run}; false"),
    "core.pager": setting("core.pager", "{run}; cat"),
    "pager.log": setting("pager.log", "{run}; cat"),
    "core.editor": setting("core.editor"),
    "core.sshCommand": setting("core.sshCommand"),
    "diff.external": setting("diff.external"),
    "diff.x.command": setting("diff.x.command", attributes="*.txt diff=x\n"),
    "diff.x.textconv": setting("diff.x.textconv", "{run}; cat", "*.txt diff=x\n"),
    "filter.x.clean": setting("filter.x.clean", "{run}; cat", "*.txt filter=x\n"),
    "filter.x.process": setting("filter.x.process", attributes="*.txt filter=x\n"),
    "alias.status": setting("alias.status", "!{run}"),
    "post-index-change": hook,
    "core.hooksPath": hooks_elsewhere,
    "include.path": included,
    "gpg.program": signed,
    "config.worktree": worktree_settings,
    "submodule": submodule,
    "bare": bare,
}


def look(root: Path, line: str) -> None:
    environment = child_environment({
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
    })
    subprocess.run(
        ["bash", "-c", line], cwd=root, env=environment, capture_output=True, timeout=20, check=False
    )


@pytest.mark.parametrize("kind", KINDS)
def test_git_that_is_allowed_for_only_looking_runs_nothing_of_the_repositorys(kind: str, tmp_path: Path):
    root, marker = tmp_path / "w", tmp_path / "ran"
    root.mkdir()
    repository(root)
    KINDS[kind](root, f"touch {marker}")
    marker.unlink(missing_ok=True)
    for line in LOOKING:
        if outcome(bash(line, root), mode="default") == "Allow":
            look(root, line)
            assert not marker.exists(), f"`{line}` is allowed and ran what the repository named"


def test_an_ordinary_repository_is_looked_at_without_a_question(tmp_path: Path):
    repository(tmp_path)
    assert repository_problem(tmp_path) == ""
    assert [outcome(bash(line, tmp_path)) for line in LOOKING] == ["Allow"] * len(LOOKING)


def test_a_repository_that_names_a_program_is_asked_about_with_the_setting(tmp_path: Path):
    repository(tmp_path)
    KINDS["diff.x.textconv"](tmp_path, "x")
    assert "diff.x.textconv" in repository_problem(tmp_path)
    assert outcome(bash("git log -p", tmp_path)) == "Ask"
    assert outcome(bash("git log -p", tmp_path), "allow Bash(git log:*)") == "Allow"
    assert outcome(bash("ls", tmp_path)) == "Allow"


def test_git_behind_cd_is_judged_by_the_repository_it_comes_to(tmp_path: Path):
    quiet, hostile = tmp_path / "quiet", tmp_path / "hostile"
    for root in (tmp_path, quiet, hostile):
        root.mkdir(exist_ok=True)
        repository(root)
    KINDS["diff.external"](hostile, "x")
    (tmp_path / "folder").mkdir()
    assert outcome(bash("cd folder && git diff", tmp_path)) == "Allow"
    assert outcome(bash("cd quiet && git diff", tmp_path)) == "Allow"
    assert outcome(bash("cd hostile && git diff", tmp_path)) == "Ask"
    assert outcome(bash("git diff; cd hostile && git diff", tmp_path)) == "Ask"
    assert outcome(bash("cd later && git diff", tmp_path)) == "Ask"


@pytest.mark.parametrize(
    "text",
    [
        "[core] fsmonitor = x", "[CORE]\nFsMonitor=x", "[diff \"a b\"]\n  textconv = x", "[filter.lfs]\nclean = x", "[core]\n\tbare = false\n\tfsmonitor = x",
        "[include]\npath = x", "[includeIf \"gitdir:/\"]\npath = x", "[user]\nname = a\n[diff]\nexternal=x", "[a][diff]external = x", "[diff]\nexternal",
        "\ufeff[core]\nfsmonitor = x", "[core]\\\n\nfsmonitor = x",
    ],
)  # fmt: skip
def test_a_setting_that_starts_a_program_is_seen_however_it_is_written(text: str, tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(text)
    assert repository_problem(tmp_path)


def test_settings_that_cannot_be_read_are_a_problem(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").mkdir()
    assert repository_problem(tmp_path)


@pytest.mark.parametrize("head", [None, "", "nonsense\n"])
def test_a_git_folder_that_git_passes_over_hides_none_above_it(tmp_path: Path, head: str | None):
    repository(tmp_path)
    git(tmp_path, "config", "--local", "core.fsmonitor", "touch ran")
    inside = tmp_path / "sub"
    (inside / ".git").mkdir(parents=True)
    if head is not None:
        (inside / ".git" / "HEAD").write_text(head)

    git(inside, "status")  # goes on to the one above, and runs what is planted there
    assert (tmp_path / "ran").exists()
    assert repository_problem(inside)
