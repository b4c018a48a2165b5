"""What a small model may write next is a closed menu: only what can help, only text that is there."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.messages import Text, ToolResult, ToolUse
from ostinato.ports import RequestMessage, ToolSchema
from ostinato.providers.local_menu import MAX_PASSAGES, action_schema, unique_passages


def schema(*required: str, **types: Any) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind, "description": "long prose"} for name, kind in types.items()},
        "required": list(required),
    }


BASH = ToolSchema(
    "Bash",
    "Runs a command. " + "And much more prose. " * 200,
    schema("command", command="string", timeout="integer", description="string", run_in_background="boolean"),
)
EDIT = ToolSchema(
    "Edit",
    "Edits.",
    schema(
        "file_path", "old_string", "new_string", file_path="string", old_string="string", new_string="string"
    ),
)
LOOK = ToolSchema(
    "Look", "Looks around: closely.", schema("where", where="string", deep="boolean", filters="array")
)
TOOLS = (BASH, EDIT, LOOK)


def user(*blocks: Text | ToolResult) -> RequestMessage:
    return RequestMessage("user", blocks)


def assistant(*blocks: Text | ToolUse) -> RequestMessage:
    return RequestMessage("assistant", blocks)


def called(name: str, result: str, *, is_error: bool = False, **arguments: str) -> tuple[RequestMessage, ...]:
    """A call and its result."""
    identity = f"{name} {arguments} {result}"
    return (
        assistant(ToolUse(identity, name, arguments)),
        user(ToolResult(identity, result, is_error=is_error)),
    )


def menu(*messages: RequestMessage, tools: tuple[ToolSchema, ...] = TOOLS) -> list[str]:
    """What may be called after these messages."""
    return [action["properties"]["tool"]["const"] for action in action_schema(tools, messages)["anyOf"]]


def test_the_menu_holds_every_tool_and_done_flat_and_closed() -> None:
    actions = action_schema((BASH, LOOK))["anyOf"]
    assert [action["properties"]["tool"]["const"] for action in actions] == ["Bash", "Look", "done"]
    for action in actions:
        assert next(iter(action["properties"])) == "tool"
        assert action["additionalProperties"] is False
        assert all(set(value) <= {"type", "enum", "const"} for value in action["properties"].values())
    assert actions[0]["properties"] == {"tool": {"const": "Bash"}, "command": {"type": "string"}}
    assert actions[1]["properties"].keys() == {"tool", "where", "deep"}
    assert actions[1]["required"] == ["tool", "where"]


def test_a_tool_that_names_its_flat_parameters_is_offered_with_those_only() -> None:
    seek = ToolSchema(
        "Seek", "", schema("what", what="string", where="string", how="string"), ("what", "where")
    )
    action = action_schema((seek,))["anyOf"][0]
    assert list(action["properties"]) == ["tool", "what", "where"]
    assert action["required"] == ["tool", "what"]


def test_edit_is_offered_for_files_that_were_shown_and_for_no_others() -> None:
    shown = called("Read", "x = 1", file_path="a.py")
    missed = called("Read", "no such file", is_error=True, file_path="b.py")
    assert "Edit" not in menu(user(Text("t")), *missed)
    actions = action_schema(TOOLS, (user(Text("t")), *shown, *missed))["anyOf"]
    assert actions[1]["properties"]["file_path"]["enum"] == ["a.py"]


def test_a_call_that_tells_the_same_again_takes_its_tool_off_the_menu_for_one_reply() -> None:
    look = called("Look", "nothing", where="here")
    assert menu(user(Text("t")), *look) == ["Bash", "Look", "done"]
    assert menu(user(Text("t")), *look, *look) == ["Bash", "done"]
    assert menu(user(Text("t")), *look, *look, *called("Bash", "a.py", command="ls")) == [
        "Bash",
        "Look",
        "done",
    ]


def test_calls_in_a_circle_leave_the_menu_together_until_only_done_is_left() -> None:
    circle = (*called("Look", "nothing", where="here"), *called("Bash", "a.py", command="ls"))
    assert menu(user(Text("t")), *circle, *circle) == ["done"]


def test_the_same_call_is_no_circle_when_a_file_has_changed_or_the_result_is_new() -> None:
    test = called("Bash", "1 failed", is_error=True, command="make test")
    edit = called("Edit", "edited", file_path="a.py", old="x", new="y")
    refused = called("Edit", "not found", is_error=True, file_path="a.py", old="x", new="y")
    assert "Bash" in menu(user(Text("t")), *test, *edit, *test)
    assert "Bash" in menu(user(Text("t")), *test, *called("Bash", "passed", command="make test"))
    assert "Bash" not in menu(user(Text("t")), *test, *refused, *test)


def test_the_same_change_over_and_over_is_a_circle_too() -> None:
    change = called("Edit", "edited", file_path="a.py", old="x", new="xx")
    test = called("Bash", "1 failed", is_error=True, command="make test")
    shown = (user(Text("t")), *called("Read", "x", file_path="a.py"))
    assert {"Bash", "Edit"} <= set(menu(*shown, *change, *test, *change, *test))
    assert not {"Bash", "Edit"} & set(menu(*shown, *(*change, *test) * 3))


def test_done_may_be_said_after_a_command_that_printed_nothing() -> None:
    """Many commands print nothing when they succeed; withholding it there gained nothing in any measured task."""
    assert "done" in menu(user(Text("t")), *called("Bash", "[no output]", command="rm a"))


# ------------------------------------------------------------------------------------------------ edits


def passages(*messages: RequestMessage) -> Mapping[str, list[str] | None]:
    """For each file that may be edited what may be replaced in it; None where any text may be given."""
    actions = action_schema(TOOLS, (user(Text("t")), *messages))["anyOf"]
    edits = [action["properties"] for action in actions if action["properties"]["tool"]["const"] == "Edit"]
    return {edit["file_path"]["enum"][0]: edit["old_string"].get("enum") for edit in edits}


READ_A = called("Read", "     1\tx = 1\n     2\t\n     3\ty = 2", file_path="a.py")


def edited(
    old: str, new: str, result: str = "edited", *, is_error: bool = False
) -> tuple[RequestMessage, ...]:
    return called("Edit", result, is_error=is_error, file_path="a.py", old_string=old, new_string=new)


def test_what_may_be_replaced_is_whole_lines_of_the_file_without_their_numbers() -> None:
    assert passages(*READ_A) == {"a.py": ["x = 1", "x = 1\n\ny = 2", "y = 2"]}


def test_after_a_change_the_menu_holds_the_new_text() -> None:
    assert passages(*READ_A, *edited("x = 1", "z = 9")) == {"a.py": ["z = 9", "z = 9\n\ny = 2", "y = 2"]}
    assert passages(*called("Write", "created", file_path="b", content="one\ntwo")) == {
        "b": ["one", "one\ntwo", "two"]
    }


def test_a_refused_passage_is_not_offered_again_until_the_file_is_read() -> None:
    refused = edited("x = 1", "x = 2", "the disk is full", is_error=True)
    assert passages(*READ_A, *refused) == {"a.py": ["x = 1\n\ny = 2", "y = 2"]}
    again = called("Read", "     1\tx = 1", file_path="a.py")
    assert passages(*READ_A, *refused, *again) == {"a.py": ["x = 1"]}


def test_an_edit_that_would_change_nothing_takes_edit_off_the_menu_for_one_reply() -> None:
    nothing = edited("x = 1", "x = 1", "equal", is_error=True)
    failed = edited("x = 1", "x = 2", "the disk is full", is_error=True)
    assert menu(user(Text("t")), *READ_A, *nothing) == ["Bash", "Look", "done"]
    assert menu(user(Text("t")), *READ_A, *failed) == ["Bash", "Edit", "Look", "done"]
    assert menu(user(Text("t")), *READ_A, *nothing, *called("Look", "x", where="a")) == menu(
        user(Text("t")), *READ_A
    )


def test_a_line_may_be_named_without_its_indentation_if_that_is_unique() -> None:
    assert set(unique_passages("if x:\n    go(1)\ngo(2)")) >= {"    go(1)", "go(1)", "go(2)"}
    assert "go()" not in unique_passages("if x:\n    go()\ngo()")


def test_a_heading_is_replaced_with_what_stands_under_it_unless_that_is_long() -> None:
    passages = unique_passages("def f():\n    a\n\n    b\ng()")
    assert "def f():" not in passages
    assert "def f():\n    a" not in passages
    assert {"def f():\n    a\n\n    b", "    a", "    b", "g()"} <= set(passages)
    assert "class C:" in unique_passages("class C:\n" + "\n".join(f"    line_{n}" for n in range(20)))


def test_each_file_has_its_own_passages() -> None:
    read_b = called("Read", "     1\tq", file_path="b.py")
    assert passages(*READ_A, *read_b) == {"a.py": ["x = 1", "x = 1\n\ny = 2", "y = 2"], "b.py": ["q"]}


def test_a_file_whose_text_is_not_known_may_be_edited_anywhere() -> None:
    assert passages(*called("Read", "(an image)", file_path="a.png")) == {"a.png": None}
    assert passages(*READ_A, *edited("not there", "z")) == {"a.py": None}


def test_a_file_that_is_shown_as_unchanged_keeps_its_passages() -> None:
    unchanged = called("Read", "unchanged since it was read", file_path="a.py")
    assert passages(*READ_A, *unchanged) == passages(*READ_A)


def test_a_file_of_many_lines_gets_shorter_passages_or_none() -> None:
    assert (
        max(passage.count("\n") for passage in unique_passages("\n".join(f"line {n};" for n in range(60))))
        == 1
    )
    assert unique_passages("\n".join(f"line {n};" for n in range(MAX_PASSAGES + 1))) == ()


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab \t", max_size=3), max_size=14))
def test_each_passage_stands_in_the_text_once_and_begins_and_ends_with_ink(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = unique_passages(text)
    assert len(found) <= MAX_PASSAGES
    for passage in found:
        assert text.count(passage) == 1
        assert passage.split("\n")[0].strip()
        assert passage.split("\n")[-1].strip()
