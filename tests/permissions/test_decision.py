"""The decision: deny before ask before allow, in every mode; what cannot be proven is asked; each verdict names its rule."""

from pathlib import Path

import msgspec
import pytest
from tests.permissions.gate_calls import MODES, bash, file_tool, other_tool, outcome, policy

from ostinato.option_values import PermissionMode
from ostinato.permissions.decision import decide
from ostinato.permissions.explanation import explain
from ostinato.permissions.verdict import Ask, CallFacts, Policy

# -- order


def test_deny_wins_over_ask_and_allow_in_every_mode() -> None:
    for mode in MODES:
        assert outcome(bash("rm x"), "allow Bash", "ask Bash", "deny Bash(rm:*)", mode=mode) == "Deny"
        assert outcome(file_tool("Write", "a"), "allow Edit", "deny Edit(a)", mode=mode) == "Deny"


def test_ask_wins_over_allow_and_becomes_deny_where_the_mode_does_not_ask() -> None:
    for mode in MODES:
        expected = "Deny" if mode in {"dontAsk", "plan"} else "Ask"
        assert outcome(bash("rm x"), "allow Bash", "ask Bash(rm:*)", mode=mode) == expected


def test_every_verdict_names_its_rule_and_source() -> None:
    denied = decide(bash("rm x"), policy("deny Bash(rm:*)"))
    assert (denied.reason.kind, denied.reason.rule, denied.reason.source) == (
        "rule",
        "Bash(rm:*)",
        "test settings",
    )
    for call in (
        bash("ls"),
        bash("x"),
        bash("$x"),
        file_tool("Read", "a"),
        file_tool("Write", ".git/config"),
    ):
        for mode in MODES:
            reason = decide(call, Policy(mode)).reason
            assert reason.source
            assert reason.text


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("default", "Ask"),
        ("acceptEdits", "Allow"),
        ("plan", "Deny"),
        ("dontAsk", "Deny"),
        ("bypassPermissions", "Allow"),
    ],
)
def test_each_mode_answers_an_edit_in_its_way(mode: PermissionMode, expected: str) -> None:
    assert outcome(file_tool("Write", "a"), mode=mode) == expected
    assert outcome(bash("mkdir -p a && touch a/b"), mode=mode) == expected
    assert outcome(bash("echo x > a"), mode=mode) == expected


def test_plan_mode_stays_read_only_whatever_is_allowed() -> None:
    assert outcome(bash("npm test"), "allow Bash", "allow Bash(npm test)", mode="plan") == "Deny"
    assert outcome(bash("ls && git status"), mode="plan") == "Allow"
    assert outcome(file_tool("Read", "a"), mode="plan") == "Allow"
    assert outcome(other_tool("Agent"), "allow Agent", mode="plan") == "Deny"


def test_accept_edits_stays_inside_the_workspace() -> None:
    for text in (
        "touch /etc/x",
        "mv a /tmp/x",
        "cp ~/x a",
        "mkdir ../x",
        "rm a",
        "touch $x",
        "cp * b",
        "echo x > /etc/x",
        "cd .. && touch a",
    ):
        assert outcome(bash(text), mode="acceptEdits") == "Ask", text
    assert outcome(file_tool("Write", "/etc/x"), mode="acceptEdits") == "Ask"


# -- shell rules (H43, H44, H46)


@pytest.mark.parametrize(
    "text",
    [
        "X=`touch${IFS}x` npm --version", "X=$(touch x) npm --version", "FOO=bar BAR=$(x) npm --version", "LD_PRELOAD=./a.so npm --version", "env X=1 npm --version",
        "npm --version\nrm x", "npm --version & x", "npm --version #\nx", "npm --version; x", "npm --version | x", "npm --version $(x)", "npm --version > f", "PATH=. npm --version",
        "npm --version <(x)", "A=b npm --version", "npm --version >| f", "npm --version && x", "bash -c 'npm --version; x'", "npm --version\\\n; x", "$(npm --version)",
    ],
)  # fmt: skip
def test_a_rule_for_one_command_allows_nothing_that_comes_with_it(text: str) -> None:
    assert outcome(bash(text), "allow Bash(npm --version)") == "Ask"


