"""Rules are parsed once, with errors that say what to write; each form covers what it shows and no more."""

from pathlib import Path

import pytest

from ostinato.errors import ConfigurationError
from ostinato.permissions.rule_matching import (
    command_matches,
    command_may_match,
    host_matches,
    input_matches,
    name_matches,
    path_rule_matches,
    path_rule_reaches,
    raw_text_matches,
)
from ostinato.permissions.rules import Behaviour, Rule, parse_rule
from ostinato.permissions.shell_command import Proven
from ostinato.permissions.shell_reader import read_command
from ostinato.permissions.wildcard import path_matches, text_matches
from ostinato.web.web_address import web_address

CWD, HOME = Path("/w"), Path("/home/ann")


def rule(text: str, behaviour: Behaviour = "allow") -> Rule:
    return parse_rule(text, behaviour, "project settings")


def covers(text: str, command: str, behaviour: Behaviour = "allow") -> bool:
    reading = read_command(command)
    assert isinstance(reading, Proven)
    return command_matches(rule(text, behaviour), reading.commands[-1])


@pytest.mark.parametrize(
    ("text", "tool", "spec"),
    [("Bash", "Bash", None), ("Bash(*)", "Bash", None), ("Bash()", "Bash", None), (" Read(./a b) ", "Read", "./a b"), ("mcp__s__t", "mcp__s__t", None),
     ("mcp__s__*", "mcp__s__*", None), ("Bash(echo (a))", "Bash", "echo (a)"), ("WebFetch(domain:*.x.org)", "WebFetch", "domain:*.x.org")],
)  # fmt: skip
def test_a_rule_is_a_tool_and_what_is_in_parentheses(text: str, tool: str, spec: str | None) -> None:
    assert rule(text) == Rule(tool, spec, "allow", "project settings")


@pytest.mark.parametrize(
    "text",
    ["", "Bash(", "Bash)x", "Bash(a)b", "1x", "*", "mcp__*", "Re*", "Write(a)", "Glob(a)", "WebFetch(x.org)", "Bash(a:* b)", "TodoWrite(a:b)"],
)  # fmt: skip
def test_a_rule_that_would_not_do_what_it_says_is_an_error_with_a_hint(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        rule(text)
    assert caught.value.hint


@pytest.mark.parametrize("behaviour", ["allow", "deny", "ask"])
@pytest.mark.parametrize(
    ("text", "meant"),
    [("bash(x)", "Bash(x)"), ("edit(/a)", "Edit(/a)"), ("READ(a)", "Read(a)"), ("write(a)", "Edit(a)"), ("cd(a)", "Cd(a)")],
)  # fmt: skip
def test_a_name_in_other_letters_is_answered_with_the_rule_that_was_meant(
    text: str, meant: str, behaviour: Behaviour
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_rule(text, behaviour, "test settings")
    assert f"`{meant}`" in (caught.value.hint or "")


def test_deny_and_ask_rules_take_wildcards_of_tools_and_parameters() -> None:
    assert name_matches(rule("mcp__*", "deny"), "mcp__s__t")
    assert name_matches(rule("*", "ask"), "Bash")
    assert input_matches(rule("Bash2(background:true)", "deny"), {"background": True})
    assert not input_matches(rule("Bash2(background:true)", "deny"), {"background": False})


def test_a_server_rule_covers_its_tools_only() -> None:
    assert name_matches(rule("mcp__s"), "mcp__s__t")
    assert not name_matches(rule("mcp__s"), "mcp__s2__t")


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("Bash(npm test)", "npm test", True), ("Bash(npm test)", "npm test x", False), ("Bash(npm test:*)", "npm test", True),
        ("Bash(npm test:*)", "npm test x", True), ("Bash(npm test:*)", "npm tests", False), ("Bash(npm test *)", "npm test", True),
        ("Bash(npm test *)", "npm testx", False), ("Bash(npm*)", "npmx", True), ("Bash(git * main)", "git push origin main", True),
        ("Bash(git * main)", "git push mainx", False), ("Bash(ls a)", "ls 'a'", True), ("Bash(ls a)", "l\\s a", True), ("Bash(npm run test)", "npm 'run test'", False),
        ("Bash(git commit -m \"x | y\")", "git commit -m 'x | y'", True), ("Bash(git:*)", "git commit -m 'x | y'", True), ("Bash(git:*)", "git -c alias.x='!t' x", False),
        ("Bash(git:*)", "git -C d -c x=y z", False), ("Bash(git -c:*)", "git -c x=y z", True), ("Bash(git:*)", "git commit -c HEAD", True), ("Bash(git:*)", "git $x", False), ("Bash(git:*)", "git add $x", True),
        ("Bash(python:*)", "python x.py -c", True), ("Bash(python:*)", "python -c x", False), ("Bash(python:*)", "python -Ic x", False), ("Bash(python:*)", "python -W x -c y", False), ("Bash(python:*)", "python -I -c y", False),
        ("Bash(python3.11:*)", "python3.11 -c y", False), ("Bash(python:*)", "python -m pytest -c x", True), ("Bash(node:*)", "node --eval=x", False), ("Bash(bash:*)", "bash -ec x", False), ("Bash(bash:*)", "bash x.sh", True),
        ("Bash(npm test)", "npm $x", False), ("Bash(cat x)", "cat $x", False), ("Bash(grep *)", "grep 'a;b' f", True), ("Bash(cargo bench:*)", "cargo bench -- '^a/(b|c)$'", True),
    ],
)  # fmt: skip
def test_a_shell_rule_covers_whole_words(text: str, command: str, expected: bool) -> None:
    assert covers(text, command) is expected


