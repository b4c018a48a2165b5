"""A wrapper never hides the program inside: it is listed, or the command is unprovable."""

import pytest

from ostinato.permissions.shell_command import Proven, SimpleCommand, Unprovable
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.wrappers import commands_run_by, unsafe_assignment


def only_command(text: str) -> SimpleCommand:
    reading = read_command(text)
    assert isinstance(reading, Proven)
    (command,) = reading.commands
    return command


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("timeout 5 env -u X nice -n 5 rm -rf x", ("rm", "-rf", "x")),
        ("timeout -k 1 --signal=9 5 rm x", ("rm", "x")),
        ("nice -10 rm x", ("rm", "x")),
        ("nohup rm x", ("rm", "x")),
        ("\\time -p rm x", ("rm", "x")),
        ("env A=b rm x", ("rm", "x")),
        ("/usr/bin/env rm x", ("rm", "x")),
        ("command rm x", ("rm", "x")),
        ("builtin cd x", ("cd", "x")),
        ("stdbuf -oL rm x", ("rm", "x")),
        ("setsid -w rm x", ("rm", "x")),
        ("sudo -u bob A=b rm x", ("rm", "x")),
        ("ionice -c 2 rm x", ("rm", "x")),
        ("xargs -0 -n 1 rm x", ("rm", "x", None)),
        ("xargs -I{} rm {} y", ("rm", None, None)),
        ("xargs", ("echo", None)),
        ("bash -c 'rm x'", ("rm", "x")),
        ("sh -ec 'timeout 5 rm x'", ("rm", "x")),
        ("find . -name x -exec rm {} +", ("rm", None)),
        ("find . -exec true \\; -execdir rm -f x{} \\;", ("rm", "-f", None)),
        ("watch -n 1 rm x", ("rm", "x")),
    ],
)
def test_the_program_inside_is_listed(text: str, inner: tuple[str | None, ...]) -> None:
    chain = commands_run_by(only_command(text))
    assert not isinstance(chain, Unprovable)
    assert inner in [command.argv for command in chain]


@pytest.mark.parametrize(
    "text",
    ["timeout --unknown 5 rm x", "timeout $x rm x", "env -S 'rm x'", "env $x", "nice $x rm", "xargs -a f rm", "bash -c $x", "bash -c 'eval x'",
     "bash $x", "sudo -Z rm", "find . -exec $x \\;", "find . -exec", "timeout 5", "bash -O extglob -c x", "bash --rcfile f -c ls", "env -C",
     "env A=b -i rm", "\\time -f x rm"],
)  # fmt: skip
def test_a_wrapper_that_is_not_understood_is_unprovable(text: str) -> None:
    assert isinstance(commands_run_by(only_command(text)), Unprovable)


@pytest.mark.parametrize("text", ["ls", "command -v rm", "bash script.sh -c x", "> f", "env", "python -c x"])
def test_other_commands_run_only_themselves(text: str) -> None:
    command = only_command(text)
    assert commands_run_by(command) == (command,)


@pytest.mark.parametrize(
    "name",
    ["PATH", "LD_PRELOAD", "GIT_DIR", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "PAGER", "EDITOR", "npm_config_x", "http_proxy", "ANYTHING"],
)  # fmt: skip
def test_a_variable_that_may_change_the_program_is_unsafe(name: str) -> None:
    assert unsafe_assignment(only_command(f"{name}=x ls")) == name
    assert unsafe_assignment(only_command(f"{name}=x")) == name


def test_variables_of_output_and_variables_of_the_text_are_safe() -> None:
    assert unsafe_assignment(only_command("CI=1 NODE_ENV=test LC_ALL=C npm test")) is None
    assert unsafe_assignment(only_command("count=$x")) is None
    assert unsafe_assignment(only_command("CI=$x npm test")) == "CI"