@pytest.mark.parametrize(
    "text",
    ["git status $(touch x)", 'git status "$(touch x)"', "git status $(git log $(touch x))", 'git status "${x:-$(t)}"', "git status `t`", "git log <(t)", "git -c alias.x='!t' x", "git 'status' ; t", "git status 't"],
)  # fmt: skip
def test_a_wildcard_does_not_cover_what_runs_inside(text: str) -> None:
    assert outcome(bash(text), "allow Bash(git *)") == "Ask"


@pytest.mark.parametrize(
    "text",
    [
        "git status '$(t)'",
        "git commit -m 'x | y'",
        "git log --grep='a;b'",
        "git add $x",
        "timeout 5 git push",
        "CI=1 git push",
        "git push && git pull",
        "git push | head -5",
        "git push 2>&1",
    ],
)
def test_quoted_signs_do_not_make_an_allowed_command_compound(text: str) -> None:
    assert outcome(bash(text), "allow Bash(git *)") == "Allow"


def test_every_command_of_a_text_must_be_allowed_and_any_may_be_denied() -> None:
    assert outcome(bash("a && b"), "allow Bash(a)") == "Ask"
    assert outcome(bash("a && b"), "allow Bash(a)", "allow Bash(b)") == "Allow"
    for text in (
        "a; rm x",
        "a $(rm x)",
        "timeout 5 rm x",
        "env -u X nice rm x",
        "bash -c 'rm x'",
        "find . -exec rm {} +",
        "xargs rm",
        "r\\m x",
        "eval 'rm x'",
        "f() { rm x; }",
        "sudo rm x",
        "/bin/rm x",
    ):
        assert outcome(bash(text), "allow Bash", "deny Bash(rm:*)", mode="bypassPermissions") == "Deny", text


def test_what_a_deny_rule_may_cover_is_asked() -> None:
    assert outcome(bash("git $x"), "allow Bash", "deny Bash(git push:*)") == "Ask"
    assert outcome(bash("git log $x"), "allow Bash", "deny Bash(git push:*)") == "Allow"


def test_a_non_transparent_wrapper_needs_its_own_rule() -> None:
    assert outcome(bash("sudo ls"), "allow Bash(ls)") == "Ask"
    assert outcome(bash("sudo ls"), "allow Bash(sudo:*)", "allow Bash(ls)") == "Allow"
    assert outcome(bash("timeout 5 npm test"), "allow Bash(timeout:*)") == "Ask"
    assert outcome(bash("timeout 5 npm test"), "allow Bash(timeout 5 npm test)") == "Allow"


def test_redirections_are_writes_and_reads_of_their_own() -> None:
    assert outcome(bash("a > f"), "allow Bash(a)") == "Ask"
    assert outcome(bash("a > f"), "allow Bash(a)", "allow Edit(/f)") == "Allow"
    assert outcome(bash("a > f"), "allow Bash(a)", mode="acceptEdits") == "Allow"
    assert outcome(bash("a < /etc/passwd"), "allow Bash(a)") == "Ask"
    assert outcome(bash("a > f"), "allow Bash", "deny Edit(f)", mode="bypassPermissions") == "Deny"
    assert outcome(bash("bash -c 'echo x > f'"), "allow Bash(bash -c:*)", "allow Bash(echo:*)") == "Ask"
    assert outcome(bash("bash -c 'cd .git; tee config'"), "allow Bash") == "Ask"
    assert outcome(bash("a > $f"), "allow Bash(a)", "allow Edit") == "Ask"


# -- reading, and the workspace (H40, H41)


