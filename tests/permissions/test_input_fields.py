"""A deny or ask rule about one input of a tool does what it says, or is refused; commands with a colon stay commands."""

from typing import Any

import msgspec
import pytest
from tests.permissions.gate_calls import HOME, ROOT, bash, outcome, policy

from ostinato.errors import ConfigurationError
from ostinato.option_values import PermissionMode
from ostinato.permissions.call_paths import paths_of
from ostinato.permissions.input_fields import INPUT_FIELDS, Kind
from ostinato.permissions.restriction import find_restriction
from ostinato.permissions.typed_call import typed_call
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.equipment import Equipment

EVERY_MODE: tuple[PermissionMode, ...] = ("default", "acceptEdits", "bypassPermissions")
SCHEMA_KINDS: dict[str, Kind] = {"string": "text", "integer": "whole number", "boolean": "true or false"}
VALUES: dict[Kind, tuple[object, str]] = {
    "text": ("a b", "a b"),
    "whole number": (5, "5"),
    "true or false": (True, "true"),
}
OTHER_RULES = {"command", "file_path", "notebook_path", "path", "url"}
FIELDS = [(tool, name, kind) for tool, fields in INPUT_FIELDS.items() for name, kind in fields.items()]


def test_every_input_of_one_value_that_a_built_in_tool_has_can_be_named():
    tools = builtin_tools(is_read_only_command=lambda _command: False, equipment=Equipment())
    schemas: dict[str, dict[str, Any]] = {
        tool.name: tool.input_schema["properties"] for tool in tools if tool.name in INPUT_FIELDS
    }
    found = {
        tool: {
            name: SCHEMA_KINDS[field["type"]]
            for name, field in fields.items()
            if name not in OTHER_RULES and field.get("type") in SCHEMA_KINDS
        }
        for tool, fields in schemas.items()
    }
    assert found == INPUT_FIELDS


@pytest.mark.parametrize(("tool", "name", "kind"), FIELDS)
def test_each_of_them_is_denied_by_its_value_and_by_a_wildcard_and_no_other_value_is(
    tool: str, name: str, kind: Kind
):
    value, written = VALUES[kind]
    given = {"command": "ls", "url": "https://example.org", name: value}
    call = typed_call(tool, msgspec.json.encode(given).decode(), cwd=ROOT, roots=(ROOT,), home=HOME)
    for mode in EVERY_MODE:
        assert outcome(call, f"deny {tool}({name}:{written})", f"allow {tool}", mode=mode) == "Deny"
        assert outcome(call, f"ask {tool}({name}:{written[:1]}*)", f"allow {tool}", mode=mode) == "Ask"
    other = {"text": "b", "whole number": "6", "true or false": "false"}[kind]
    assert find_restriction(paths_of(call), policy(f"deny {tool}({name}:{other})").rules) is None


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("Bash(run_in_background:yes)", "run_in_background:true"),
        ("Bash(timeout:5s)", "timeout:1000"),
        ("Bash(command:rm x)", "`Bash(rm x)`"),
        ("Grep(path:src)", "`Read(src)`"),
        ("Write(file_path:src)", "`Edit(src)`"),
        ("Read(file_path:src)", "`Read(src)`"),
        ("Skill(skill:x)", "`Skill(x)`"),
        ("Agent(subagent_type:x)", "`Agent(x)`"),
        ("Grep(mode:content)", "`output_mode`"),
        ("TaskStop(id:x)", "parameter"),
    ],
)
def test_a_rule_that_no_input_can_match_is_refused_with_what_to_write(text: str, advice: str):
    for behaviour in ("deny", "ask"):
        with pytest.raises(ConfigurationError) as raised:
            policy(f"{behaviour} {text}")
        assert advice in raised.value.hint


@pytest.mark.parametrize(
    "text", ["Bash(run_in_background:true)", "Grep(output_mode:content)", "TaskStop(task_id:x)"]
)
def test_an_allow_rule_about_an_input_is_refused(text: str):
    with pytest.raises(ConfigurationError):
        policy(f"allow {text}")


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git log:*", "git log -1"), ("timeout:*", "timeout 5 make"), ("command:*", "command ls"), ("npm run a:b", "npm run a:b"),
        ("npm run timeout:5", "npm run timeout:5"), ("timeouts:5", "timeouts:5"), ("a:b *", "a:b c"), ("curl http://x:*", "curl http://x"),
    ],
)  # fmt: skip
def test_commands_that_hold_a_colon_keep_their_meaning(rule: str, command: str):
    assert outcome(bash(command), f"deny Bash({rule})", mode="bypassPermissions") == "Deny"
    if not rule.startswith("timeout:"):  # a wrapper is allowed by what it runs
        assert outcome(bash(command), f"allow Bash({rule})") == "Allow"