def test_a_deny_rule_sees_through_paths_and_quotes_and_possible_words() -> None:
    assert covers("Bash(rm:*)", "/bin/rm x", "deny")
    assert covers("Bash(rm *)", "'r'm x", "deny")
    assert covers("Bash(npm run test)", "npm 'run test'", "deny")
    reading = read_command("git $x")
    assert isinstance(reading, Proven)
    assert command_may_match(rule("Bash(git push:*)", "deny"), reading.commands[0])
    assert not command_may_match(rule("Bash(npm:*)", "deny"), reading.commands[0])


def test_a_deny_rule_is_found_in_text_that_cannot_be_read() -> None:
    assert raw_text_matches(rule("Bash(rm -rf:*)", "deny"), "x() { rm  -rf /; }")
    assert raw_text_matches(rule("Bash(rm:*)", "deny"), 'eval "rm x"')
    assert not raw_text_matches(rule("Bash(rm:*)", "deny"), "eval inform")


@pytest.mark.parametrize(
    ("text", "path", "behaviour", "expected"),
    [
        ("Read(//etc/hosts)", "/etc/hosts", "allow", True), ("Read(~/x/**)", "/home/ann/x/a/b", "allow", True), ("Edit(/src/**)", "/w/src/a", "allow", True),
        ("Edit(/src/**)", "/w/srcx/a", "allow", False), ("Edit(src/*.py)", "/w/src/a.py", "allow", True), ("Edit(src/*.py)", "/w/src/b/a.py", "allow", False),
        ("Edit(./a)", "/w/a", "allow", True), ("Edit(src)", "/w/src/a", "allow", True), ("Edit(src)", "/w/x/src/a", "allow", False), ("Edit(src)", "/w/x/src/a", "deny", True),
        ("Edit(src/)", "/w/x/src/a", "ask", True), ("Edit(src/**)", "/w/x/src/a", "deny", True), ("Edit(*.py)", "/w/x/a.py", "allow", True), ("Read(.env)", "/w/a/.env", "deny", True),
        ("Read(**/.env)", "/w/.env", "deny", True), ("Read(a?c)", "/w/abc", "allow", True), ("Read(a?c)", "/w/a/c", "allow", False), ("Edit(/abc/**)", "/w/abc-evil/f", "allow", False),
        ("Edit(../x)", "/x", "allow", False), ("Edit(src/**)", "/elsewhere/src/a", "allow", False), ("Edit(**)", "/w/a", "allow", True), ("Edit(//**)", "/a", "allow", True),
    ],
)  # fmt: skip
def test_a_path_rule_starts_where_its_form_says(
    text: str, path: str, behaviour: Behaviour, expected: bool
) -> None:
    assert path_rule_matches(rule(text, behaviour), Path(path), cwd=CWD, home=HOME) is expected