def test_reading_inside_is_free_and_outside_is_asked() -> None:
    assert outcome(bash("cat a | wc -l; git status")) == "Allow"
    for text in ("cat /etc/passwd", "cat ../x", "ls ~", "cd .. && ls", "cd / && pwd", "cat < /etc/passwd", "find / -name x", "grep x /etc/passwd", "cd $x && ls", "cd - && ls", "pushd x && ls",
                 "cd a && git status", "for x in 1 2; do cd a; ls; done", "cat '~/x'", "cat ~bob/x"):  # fmt: skip
        assert outcome(bash(text)) == "Ask", text
    assert outcome(bash("cd a && ls b")) == "Allow"
    assert outcome(file_tool("Read", "/etc/passwd")) == "Ask"
    assert outcome(file_tool("Read", "/etc/passwd"), "allow Read(//etc/passwd)") == "Allow"
    assert outcome(bash("cat /etc/passwd"), "allow Read(//etc/passwd)") == "Allow"


@pytest.mark.parametrize(
    "path", ["../abc-evil/f", "/nowhere/abc-evil/f", "/nowhere/abc/../abc-evil/f", "x/../../abc-evil/f"]
)
def test_a_sibling_with_the_same_beginning_is_outside(path: str) -> None:
    assert outcome(file_tool("Write", path), mode="acceptEdits") == "Ask"
    assert outcome(file_tool("Write", path), "allow Edit(/**)") == "Ask"
    assert outcome(bash(f"cat {path}")) == "Ask"


def test_a_link_counts_as_where_it_leads(tmp_path: Path) -> None:
    root, outside = (tmp_path / "ws").resolve(), (tmp_path / "out").resolve()
    (root / "in").mkdir(parents=True)
    (root / ".git").mkdir()
    outside.mkdir()
    (outside / "secret").touch()
    (root / "leads-out").symlink_to(outside)
    (root / "secret.txt").symlink_to(outside / "secret")
    (root / "leads-in").symlink_to(root / "in")
    (root / "innocent").symlink_to(root / ".git")
    assert outcome(file_tool("Write", "leads-out/x", root), mode="acceptEdits") == "Ask"
    assert outcome(file_tool("Write", "leads-out/x", root), "allow Edit(/**)") == "Ask"
    assert outcome(file_tool("Write", "leads-in/x", root), mode="acceptEdits") == "Allow"
    assert outcome(file_tool("Read", "leads-in/x", root), "deny Read(in/**)") == "Deny"
    assert outcome(file_tool("Write", "innocent/hooks/x", root), mode="acceptEdits") == "Ask"
    assert outcome(bash("cat secret.txt", root)) == "Ask"
    assert outcome(bash("cat *.txt", root)) == "Ask"
    assert outcome(bash("cat in/*.txt", root)) == "Allow"
    assert outcome(bash("cat */x", root)) == "Ask"
    (root / "in" / "b").symlink_to(root / ".git" / "config")
    assert outcome(bash("bash -c 'cd in; tee b'", root), "allow Bash") == "Ask"
    assert outcome(bash("bash -c 'cd in; tee c'", root), "allow Bash") == "Allow"
    assert outcome(bash("cd leads-out && cat secret", root)) == "Ask"
    assert outcome(bash("touch innocent/config", root), "allow Bash(touch:*)", mode="acceptEdits") == "Ask"


def test_a_path_that_was_not_resolved_is_asked() -> None:
    call = msgspec.structs.replace(file_tool("Read", "a"), resolved={})
    assert isinstance(decide(call, Policy()), Ask)


# -- protected paths


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/x",
        ".claude/settings.json",
        ".ostinato/settings.json",
        ".MCP.json",
        "a/.vscode/x",
        ".bashrc",
    ],
)
def test_a_protected_path_is_asked_in_every_mode_but_bypass(path: str) -> None:
    rules = ("allow Edit", "allow Bash", "allow Edit(/**)")
    for mode in ("default", "acceptEdits"):
        assert outcome(file_tool("Write", path), *rules, mode=mode) == "Ask"
        for text in (
            f"echo x > {path}",
            f"cp a {path}",
            f"mv {path} b",
            f"tee {path}",
            f"sed -i s/a/b/ {path}",
            f"ln -s a {path}",
            f"dd of={path}",
            f"cp x/../{path} b",
        ):
            assert outcome(bash(text), *rules, mode=mode) == "Ask", text
    assert outcome(file_tool("Write", path), mode="bypassPermissions") == "Allow"


