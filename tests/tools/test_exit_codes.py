"""An exit code is explained; 1 is an answer only where it is one."""

import pytest

from ostinato.tools.exit_codes import describe_exit, is_benign


@pytest.mark.parametrize(
    "command",
    [
        "grep x f",
        "cat f | grep x",
        "cd a && rg x",
        "LANG=C diff a b",
        "test -f x",
        "[ -f x ]",
        "[[ -f x ]]",
        "git diff --exit-code",
        "git grep x",
        "make; find . -name x",
        "ls\ngrep x f\n",
        "(cd a && grep x f)",
        "grep 'a;b && c' f",
        "grep x f 2>&1",
    ],
)
def test_one_is_an_answer_of_searches_and_comparisons(command: str):
    assert is_benign(command, 1)
    assert not is_benign(command, 2)


@pytest.mark.parametrize(
    "command", ["grep x f && false", "make", "git commit", "echo grep", "python -c 'grep", "", "false # grep"]
)
def test_one_is_a_failure_elsewhere(command: str):
    assert not is_benign(command, 1)


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(-9, "SIGKILL"), (137, "SIGKILL"), (2, "exit code 2"), (-99, "signal 99"), (None, "killed")],
)
def test_signals_are_named(exit_code: int | None, words: str):
    assert words in describe_exit("make", exit_code)
