"""A report says what `decide` says, part by part, with every rule that is about a part and what would allow it."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.permissions.gate_calls import HOME, MODES, ROOT, bash, file_tool, other_tool, outcome, policy

from ostinato.errors import UsageError
from ostinato.option_values import PermissionMode
from ostinato.permissions.call_report import CallReport, report_call
from ostinato.permissions.decision import decide
from ostinato.permissions.report_text import report_text
from ostinato.permissions.shell_command import Redirect
from ostinato.permissions.typed_call import typed_call
from ostinato.permissions.verdict import Ask, Policy

PIECES = [
    "ls", "rm -rf x", "cd src", "git status", "npm test > out.txt", "cat < ../a", "timeout 5 npm test", "X=1 make", "echo $x", "sudo rm y", "touch .git/config",
    "cat /etc/passwd", "bash -c 'rm z; ls'", "cp a b", "cd $x", "find . -exec rm {} +",
]  # fmt: skip
RULES = [
    "allow Bash", "allow Bash(npm test:*)", "deny Bash(rm:*)", "ask Bash(git:*)", "deny Edit(out.txt)", "deny Read(//etc/**)", "allow Bash(ls)", "ask Cd(src)",
    "allow Bash(sudo:*)", "deny Bash(cat *)", "allow Read(//etc/**)", "allow Edit",
]  # fmt: skip


def of(text: str, *rules: str, mode: PermissionMode = "default") -> CallReport:
    return report_call(bash(text), policy(*rules, mode=mode))


def test_each_command_is_a_part_with_its_words_redirections_and_wrapped_programs():
    report = of("A=b timeout 5 nice rm -rf x > out.txt 2>&1; git status", "deny Bash(rm:*)")
    first, second = report.parts
    assert first.words == ("timeout", "5", "nice", "rm", "-rf", "x")
    assert first.assignments == (("A", "b"),)
    assert first.redirects == (Redirect(">", "out.txt"), Redirect(">&", "1"))
    assert first.runs == (("nice", "rm", "-rf", "x"), ("rm", "-rf", "x"))
    assert [path.path for path in first.writes] == [ROOT / "out.txt"]
    assert (first.outcome, first.reason.rule, first.reason.source) == ("deny", "Bash(rm:*)", "test settings")
    assert (second.outcome, second.reason.kind) == ("allow", "read_only")
    assert report.outcome == "deny"


def test_a_part_lists_every_rule_that_is_about_it_also_those_that_lose():
    (part,) = of(
        "npm test", "allow Bash(npm test:*)", "ask Bash(npm:*)", "deny Bash(rm:*)", "allow Bash"
    ).parts
    assert [(rule.behaviour, rule.rule) for rule in part.rules] == [
        ("ask", "Bash(npm:*)"),
        ("allow", "Bash(npm test:*)"),
        ("allow", "Bash"),
    ]


def test_a_rule_that_may_cover_a_word_that_is_not_static_is_not_certain():
    (part,) = of("rm $x", "deny Bash(rm -rf:*)").parts
    assert [(rule.rule, rule.is_certain) for rule in part.rules] == [("Bash(rm -rf:*)", False)]
    assert part.outcome == "ask"


def test_a_redirection_that_nothing_allows_is_the_reason_not_the_command():
    report = of("npm test > ../out.txt", "allow Bash(npm test:*)")
    assert report.outcome == "ask"
    assert "out.txt" in report.reason.text
    assert [rule.rule for rule in report.parts[0].rules] == ["Bash(npm test:*)"]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("echo hi > x", ("allow Bash(echo:*)",)),
        ("echo hi > x", ()),
        ("ls && echo hi >> ../x", ()),
        ("cat a > x 2> y", ()),
        ("npm test > x", ("allow Bash(npm test:*)",)),
        ("npm test < ../x", ("allow Bash(npm test:*)",)),
        ("cd src && make > x", ("allow Bash(make)",)),
        ("> x", ()),
    ],
)
def test_where_only_a_redirection_is_open_its_path_is_named_and_the_suggested_rules_would_do(
    text: str, rules: tuple[str, ...]
):
    report = of(text, *rules)
    assert (report.outcome, report.reason.kind) == ("ask", "no_rule")
    assert "/x" in report.reason.text
    assert all(rule.startswith(("Edit(/", "Read(/")) for rule in report.suggestions)
    assert report.suggestions
    assert outcome(bash(text), *rules, *(f"allow {rule}" for rule in report.suggestions)) == "Allow"


@pytest.mark.parametrize(
    "text", ["echo hi > .git/config", "echo hi > ~/.bashrc", "echo hi > $x", "echo hi > '*'"]
)
def test_no_rule_is_suggested_for_a_redirection_that_none_should_allow(text: str):
    report = of(text, "allow Bash(echo:*)")
    assert (report.outcome, report.suggestions) == ("ask", ())


def test_an_asking_rule_is_not_answered_with_the_path_of_a_redirection():
    assert of("echo hi > x", "ask Bash(echo:*)").suggestions == ()


def test_folders_are_those_that_cd_leads_to():
    assert of("cd src && ls").folders == (ROOT, ROOT / "src")


def test_what_cannot_be_read_is_one_part_with_the_reason():
    report = of("eval x", "deny Bash(eval:*)")
    assert report.unread
    assert report.outcome == "deny"
    assert [rule.rule for rule in report.parts[0].rules] == ["Bash(eval:*)"]


def test_suggested_rules_would_allow_it():
    report = of("npm test && cargo build")
    assert report.suggestions == ("Bash(npm test:*)", "Bash(cargo build:*)")
    assert (
        outcome(bash("npm test && cargo build"), *(f"allow {rule}" for rule in report.suggestions)) == "Allow"
    )


def test_a_file_tool_shows_where_its_path_leads_and_its_protection(tmp_path: Path):
    (tmp_path / "link").symlink_to("/etc/hosts")
    read = report_call(file_tool("Read", "link", tmp_path), Policy()).parts[0].reads[0]
    assert (read.leads_to, read.is_inside) == ((Path("/etc/hosts").resolve(),), False)
    write = report_call(file_tool("Write", ".git/config", tmp_path), Policy()).parts[0].writes[0]
    assert write.protection


DYNAMIC = ["find . -exec rm {} +", "echo $x", "find . -exec rm {} +", "cd src"]
"""The dearest of them: paths that no part names, in folders that are not known, judged by rules about paths."""


@example(DYNAMIC, ["allow Bash", "allow Read(//etc/**)", "deny Read(//etc/**)"], "default")
@example(DYNAMIC, ["allow Bash", "deny Read(//etc/**)"], "bypassPermissions")
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    st.lists(st.sampled_from(RULES), max_size=4),
    st.sampled_from(MODES),
)
def test_the_whole_is_what_decide_says_and_its_parts_add_up(
    pieces: list[str], rules: list[str], mode: PermissionMode
):
    call, rights = bash("; ".join(pieces)), policy(*rules, mode=mode)
    report, verdict = report_call(call, rights), decide(call, rights)
    assert report.outcome == type(verdict).__name__.lower()
    assert report.reason == verdict.reason
    assert report.suggestions == (verdict.suggestions if isinstance(verdict, Ask) else ())
    outcomes = {part.outcome for part in report.parts}
    assert (report.outcome == "deny") == ("deny" in outcomes)
    assert (report.outcome == "allow") == (outcomes == {"allow"})
    assert report_text(report).endswith("\n")


@pytest.mark.parametrize("name", ["a\nallowed: x", "\x1b[2J", "\u202e", "a\rb"])
def test_no_text_of_a_call_draws_lines_of_its_own(name: str):
    for call in (file_tool("Read", name), bash(f"cat '{name}'"), bash(f"rm '{name}' > '{name}'")):
        text = report_text(report_call(call, policy("deny Bash(cat:*)")))
        assert all(character == "\n" or character.isprintable() for character in text)
        assert not any(line.startswith("allowed: x") for line in text.splitlines())


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("Bash", "ls", "allow"),
        ("Read", "a", "allow"),
        ("Read", "/etc/passwd", "ask"),
        ("Grep", "", "allow"),
        ("Write", "~/.bashrc", "ask"),
        ("Edit", '{"file_path": "a"}', "ask"),
        ("WebFetch", "https://example.org", "ask"),
        ("mcp__x__y", '{"a": 1}', "ask"),
        ("mcp__x__y", "", "ask"),
    ],
)
def test_a_typed_call_is_judged_like_the_models_own(tool: str, text: str, expected: str):
    call = typed_call(tool, text, cwd=ROOT, roots=(ROOT,), home=HOME)
    assert report_call(call, Policy()).outcome == expected


@pytest.mark.parametrize(("tool", "text"), [("mcp__x__y", "a"), ("Read", "{a}")])
def test_a_typed_call_that_says_nothing_is_a_usage_error(tool: str, text: str):
    with pytest.raises(UsageError):
        typed_call(tool, text, cwd=ROOT, roots=(ROOT,), home=HOME)


def test_other_tools_have_one_part_without_words():
    (part,) = report_call(other_tool("mcp__a__b"), policy("allow mcp__a__*")).parts
    assert (part.outcome, part.words) == ("allow", ())
    assert [rule.rule for rule in part.rules] == ["mcp__a__*"]


def test_a_redirection_without_a_program_is_asked_about_by_its_path():
    assert "/etc/x" in of("> /etc/x").reason.text


def test_a_typed_bash_call_takes_its_input_as_other_tools_do_and_braces_of_the_shell_stay_a_command():
    call = typed_call("Bash", '{"command": "rm x", "timeout": 5}', cwd=ROOT, roots=(ROOT,), home=HOME)
    assert call.input == {"command": "rm x", "timeout": 5}
    assert call.shell == bash("rm x").shell
    for text in ("{ ls; }", "{a,b}", '{"ls"}', '{"a": 1}', '{"command": 5}', "[1]"):
        call = typed_call("Bash", text, cwd=ROOT, roots=(ROOT,), home=HOME)
        assert call.input == {"command": text}
