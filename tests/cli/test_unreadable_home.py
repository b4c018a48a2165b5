"""A home that this user may not read stops nothing: sessions are not kept, and every command says what it could not look at."""

import ast
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.command import COMMAND

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"
NOBODY = 54321
IS_ROOT = os.geteuid() == 0
AS_A_STRANGER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""The superuser may read everything but for these two."""

LOOKS = {"is_dir", "is_file", "exists", "is_symlink", "glob", "rglob", "iterdir"}


class Strangers:
    """A home of somebody else, and a folder to work in that everybody may read."""

    def __init__(self, root: Path, variable: str) -> None:
        root.chmod(0o755)
        self._home, self._work, self._variable = root / "home", root / "work", variable
        self._home.mkdir()
        self._work.mkdir()
        self._home.chmod(0o700 if IS_ROOT else 0)
        if IS_ROOT:
            os.chown(self._home, NOBODY, NOBODY)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            self._variable: str(self._home),
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
            "ANTHROPIC_API_KEY": "x",
            "OSTINATO_MAX_RETRIES": "0",
            **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}),
        }
        return subprocess.run(
            [*(AS_A_STRANGER if IS_ROOT else ()), COMMAND, *arguments],
            cwd=self._work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )


@pytest.fixture
def variable() -> str:
    return "HOME"


@pytest.fixture
def strangers(variable: str) -> Iterator[Strangers]:
    root = Path(tempfile.mkdtemp())
    yield Strangers(root, variable)
    (root / "home").chmod(0o700)
    shutil.rmtree(root)


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("models",),
        ("config", "show"),
        ("config", "path"),
        ("trust", "show"),
        ("trust", "list"),
        ("-p", "hi"),
        ("-p", "hi", "--continue"),
        ("-p", "hi", "--resume", "some"),
    ],
    ids=" ".join,
)
def test_every_command_works_or_says_why_not(strangers: Strangers, command: tuple[str, ...]):
    ended = strangers.run(*command)
    assert b"unforeseen" not in ended.stderr + ended.stdout
    if command == ("-p", "hi"):
        assert b"not kept" in ended.stderr
        assert b"cannot reach" in ended.stderr, "it went on to the model"


@pytest.mark.parametrize("variable", ["OSTINATO_HOME"])
def test_a_folder_of_ours_that_is_named_and_closed_is_told_likewise(strangers: Strangers):
    ended = strangers.run("-p", "hi")
    assert b"not kept" in ended.stderr
    assert b"cannot reach" in ended.stderr


def test_no_look_at_the_disk_on_the_way_to_a_query_can_raise():
    """`Path.is_dir` and its like raise where a folder above may not be entered; those of `os.path` say no."""
    found: list[str] = []
    for folder in ("engine", "config", "cli", "journal"):
        for file in sorted((SOURCE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                owner = ast.unparse(node.func.value)
                if node.func.attr in LOOKS and owner not in {"os.path", "entry"}:
                    found.append(f"{file.name}:{node.lineno}: {owner}.{node.func.attr}")
    assert found == []
