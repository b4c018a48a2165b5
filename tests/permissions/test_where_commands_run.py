"""Where a command runs behind `cd`: behind `&&` only where all `cd`s succeeded; wherever bash really runs it is among the places told."""

import os
import random
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.permissions.gate_calls import bash, outcome

from ostinato.permissions.call_paths import paths_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("src/sub", "deep/a/b"):
        (root / name).mkdir(parents=True)
    for name in ("x", "src/x", "src/sub/x", "deep/x", "../secret"):
        (root / name).write_text("x")
    (root / "link").symlink_to("deep/a")
    (root / "src" / "out").symlink_to("/")
    return root


@pytest.mark.parametrize(
    "command",
    [
        "cd src && cat ../x", "cd src && ls ..", "cd src && cat ../x | head -3", "cd src && cd sub && cat ../../x", "cd src && (cat ../x)",
        "cd src && { cat ../x; ls ..; }", "cd 'src' && cat ../x", "cd src &&\ncat ../x", "cd src && ls && cat ../x", "cd src/sub && cd .. && cat ../x",
        "cd link && cat ../x", "cd src && ls .. &",
    ],
)  # fmt: skip
def test_behind_a_cd_that_succeeded_only_its_folder_counts(command: str, root: Path):
    assert outcome(bash(command, root)) == "Allow"


@pytest.mark.parametrize(
    "command",
    [
        "cd src; cat ../secret", "cd src || cat ../secret", "cd src\ncat ../secret", "cd src && ls; cat ../secret", "cd src && ls || cat ../secret", "cd src & cat ../secret",
        "(cd src) && cat ../secret", "! cd src && cat ../secret", "cd src | cat ../secret", "cd src && cd - && cat ../secret", "pushd src && cat ../secret",
        "cd src && cd .. && cat ../secret", "cd src && (cd ..; cat ../secret)", "CDPATH=/ cd src && cat ../x", "export CDPATH=/; cd src && cat ../x",
        "cd nowhere || cd src && cat ../secret", "cd src && ls && cd .. && cat ../secret", "if cd src; then :; fi && cat ../secret", "time cd src && ls; cat ../secret",
        "cd src/out && cat ../x", "cd src && cat ../../secret", "cd deep/a && mv ../a ../../a && cat ../../secret", "for f in a; do cd src && cat ../x; done",
        "cd $x && cat ../x", "cd link && cd .. && cat ../secret", "cd src > x && cat ../secret; cat ../secret",
    ],
)  # fmt: skip
def test_where_that_is_not_certain_every_folder_counts(command: str, root: Path):
    assert outcome(bash(command, root)) == "Ask"


def test_each_cd_is_told_where_it_starts(root: Path):
    paths = paths_of(bash("cd src && npm test > ../log", root))
    assert [effect.reads for effect in paths.effects] == [(root / "src",), ()]
    assert paths.effects[1].writes == (root / "src" / ".." / "log",)


FOLDERS = ("src", "src/sub", "..", "link", "link/b", "nowhere", ".", "sub", "deep/..", "src/../link")


def probe(source: random.Random) -> str:
    return f"probe p{source.randrange(10**9)}"


def grown(source: random.Random, depth: int = 0) -> str:
    """A text of `cd`s and probes."""
    parts: list[str] = []
    for _ in range(source.randint(1, 4)):
        kind = source.random()
        if kind < 0.5:
            parts.append(f"cd {source.choice(FOLDERS)}")
        elif kind < 0.85 or depth > 1:
            parts.append(probe(source))
        else:
            opening, closing = source.choice([("(", ")"), ("{ ", "; }"), ("! ", "")])
            inner = probe(source) if opening == "! " else grown(source, depth + 1)
            parts.append(f"{opening}{inner}{closing}")
        parts.append(source.choice([" && ", " && ", " && ", " || ", "; ", " | ", "\n"]))
    return "".join(parts[:-1])


def test_wherever_bash_runs_a_command_is_a_place_that_was_told(root: Path, tmp_path: Path):
    source = random.Random(3)
    texts = [f"cd {source.choice(FOLDERS)} && {grown(source)} && {probe(source)}" for _ in range(80)]
    script = [f'probe() {{ echo "$number $1 $(pwd -P)" >> {tmp_path}/ran; }}']
    script += [f"(cd {root}; number={number}; eval {shlex.quote(text)})" for number, text in enumerate(texts)]
    environment = {"PATH": os.environ["PATH"]}
    subprocess.run(("bash", "-c", "\n".join(script)), check=False, capture_output=True, env=environment)
    ran = [line.split(" ", 2) for line in (tmp_path / "ran").read_text().splitlines()]
    told = [paths_of(bash(text, root)).effects for text in texts]
    judged = 0
    for number, name, folder in ran:
        effects = told[int(number)]
        if not effects or any(effect.problem for effect in effects):
            continue  # it is asked
        mentioned = [path for effect in effects for path in effect.mentions if path.name == name]
        assert folder in {os.path.realpath(path.parent) for path in mentioned}, texts[int(number)]
        judged += 1
    assert judged > 40
