"""The reader lists every command that could run, or refuses; it never answers wrongly and never takes long."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.permissions.shell_command import Proven, SimpleCommand, Unprovable
from ostinato.permissions.shell_reader import MAX_CHARACTERS, read_command

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("shell_cases.json").read_text())["handed"]
ATOMS = [
    "a", "b c", " ", "  ", "\n", ";", "&", "&&", "||", "|", "'", '"', "\\", "\\\n", "$", "$(", ")", "`", "(", "{", "}",
    "<", ">", "<<A\n", "\nA\n", "<(", "$((", "))", "${x", "${", "#", "if ", "then ", "fi", "for x in ", "do ", "done",
    "case a in ", ") b;; ", "esac", "[[ ", " ]]", "=", "x=", "~", "*", "[", "]", "!", "$'", "é", "1", "2>", "&>", "<<<",
]  # fmt: skip


def commands(text: str) -> tuple[SimpleCommand, ...]:
    reading = read_command(text)
    assert isinstance(reading, Proven), reading
    return reading.commands


def argvs(text: str) -> list[list[str | None]]:
    return [list(command.argv) for command in commands(text) if command.argv]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_known_case_is_read_exactly_or_refused_where_that_is_acceptable(case: dict[str, Any]) -> None:
    reading = read_command(case["cmd"])
    expected = case["expect"]
    if isinstance(reading, Unprovable):
        assert case["refusal_ok"]
        return
    assert "refuse" not in expected
    found = sorted(repr(list(command.argv)) for command in reading.commands if command.argv)
    assert found == sorted(repr(command["argv"]) for command in expected["commands"] if command["argv"])
    for wanted in expected["commands"]:
        command = next(command for command in reading.commands if list(command.argv) == wanted["argv"])
        if "redirects" in wanted:
            assert [[r.operator, r.target] for r in command.redirects] == wanted["redirects"]
        if "env" in wanted:
            assert dict(command.env) == wanted["env"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("(a; b) | { c; d; }", [["a"], ["b"], ["c"], ["d"]]),
        ("case $x in a|b) c;; *) d;& (e) f;;& esac", [["c"], ["d"], ["f"]]),
        ("case x in esac; a", [["a"]]),
        ("! a && time -p b", [["a"], ["b"]]),
        ("a `b \\`c\\``", [["c"], ["b", None], ["a", None]]),
        ('a "${x:-$(b)}" ${y:-"$(c)"}', [["b"], ["c"], ["a", None, None]]),
        ("cat <<A\n$(b) `c` \\$(d)\nA", [["cat"], ["b"], ["c"]]),
        ("git commit -m \"$(cat <<'EOF'\nit's $(x)\nEOF\n)\"", [["cat"], ["git", "commit", "-m", None]]),
        ("cp {a,b} c", [["cp", "a", "b", "c"]]),
        ("cp a{1..3}", [["cp", None]]),
        ("find . -exec rm {} \\;", [["find", ".", "-exec", "rm", "{}", ";"]]),
        ("a 2>&1 | b &>/dev/null & c", [["a"], ["b"], ["c"]]),
        ("[[ -f $(a) && x == y ]] && b", [["a"], ["b"]]),
        ("a $'x\\ty' $'\\''", [["a", "x\ty", "'"]]),
        ("a ~/x ~bob/y b=~", [["a", "~/x", None, None]]),
        ("a;#b\nc", [["a"], ["c"]]),
        ("# only a comment", []),
        ("a 'x\ny'\nb", [["a", "x\ny"], ["b"]]),
        ("a <<A \\\n b\nA", [["a", "b"]]),
        ("r''m x; \"r\"m y", [["rm", "x"], ["rm", "y"]]),
        ("for x; do a; done > f", [["a"]]),
    ],
)
def test_every_branch_and_every_substitution_is_listed(text: str, expected: list[list[str | None]]) -> None:
    assert argvs(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "$x", "`a`", "$(a) b", "*", "a*", "{a,b}", "~bob/x", "f() { a; }", "function f { a; }", "a=(b)", "a[0]=b c",
        "eval a", "\\eval a", "command eval a", "builtin eval a", "command -p eval a", ". f", "source f", "alias a=b",
        "trap a EXIT", "shopt -s x", "exec >f", "enable -f x y", "hash -p /x ls", "set -k", "set -o posix", "let a=1",
        "coproc a", "select x in y; do a; done", "((a))", "for ((;;)); do a; done", "echo $((x))", "echo $[1]",
        "${!x}", "echo ${!x}", "echo ${x@P}", "echo ${x:=a}", "echo ${a[b]}", "[[ a -eq b ]]", "[[ -v x ]]", "test -v 'a[$(b)]'",
        "[ -v $x ]", "printf -v PATH x", "read PATH", "read 'a[$(b)]'", "export PATH=x", "declare -i x=1", "declare -n x=y",
        "unset 'a[$(b)]'", "IFS=x a", "for PATH in x; do a; done", "for IFS in x; do a; done",
        "a 'b", 'a "b', "a `b", "a $(b", "a <(b", "a ${x", "(a", "{ a", "{ a }", "if a; then b", "a )", "a ;; b", "; a", ">&-rm x", "a >&-b", "a >& -b", "a <&-b", "2>&-rm x", "a >&\\\n-b", "a >&-\\\nb", "a >&-'b'", "{ a; } >&-b", "a >&-$x",
        "a; ; b", "a &; b", "a && ", "| a", "()", "{ }", "a (b)", "a\\", "a >", "a > #b", "a <<A", "a <<A\nb", "a <<$x\nb\n$x",
        "a <<A $(b\nc)\nA", "a <<A 'x\ny'\nA", "a $(b <<A)\nx\nA", "a $(b <<A\nx\nA)", ">f if", "a=b fi", "time -x a",
        "a $\\\n(b)", "case x in a) b", "echo 12345>(a)", "a\rb", "a\x0bb", "a\x00", "a\u00a0b", "a\u200bb", "a\u202eb", "a\u3164b",
        "a\ud800", "a\U000e0041", "if", "then", "!", "time", "a | | b", "a $'x", "[[ a", "[[ a =~ (b) ]]", "{PATH}>f a", "{ a; } {IFS}>f", "a `b 'c\\\nd'`", 'a "`b \\"c\\"`"', "a <(b)(c)",
    ],
)  # fmt: skip
def test_what_cannot_be_proven_is_refused(text: str) -> None:
    assert isinstance(read_command(text), Unprovable)


def test_a_redirect_of_a_group_is_kept_as_a_command_without_a_program() -> None:
    assert [r.target for command in commands("{ a; } > f 2>>g") for r in command.redirects] == ["f", "g"]


def test_a_dash_that_closes_a_descriptor_ends_its_redirection() -> None:
    found = commands('a >&- 2>&- <&- >&1- >&"-b"; >&-')
    assert [r.target for r in found[0].redirects] == ["-", "-", "-", "1-", "-b"]
    assert found[1].argv == ()


def test_an_unquoted_wildcard_keeps_its_pattern_for_the_path_check() -> None:
    (command,) = commands("cat src/*.py '*' \\*")
    assert command.argv == ("cat", None, "*", "*")
    assert command.globs == ((1, "src/*.py"),)


def test_length_and_nesting_are_capped() -> None:
    assert isinstance(read_command("a" * MAX_CHARACTERS), Proven)
    assert isinstance(read_command("a" * (MAX_CHARACTERS + 1)), Unprovable)
    assert isinstance(read_command("$(" * 30 + ")" * 30), Unprovable)
    assert isinstance(read_command("a;" * 501), Unprovable)
    assert isinstance(read_command("a " * 2_001), Unprovable)
    assert isinstance(read_command("a " + "$(b)" * 501), Unprovable)
    assert argvs("a " + "$(b " * 18 + ")" * 18)[-1] == ["a", None]
    assert argvs("( " * 18 + "a" + " )" * 18) == [["a"]]


@pytest.mark.parametrize(
    "unit",
    ["$(", "`", "\\", "{", "[", "<(", "a ", "a;", "'", '"', "\\\n", "<<A ", "((", "if ", "${x:-", "$x", "~", "a\n", "#", "{,", "[]", "<<A\n", "a=~:"],
)  # fmt: skip
def test_no_repeated_text_takes_long(unit: str) -> None:
    text = ("a " + unit * MAX_CHARACTERS)[:MAX_CHARACTERS]
    assert _seconds(text) < 0.05


def test_random_texts_give_one_of_two_answers_and_none_takes_long() -> None:
    generator = random.Random(7)
    for _ in range(5_000):
        text = "".join(generator.choices(ATOMS, k=generator.randint(1, 40)))
        assert _seconds(text) < 0.05


@given(st.text(max_size=200))
def test_any_text_gives_one_of_two_answers(text: str) -> None:
    assert isinstance(read_command(text), Proven | Unprovable)


def _seconds(text: str) -> float:
    """CPU seconds of the best of three readings, none of them remembered, so that a busy machine does not fail the promise."""
    best = 1.0
    for _ in range(3):
        start = time.thread_time()
        read_command.__wrapped__(text)
        best = min(best, time.thread_time() - start)
        if best < 0.05:
            break
    return best
