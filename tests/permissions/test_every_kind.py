"""Every wrapper, every redirection and every way to move is seen by rules: the tables are walked, so that a new entry is tested."""

from pathlib import Path

import pytest
from tests.permissions.gate_calls import HOME, bash, outcome
from tests.permissions.test_wrappers import only_command

from ostinato.permissions.shell_command import Unprovable
from ostinato.permissions.shell_simple import OPERATORS
from ostinato.permissions.wrappers import FORMS, SHELLS, TRANSPARENT, commands_run_by

LINES = {
    "timeout": "timeout 5 {}", "chroot": "chroot . {}", "time": "\\time {}", "watch": "watch {}", "xargs": "xargs {}", "find": "find . -exec {} \\;",
    "fd": "fd -x {}", "fdfind": "fdfind -X {}",
} | {shell: shell + " -c '{}'" for shell in SHELLS}  # fmt: skip
WRAPPERS = sorted({*FORMS, *SHELLS, "find", "fd", "fdfind"})


def wrapped(name: str, inner: str) -> str:
    return LINES.get(name, f"{name} {{}}").format(inner)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_deny_rule_holds_inside_every_wrapper_and_inside_two(name: str) -> None:
    assert outcome(bash(wrapped(name, "rm -rf x")), "allow Bash", "deny Bash(rm:*)") == "Deny"
    assert outcome(bash(f"/usr/bin/{wrapped(name, 'rm x')}".replace("/usr/bin/\\", "/usr/bin/")), "allow Bash", "deny Bash(rm:*)") == "Deny"  # fmt: skip
    twice = wrapped(name, "env nice rm x")
    assert outcome(bash(twice), "allow Bash", "deny Bash(rm:*)") == "Deny"


@pytest.mark.parametrize("name", WRAPPERS)
def test_an_allow_rule_for_the_wrapper_alone_never_allows_what_is_inside(name: str) -> None:
    line = wrapped(name, "make x")
    assert outcome(bash(line), "allow Bash(ls:*)", "allow Bash(echo)") == "Ask"
    if name not in TRANSPARENT:
        assert outcome(bash(line), "allow Bash(make:*)") == "Ask"
    else:
        assert outcome(bash(line), "allow Bash(make:*)") == "Allow"


@pytest.mark.parametrize("name", WRAPPERS)
def test_no_wrapper_hides_a_protected_path_or_counts_as_reading(name: str) -> None:
    assert outcome(bash(wrapped(name, "cp a .git/config")), "allow Bash(cp:*)", "allow Bash(make:*)") == "Ask"
    assert outcome(bash(wrapped(name, "make")), mode="plan") == "Deny"


@pytest.mark.parametrize("name", sorted({*FORMS} - {"busybox"}))
def test_an_option_that_a_wrapper_is_not_known_to_have_hides_nothing(name: str) -> None:
    assert isinstance(commands_run_by(only_command(wrapped(name, "--nonesuch rm x"))), Unprovable) or (
        outcome(bash(wrapped(name, "--nonesuch rm x")), "deny Bash(rm:*)", "allow Bash") in {"Deny", "Ask"}
    )


WRITING = [operator for operator in OPERATORS if operator not in {"<", "<<", "<<-", "<<<", "<&"}]


@pytest.mark.parametrize("operator", WRITING)
@pytest.mark.parametrize("before", ["", "2", "{fd}"])
@pytest.mark.parametrize("line", ["echo a {}", "{} echo a", "{}", "{{ echo a; }} {}", "(echo a) {}", "if true; then echo; fi {}", "for f in a; do echo; done {}", "nice echo a {}", "bash -c 'echo a {}'"])  # fmt: skip
def test_every_redirection_that_writes_goes_through_the_path_check(
    operator: str, before: str, line: str
) -> None:
    if before and operator.startswith("&"):
        return
    for path in (".git/config", "../x", "/etc/x", "~/.bashrc", "a/../../x"):
        call = bash(line.format(f"{before}{operator}{path}"))
        assert outcome(call, "allow Bash(echo:*)", "allow Bash(nice:*)", "allow Bash(bash:*)") != "Allow"
        assert outcome(call, mode="plan") == "Deny"
    call = bash(line.format(f"{before}{operator}a.txt"))
    assert outcome(call, "allow Bash", "deny Edit(a.txt)") == "Deny"


