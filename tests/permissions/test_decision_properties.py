"""For any text and any rules: a deny rule never allows more, and what is not proven is not allowed."""

from hypothesis import given
from hypothesis import strategies as st
from tests.permissions.gate_calls import MODES, bash, outcome

from ostinato.option_values import PermissionMode
from ostinato.permissions.decision import decide
from ostinato.permissions.rules import Behaviour, Rule, parse_rule
from ostinato.permissions.verdict import Allow, Policy, Verdict

WORDS = st.sampled_from([
    "a",
    "rm x",
    "git push",
    "npm test",
    "$x",
    "ls",
    "cat /etc/passwd",
    "eval a",
    "echo x > f",
    "timeout 5 rm x",
    "cd d",
    "`a`",
    "touch f",
    "( rm x )",
])
TEXTS = st.lists(WORDS, min_size=1, max_size=3).flatmap(
    lambda words: st.sampled_from([" && ", "; ", " | "]).map(lambda sign: sign.join(words))
)
RULES = st.sampled_from([
    "Bash",
    "Bash(rm:*)",
    "Bash(git:*)",
    "Bash(a)",
    "Bash(npm test)",
    "Edit",
    "Edit(/**)",
    "Read(//etc/**)",
    "Read",
    "Bash(*x)",
    "Bash(eval:*)",
    "Cd",
])
MODE = st.sampled_from(MODES)
RANK = {"Allow": 0, "Ask": 1, "Deny": 2}


def built(rules: list[str], behaviour: Behaviour) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, behaviour, "test settings") for text in rules)


def rank(verdict: Verdict) -> int:
    return RANK[type(verdict).__name__]


@given(TEXTS, st.lists(RULES, max_size=3), st.lists(RULES, max_size=2), RULES, MODE)
def test_adding_a_deny_rule_never_allows_more(
    text: str, allowed: list[str], asked: list[str], denied: str, mode: PermissionMode
) -> None:
    call, rules = bash(text), built(allowed, "allow") + built(asked, "ask")
    before = decide(call, Policy(mode, rules))
    for position in (0, len(rules)):
        after = decide(call, Policy(mode, (*rules[:position], *built([denied], "deny"), *rules[position:])))
        assert rank(after) >= rank(before)


@given(
    TEXTS,
    st.lists(RULES.filter(lambda text: text != "Bash"), max_size=4),
    MODE.filter(lambda mode: mode != "bypassPermissions"),
)
def test_what_cannot_be_proven_is_allowed_only_by_bypass_or_a_rule_for_all_of_bash(
    text: str, allowed: list[str], mode: PermissionMode
) -> None:
    verdict = decide(bash("eval x; " + text), Policy(mode, built(allowed, "allow")))
    assert not isinstance(verdict, Allow)
    assert outcome(bash("eval x"), "allow Bash") == "Allow"
