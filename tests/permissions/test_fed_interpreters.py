"""An interpreter that reads its program from elsewhere may run anything: no deny rule is passed by that way."""

import pytest
from tests.permissions.gate_calls import MODES, bash, outcome

FED = [
    "bash <<< 'rm x'",
    'sh <<< "rm x"',
    "bash -s <<< 'rm x'",
    "bash -s -- a <<< 'rm x'",
    "bash - <<< 'rm x'",
    "bash /dev/stdin <<< 'rm x'",
    "bash <<< $text",
    "bash << END\nrm x\nEND",
    "bash <<'END'\nrm x\nEND",
    "bash <<-END\n\trm x\n\tEND",
    "echo 'rm x' | bash",
    "printf 'r%s x' m | sh",
    "echo cm0geA== | base64 -d | bash",
    "bash < script",
    "/bin/bash <<< 'rm x'",
    "timeout 5 bash <<< 'rm x'",
    "env bash <<< 'rm x'",
    "python3 <<< 'import os; os.system(\"rm x\")'",
    "python3 - << END\nimport os\nos.system('rm x')\nEND",
    "perl << END\nsystem 'rm x'\nEND",
    "echo 'rm x' | node",
]


@pytest.mark.parametrize("command", FED)
def test_a_deny_rule_holds_for_what_an_interpreter_is_fed(command: str) -> None:
    for mode in MODES:
        assert outcome(bash(command), "deny Bash(rm:*)", mode=mode) != "Allow"
        assert (
            outcome(
                bash(command), "allow Bash(bash:*)", "allow Bash(python3:*)", "deny Bash(rm:*)", mode=mode
            )
            != "Allow"
        )


def test_a_text_that_is_there_is_read_like_any_other() -> None:
    assert outcome(bash("bash <<< 'rm x'"), "deny Bash(rm:*)", mode="bypassPermissions") == "Deny"
    assert (
        outcome(bash("bash <<< 'cat secrets.txt'"), "deny Read(secrets.txt)", mode="bypassPermissions")
        != "Allow"
    )
    assert (
        outcome(bash("bash << E\ncat secrets.txt\nE"), "deny Read(secrets.txt)", mode="bypassPermissions")
        != "Allow"
    )


def test_a_script_and_a_text_given_as_a_word_are_no_such_thing() -> None:
    for command in (
        "bash build.sh",
        "bash -c 'ls'",
        "python3 x.py",
        "python3 -c 'print(1)'",
        "bash --version",
        "cat <<< 'rm x'",
    ):
        assert outcome(bash(command), "deny Bash(rm:*)", mode="bypassPermissions") == "Allow", command
    assert outcome(bash("bash <<< ls")) == "Ask"


OUTSIDE = [
    "test -f /etc/x",
    "[ -e /etc/x ]",
    "test -d / -a -f /etc/x",
    "test a -nt /etc/x",
    "test /etc/x -ef a",
    "[ ! -r /etc/x ]",
]


@pytest.mark.parametrize("command", OUTSIDE)
def test_asking_whether_a_file_is_there_is_a_read_of_it(command: str) -> None:
    assert outcome(bash(command)) == "Ask"
    assert outcome(bash(command), "allow Read(//**)") == "Allow"
    assert outcome(bash(command), "deny Read(//etc/x)", mode="bypassPermissions") == "Deny"


def test_other_tests_still_run_without_a_question() -> None:
    for command in ("test -f a", "[ -d src ]", "test -n x", "[ a = /etc/x ]", "test 1 -lt 2"):
        assert outcome(bash(command)) == "Allow", command