def test_a_rule_of_the_users_settings_starts_at_their_folder() -> None:
    anchored = parse_rule("Edit(/x)", "allow", "user settings", anchor=HOME / ".claude")
    assert path_rule_matches(anchored, HOME / ".claude/x", cwd=CWD, home=HOME)
    assert not path_rule_matches(anchored, CWD / "x", cwd=CWD, home=HOME)


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [("x.org", "https://x.org/a", True), ("x.org", "https://a.x.org", False), ("*.x.org", "https://a.b.x.org", True), ("*.x.org", "https://x.org", False), ("*.x.org", "https://evilx.org", False),
     ("a*.x.org", "https://ab.x.org", True), ("a*.x.org", "https://a.b.x.org", False), ("x.org", "https://x.org@evil.org", False), ("x.org", "http://[", False), ("X.org", "https://x.ORG.", True)],
)  # fmt: skip
def test_a_domain_rule_covers_hosts_label_by_label(pattern: str, url: str, expected: bool) -> None:
    assert host_matches(pattern, url) is expected


@pytest.mark.parametrize(
    ("pattern", "url"),
    [("ex.org", "https://ⅇx.org/"), ("ex.org", "https://ex。org"), ("ex.org", "https://ｅｘ.org"), ("ex.org", " https://e\u00adx.org./"), ("*.ex.org", "https://a.ⅇx.org"), ("127.0.0.1", "http://0x7f.1"),
     ("127.0.0.1", "http://2130706433/"), ("::1", "http://[0:0::1]/"), ("bücher.org", "https://xn--bcher-kva.org"), ("*.bücher.org", "https://a.xn--bcher-kva.org"), ("xn--bcher-kva.org", "https://bücher.org")],
)  # fmt: skip
def test_a_domain_rule_judges_the_host_that_is_asked(pattern: str, url: str) -> None:
    assert host_matches(pattern, url)
    assert host_matches(web_address(url).host, url)


def test_wildcards_take_linear_time() -> None:
    assert not text_matches("*a" * 50 + "b", "a" * 10_000)
    assert not path_matches(("**", "a") * 20 + ("b",), ("a",) * 500)


@pytest.mark.parametrize(
    "path", ["SECRETS/Key.PEM", "secrets/key.pem", "Secrets/Ke\u0301y.pem", "secrets/k\u00c9y.pem"]
)
@pytest.mark.parametrize("behaviour", ["deny", "ask"])
def test_where_file_systems_fold_case_a_restricting_rule_does_too(path: str, behaviour: Behaviour):
    text = (
        "Read(./secrets/k\u00e9y.pem)"
        if "y.pem" in path and "key" not in path.casefold()
        else "Read(./secrets/key.pem)"
    )
    restricting, allowing = rule(text, behaviour), rule(text, "allow")
    assert path_rule_matches(restricting, CWD / path, cwd=CWD, home=HOME, folds_case=True)
    assert path_rule_reaches(restricting, CWD / "SECRETS", cwd=CWD, home=HOME, folds_case=True)
    assert path_rule_matches(restricting, CWD / path, cwd=CWD, home=HOME, folds_case=False) is (
        path == "secrets/key.pem"
    )
    assert path_rule_matches(allowing, CWD / path, cwd=CWD, home=HOME, folds_case=True) is (
        path == "secrets/key.pem"
    )
