"""A rule that can match nothing is named; one that is written a little differently means what its writer means."""

import pytest
from tests.permissions.gate_calls import bash, outcome

from ostinato.errors import ConfigurationError
from ostinato.permissions.rule_doubts import doubt_of, doubts
from ostinato.permissions.rules import Behaviour, parse_rule

BEHAVIOURS: list[Behaviour] = ["allow", "deny", "ask"]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("bash", "`Bash`"),
        ("bash(touch:*)", "`Bash(touch:*)`"),
        ("BASH", "`Bash`"),
        ("Bsh", "`Bash`"),
        ("Bsh(rm:*)", "`Bash(rm:*)`"),
        ("touch", "`Bash(touch:*)`"),
        ("rm(-rf:*)", "`Bash(rm -rf:*)`"),
        ("Raed", "`Read`"),
        ("Xyzzy", "`Bash`"),
    ],
)
def test_a_name_of_no_tool_is_named_with_what_to_write(text: str, advice: str) -> None:
    for behaviour in ("deny", "ask"):
        found = doubts([parse_rule(text, behaviour, "somewhere")])
        assert len(found) == 1
        assert f"the {behaviour} rule" in found[0]
        assert advice in found[0]
        assert "allow" not in found[0]


def test_a_tool_written_small_is_set_right_where_the_rule_cannot_be_read_at_all() -> None:
    for text, advice in (("read(.env)", "`Read(.env)`"), ("bash(touch x)", "`Bash(touch x)`")):
        with pytest.raises(ConfigurationError) as raised:
            parse_rule(text, "deny", "somewhere")
        assert advice in raised.value.hint
        assert "allow" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "Bash",
        "Bash(x:*)",
        "Read(.env)",
        "Edit",
        "WebFetch(domain:x.org)",
        "WebSearch",
        "Task",
        "TodoWrite",
        "mcp__s",
        "mcp__s__*",
        "Cd(x)",
    ],
)
def test_names_that_are_tools_somewhere_are_not_doubted(text: str) -> None:
    for behaviour in BEHAVIOURS:
        assert doubt_of(parse_rule(text, behaviour, "somewhere")) == ""


def test_wildcards_and_a_callers_own_tools_are_not_doubted() -> None:
    for text in ("*", "mcp__*", "B*", "m*"):
        assert doubt_of(parse_rule(text, "deny", "somewhere")) == ""
    assert doubt_of(parse_rule("my_tool", "deny", "somewhere"), ["my_tool"]) == ""
    assert doubt_of(parse_rule("bsh*", "deny", "somewhere")) != ""


@pytest.mark.parametrize(
    "rule", ["/usr/bin/touch:*", "/usr/bin/touch *", "touch :*", "touch  :*", "touch:*", " touch:* "]
)
@pytest.mark.parametrize(
    "command", ["touch x", "/usr/bin/touch x", "/bin/touch x", "timeout 5 touch x", "eval touch x"]
)
def test_a_deny_rule_for_a_program_means_it_however_it_is_called(rule: str, command: str) -> None:
    assert outcome(bash(command), f"deny Bash({rule})", mode="bypassPermissions") == "Deny"
    assert outcome(bash("ls x"), f"deny Bash({rule})", mode="bypassPermissions") == "Allow"
    assert outcome(bash("touchy x"), f"deny Bash({rule})", mode="bypassPermissions") == "Allow"


def test_an_allow_rule_for_a_programs_file_covers_no_other_file() -> None:
    assert outcome(bash("touch x"), "allow Bash(/usr/bin/touch:*)") == "Ask"
    assert outcome(bash("/usr/bin/touch x"), "allow Bash(/usr/bin/touch:*)") == "Allow"
    assert outcome(bash("touch x"), "allow Bash(touch :*)") == "Allow"
