"""What errors, hints and the README tell a user to type exists: a command that is only planned is a lie."""

import ast
import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ostinato.cli.command import main, run_command
from ostinato.cli.subcommands import SUBCOMMANDS, load_subcommand
from ostinato.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src/ostinato").rglob("*.py"))
QUOTED = re.compile(r"`(ostinato(?: [^`]*)?)`")


def told() -> Iterator[tuple[str, str]]:
    """Every command line in back quotes in a string of the source or in the README, with its place."""
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from ((source.name, found) for found in QUOTED.findall(node.value))
    readme = (ROOT / "README.md").read_text()
    yield from (("README.md", found) for found in QUOTED.findall(readme))
    yield from (
        ("README.md", line.partition(" #")[0]) for line in readme.splitlines() if line.startswith("ostinato ")
    )


def said_at_work() -> Iterator[tuple[str, str]]:
    """Those that stand in no docstring: there a group may be spoken of by its name alone."""
    for source in SOURCES:
        tree = ast.parse(source.read_text())
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                yield from ((source.name, found) for found in QUOTED.findall(node.value))


def check_subcommand(command: click.Command, words: list[str]) -> None:
    """A group's next word is one of its commands; what follows is read, unless it only says where something goes."""
    if isinstance(command, click.Group):
        assert not words or words[0] in command.commands
        return
    with contextlib.suppress(click.exceptions.Exit, click.MissingParameter):
        command.make_context("ostinato", list(words))


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_a_subcommand_loads_and_says_what_it_is_for(name: str):
    command = load_subcommand(name)
    assert command.help
    assert SUBCOMMANDS[name].summary


@pytest.mark.parametrize(("place", "line"), sorted(set(told())))
def test_a_command_line_that_users_are_told_to_type_is_one_that_is_read(place: str, line: str):
    words = shlex.split(line)[1:]
    if words and words[0] in SUBCOMMANDS:
        check_subcommand(load_subcommand(words[0]), words[1:])
        return
    assert not words or words[0].startswith("-"), f"`{words[0]}` is no subcommand"
    is_flag_alone = len(words) == 1  # one that is spoken of may lack its value
    with contextlib.suppress(click.exceptions.Exit, *((click.BadOptionUsage,) if is_flag_alone else ())):
        main.make_context("ostinato", words)


@pytest.mark.parametrize(("place", "line"), sorted(set(said_at_work())))
def test_nobody_is_told_to_type_a_group_without_a_command_of_it(place: str, line: str):
    words = shlex.split(line)[1:]
    if len(words) == 1 and words[0] in SUBCOMMANDS:
        assert not isinstance(load_subcommand(words[0]), click.Group)


@pytest.mark.parametrize(
    ("typed", "meant"), [("doctr", "doctor"), ("modles", "models"), ("Trust", "trust"), ("confg", "config")]
)
def test_a_misspelled_subcommand_is_no_prompt(typed: str, meant: str):
    with pytest.raises(UsageError) as caught:
        run_command([typed])
    assert f"did you mean `{meant}`?" in caught.value.message
    assert f"-- {typed}" in caught.value.hint


@pytest.mark.parametrize(
    "argv",
    [["hello", "-v"], ["doctr", "-p", "-v"], ["-p", "doctr", "-v"], ["-v", "--", "doctr"], ["fix", "-v"]],
)
def test_other_words_and_those_that_are_called_a_prompt_go_through(argv: list[str]):
    assert run_command(argv) == 0
