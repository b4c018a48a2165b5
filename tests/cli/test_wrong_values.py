"""A value that an option cannot take: exit code 2, the reason on standard error, nothing on standard output, and nothing read."""

import os
import subprocess
from pathlib import Path

import click
import pytest
from tests.cli.command import COMMAND, Desk, Ended

from ostinato.cli.command import main

pytestmark = pytest.mark.process

SESSION = "123e4567-e89b-12d3-a456-426614174000"
A_FILE = "a-file"
WRONG: dict[str, tuple[str, ...]] = {
    "--output-format": ("xml",),
    "--max-turns": ("0",),
    "--max-budget-usd": ("0", "nan", "inf"),
    "--max-tokens-total": ("0",),
    "--timeout": ("soon",),
    "--model": ("bogus", "", "nobody/model", "local/nothing.gguf"),
    "--effort": ("x",),
    "--thinking": ("x", "5"),
    "--fallback-model": ("bogus", "a,b,c,d"),
    "--permission-mode": ("x",),
    "--allowed-tools": ("Bash(",),
    "--disallowed-tools": ("Bash(",),
    "--add-dir": ("nothing", A_FILE, ""),
    "--settings": ("{", "nothing.json"),
    "--setting-sources": ("x",),
    "--resume": ("unknown", ""),
    "--session-id": ("x",),
    "--cwd": ("nothing", ""),
    "--debug": ("/nothing/x",),
}
ANY_TEXT = {"--system-prompt", "--append-system-prompt"}
FREE = [(option, value) for option, values in WRONG.items() for value in values]


def run(desk: Desk, *arguments: str) -> tuple[Ended, bytes]:
    """How the command ends, and what it left on standard input."""
    (desk.work / A_FILE).touch()
    read_end, write_end = os.pipe()
    os.write(write_end, b"typed")
    os.close(write_end)
    try:
        ended = subprocess.run(
            [COMMAND, *arguments],
            cwd=desk.work,
            env=desk.environment(),
            stdin=read_end,
            capture_output=True,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode()), os.read(read_end, 100)
    finally:
        os.close(read_end)


def check_usage(ended: Ended) -> None:
    assert (ended.code, ended.out) == (2, b""), ended.err
    assert ended.err.startswith("error: ")
    assert "\n\nhint: " in ended.err
    assert "Traceback" not in ended.err


def test_the_table_has_every_option_that_takes_a_value():
    taking = {
        parameter.opts[0]
        for parameter in main.params
        if isinstance(parameter, click.Option) and not parameter.is_flag
    }
    assert {option for option in taking if option != "-r"} == (set(WRONG) | ANY_TEXT) - {"--resume"}


@pytest.mark.parametrize(("option", "value"), FREE)
def test_a_wrong_value_is_a_wrong_call_and_standard_input_is_not_touched(
    tmp_path: Path, option: str, value: str
):
    desk = Desk(tmp_path)
    ended, left = run(desk, "-p", "go", f"{option}={value}")
    check_usage(ended)
    assert left == b"typed"
    assert desk.sessions == []


@pytest.mark.parametrize("form", ["json", "stream-json"])
@pytest.mark.parametrize(("option", "value"), [("--max-turns", "0"), ("--model", "bogus"), ("--resume", "x")])
def test_programs_get_no_line_for_a_call_that_was_wrong(tmp_path: Path, form: str, option: str, value: str):
    """A stream begins when there is a conversation; without one there is the exit code, and the reason on standard error."""
    ended, left = run(Desk(tmp_path), "-p", "go", "--output-format", form, option, value)
    check_usage(ended)
    assert left == b"typed"


def test_an_id_that_is_taken_and_a_folder_without_sessions_are_wrong_calls(tmp_path: Path):
    desk = Desk(tmp_path)
    ended, left = run(desk, "-p", "go", "--continue")
    check_usage(ended)
    assert left == b"typed"
    run(desk, "-p", "go", "--session-id", SESSION)
    assert [path.stem for path in desk.sessions] == [SESSION]
    ended, left = run(desk, "-p", "go", "--session-id", SESSION)
    check_usage(ended)
    assert left == b"typed"


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "show", "--settings", "{"),
        ("config", "show", "--cwd", "nothing"),
        ("config", "show", "--setting-sources", "x"),
        ("config", "path", "--cwd", ""),
        ("trust", "show", "nothing"),
        ("trust", "add", A_FILE),
        ("trust", "remove", ""),
        ("permissions", "explain", "ls", "--permission-mode", "x"),
        ("permissions", "explain", "ls", "--allowed-tools", "Bash("),
        ("permissions", "explain", "ls", "--cwd", "nothing"),
        ("permissions", "explain", "ls", "--add-dir", A_FILE),
        ("permissions", "explain", "ls", "--settings", "{"),
        ("doctor", "--model", "bogus"),
        ("doctor", "--model", ""),
        ("local", "pull", "bogus"),
        ("local", "pull", "--from", "nothing.gguf"),
        ("config", "bogus"),
        ("models", "x"),
    ],
    ids=" ".join,
)
def test_subcommands_say_so_in_the_same_way(tmp_path: Path, arguments: tuple[str, ...]):
    check_usage(run(Desk(tmp_path), *arguments)[0])