@pytest.mark.parametrize(
    "line", ["cat < {}", "cat 0<{}", "{{ cat; }} < {}", "while read l; do echo; done < {}", "nice cat < {}"]
)
def test_every_redirection_that_reads_goes_through_the_path_check(line: str) -> None:
    assert outcome(bash(line.format("/etc/passwd")), "allow Bash(read:*)") == "Ask"
    assert outcome(bash(line.format("a.txt")), "allow Bash", "deny Read(a.txt)") == "Deny"


MOVES = [
    "cd {}",
    "cd -- {}",
    "command cd {}",
    "builtin cd {}",
    "cd {} && ls",
    "(cd {})",
    "{{ cd {}; }}",
    "if cd {}; then ls; fi",
    "true || cd {}",
]


@pytest.mark.parametrize("move", MOVES)
def test_every_way_to_move_moves_what_follows(move: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    inside, outside = move.format("src"), move.format("..")
    assert outcome(bash(f"{inside}; cat a", tmp_path)) == "Allow"
    assert outcome(bash(f"{outside}; cat a", tmp_path)) == "Ask"
    assert outcome(bash(f"{inside}; touch a", tmp_path), "deny Edit(src/a)", "allow Bash") == "Deny"
    assert outcome(bash(f"{inside}; echo > ../../x", tmp_path), mode="acceptEdits") == "Ask"
    assert outcome(bash(inside, tmp_path), "deny Cd(src)") == "Deny"


@pytest.mark.parametrize(
    "move", ["cd -", "cd $x", "cd", "cd ~", "cd a b", "cd -P src", "pushd src", "popd", "cd src*", "CDPATH=/ cd src", "for d in a b; do cd $d; done", "cd $(pwd)"]
)  # fmt: skip
def test_a_move_that_cannot_be_told_leaves_nothing_allowed_behind_it(move: str, tmp_path: Path) -> None:
    assert outcome(bash(f"{move}; cat a", tmp_path), "allow Bash(cd:*)") == "Ask"
    assert outcome(bash(f"{move}; touch a", tmp_path), mode="acceptEdits") == "Ask"


RULES = [
    ("Bash(git *)", "git status -s", True), ("Bash(git * --dry-run)", "git push --dry-run", True), ("Bash(git * --dry-run)", "git push", False), ("Bash(npm run *)", "npm run a b", True),
    ("Bash(npm run *)", "npm run", True), ("Bash(npm run*)", "npm running", True), ("Bash(npm run *)", "npm running", False), ("Bash(* --version)", "node --version", True),
    ("Bash(* --version)", "node --version; rm x", False), ("Bash(echo *)", "echo a > x", False), ("Bash(echo *)", "echo $(rm x)", False), ("Bash(echo *)", "echo a | sh", False),
    ("Bash(ls*)", "lsof", True), ("Bash(make test)", "make test", True), ("Bash(make test)", "make test x", False), ("Bash(make test)", "X=1 make test", False),
    ("Bash(git *)", "git -c core.pager=x log", False), ("Bash(python3 *)", "python3 -c 'x'", False), ("Bash(python3 -c *)", "python3 -c 'x'", True), ("Bash(make *)", "make\trm", True),
    ("Bash(git log *)", "git log\nrm x", False), ("Bash(git *)", "git'' status", True), ("Bash(git *)", "gi\\t status", True), ("Bash(git *)", "git\\ status", False),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "line", "allowed"), RULES)
def test_a_star_covers_words_of_one_command_and_nothing_else(rule: str, line: str, allowed: bool) -> None:
    assert (outcome(bash(line), f"allow {rule}") == "Allow") is allowed


def test_home_is_not_the_workspace() -> None:
    assert outcome(bash(f"cat {HOME}/x")) == "Ask"
