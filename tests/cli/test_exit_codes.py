"""The exit code says whether the work was done: a denial counts unless a later call made up for it."""

import pytest
from tests.cli.events import denial, ended, ran, refused, reply

from ostinato.cli.call_record import CallRecord
from ostinato.cli.exit_codes import ended_code, error_code
from ostinato.errors import ConfigurationError, JournalError, LocalModelError, OstinatoError, UsageError
from ostinato.messages import ToolUse
from ostinato.testing import call


def write(call_id: str, path: str = "x", content: str = "y") -> ToolUse:
    return call("Write", call_id, file_path=path, content=content)


def lasting(*parts: tuple[ToolUse, bool]) -> list[str]:
    """The denied calls that nothing made up for; a part is a call and whether it was allowed."""
    record = CallRecord()
    denials = [denial(made) for made, is_allowed in parts if not is_allowed]
    for number, (made, is_allowed) in enumerate(parts):
        for event in (*reply(number, made), *(ran(made, "ok") if is_allowed else refused(made))):
            record.take(event)
    return [one.tool_use_id for one in record.lasting(ended(denials=denials).denials)]


def test_a_denial_lasts_when_nothing_follows():
    assert lasting((write("a"), False)) == ["a"]


def test_a_later_success_with_the_same_tool_and_target_makes_up_for_it():
    assert lasting((write("a"), False), (write("b", content="other"), True)) == []


@pytest.mark.parametrize(
    "later", [write("b", path="other"), call("Edit", "b", file_path="x"), call("Bash", "b", command="x")]
)
def test_another_target_or_tool_does_not(later: ToolUse):
    assert lasting((write("a"), False), (later, True)) == ["a"]


def test_an_earlier_success_does_not():
    assert lasting((write("a"), True), (write("b"), False)) == ["b"]


def test_a_second_denial_does_not():
    assert lasting((write("a"), False), (write("b"), False)) == ["a", "b"]


def test_calls_without_a_main_argument_are_told_apart_by_their_whole_input():
    first, other = call("Custom", "a", n=1), call("Custom", "b", n=2)
    assert lasting((first, False), (other, True)) == ["a"]
    assert lasting((first, False), (call("Custom", "c", n=1), True)) == []


def test_only_a_completed_query_without_open_denials_is_done():
    assert ended_code(is_completed=True, has_lasting_denials=False) == 0
    assert ended_code(is_completed=True, has_lasting_denials=True) == 1
    assert ended_code(is_completed=False, has_lasting_denials=False) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("x"), 2), (ConfigurationError("x"), 1), (JournalError("x"), 1), (LocalModelError("x"), 1)],
)
def test_what_never_started_is_usage_or_failure(error: OstinatoError, code: int):
    assert error_code(error) == code