def test_git_commands_that_change_settings_are_asked() -> None:
    assert outcome(bash("git config core.hooksPath x"), "allow Bash(git:*)") == "Ask"
    assert outcome(bash("cat .git/config")) == "Allow"


# -- other tools


def test_tools_without_files_follow_their_own_word_unless_they_leave_the_machine() -> None:
    assert outcome(other_tool("TodoWrite", is_read_only=True)) == "Allow"
    assert outcome(other_tool("WebFetch", {"url": "https://x.org"}, is_read_only=True)) == "Ask"
    assert (
        outcome(other_tool("WebFetch", {"url": "https://x.org"}), "allow WebFetch(domain:x.org)") == "Allow"
    )
    assert outcome(other_tool("mcp__s__t", is_read_only=True)) == "Ask"
    assert outcome(other_tool("mcp__s__t"), "allow mcp__s") == "Allow"
    assert outcome(other_tool("mcp__s__t"), "allow mcp__s", "deny mcp__*__t") == "Deny"
    assert outcome(other_tool("Agent", {"subagent_type": "x"}), "deny Agent(x)", "allow Agent") == "Deny"


def test_read_and_edit_rules_cover_their_relatives() -> None:
    assert outcome(file_tool("Grep", "a"), "deny Read(a)") == "Deny"
    assert outcome(file_tool("Write", "a"), "deny Edit(a)") == "Deny"
    assert outcome(file_tool("NotebookEdit", "a"), "allow Edit(/a)") == "Allow"
    assert outcome(bash("cat a/.env"), "deny Read(.env)") == "Deny"
    assert outcome(bash("python x.py .env"), "allow Bash", "deny Read(.env)") == "Ask"
    assert outcome(bash("eval 'cat .env'"), "allow Bash", "deny Read(.env)") == "Ask"


# -- suggestions and words


def test_a_question_suggests_one_rule_for_each_open_command() -> None:
    verdict = decide(bash("ls; npm test --x && npm run build -- y; make; ./x 1"), Policy())
    assert isinstance(verdict, Ask)
    assert verdict.suggestions == ("Bash(npm test:*)", "Bash(npm run build:*)", "Bash(make)", "Bash(./x 1)")
    assert (
        outcome(
            bash("ls; npm test --x && npm run build -- y; make; ./x 1"),
            *(f"allow {text}" for text in verdict.suggestions),
        )
        == "Allow"
    )


def test_a_program_that_runs_scripts_is_suggested_only_word_for_word() -> None:
    verdict = decide(bash("uv run python x"), Policy())
    assert isinstance(verdict, Ask)
    assert verdict.suggestions == ("Bash(uv run python x)",)


@pytest.mark.parametrize(
    "text",
    [
        "$x",
        "eval x",
        "npm test $(eval x)",
        "sudo x",
        "tee .git/config",
        "a > f",
        "x $y",
        "PATH=. x",
        "echo x | bash",
        "docker run x y > f",
    ],
)
def test_nothing_is_suggested_for_what_a_rule_cannot_honestly_allow(text: str) -> None:
    verdict = decide(bash(text), Policy())
    assert isinstance(verdict, Ask)
    assert verdict.suggestions == ()


@pytest.mark.parametrize(
    "call", [bash("x \u202e y"), bash("$x"), bash("ls"), bash("rm x"), file_tool("Write", ".git/\u200bx")]
)
def test_an_explanation_shows_every_character(call: CallFacts) -> None:
    for mode in MODES:
        text = explain(decide(call, Policy(mode)))
        assert text.isascii() or "…" in text
        assert text.endswith(".")
