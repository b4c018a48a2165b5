"""Rounds without news, failures of one kind, an answer asked for again and again, waiting in vain: counted, and judged once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ostinato.loop.guards.heard import heard
from ostinato.loop.guards.repeats import MAX_ANSWERS, Finding, counted, found
from ostinato.messages import ToolResult, ToolUse, assistant_fragment, tool_result_message
from ostinato.records import Record, Retract, ToolFinished, ToolStarted
from ostinato.repetition import DEFAULT_LIMITS, NO_REPEATS, GuardLimits
from ostinato.testing import fake_tool
from ostinato.tools.bash import bash_tool


def _always(_input: object) -> bool:
    return True


TOOLS = [
    *(fake_tool(name) for name in ("Read", "Grep", "Edit", "Bash")),
    replace(fake_tool("Wait"), waits=_always),
]
LOOKING = frozenset({"Read", "Grep"})

Told = tuple[str, dict[str, Any], str, bool]
"""A call, its input, the answer, whether it is an error."""


def ok(name: str, answer: str = "fine", /, **arguments: Any) -> Told:
    return name, arguments, answer, False


def bad(name: str, answer: str = "not found", /, **arguments: Any) -> Told:
    return name, arguments, answer, True


def replace_answer(told: Told, answer: str) -> Told:
    name, arguments, _, is_error = told
    return name, arguments, answer, is_error


def records(number: int, *calls: Told) -> list[Record]:
    made: list[Record] = []
    for place, (name, arguments, answer, is_error) in enumerate(calls):
        own = f"c{number}.{place}"
        made += [
            assistant_fragment(f"f{own}", f"r{number}", "m", ToolUse(own, name, arguments)),
            ToolStarted(own, name, name in LOOKING, arguments),
            tool_result_message(f"u{own}", ToolResult(own, answer, is_error)),
        ]
    return made


def judged(
    *rounds: Sequence[Told], forgotten: frozenset[str] = frozenset(), limits: GuardLimits = DEFAULT_LIMITS
) -> list[Finding | None]:
    """What is found after each round; the answers to the `forgotten` calls are not in the view any more."""
    repeats, findings = NO_REPEATS, list[Finding | None]()
    for number, calls in enumerate(rounds):
        round_ = heard(records(number, *calls), TOOLS)
        repeats = counted(repeats, round_, lambda call_id, _length: call_id not in forgotten)
        findings.append(found(repeats, round_, limits))
    return findings


def brief(findings: Sequence[Finding | None]) -> list[str]:
    return [
        f"{number}: {one.rule} {one.count}{' end' if one.is_end else ''}"
        for number, one in enumerate(findings, 1)
        if one is not None
    ]


SAME = ok("Read", "text", file_path="a")
OTHER = ok("Grep", "lines", pattern="x")
READ_A, READ_B = ok("Read", "a", file_path="a"), ok("Read", "b", file_path="b")
THERE, BACK = ok("Edit", "edited", old="x", new="y"), ok("Edit", "edited back", old="y", new="x")


def test_the_same_call_with_the_same_answer_is_told_at_the_third_and_ended_at_the_sixth():
    assert brief(judged(*[[SAME]] * 6)) == ["3: idle 3", "6: idle 6 end"]


def test_the_order_of_the_arguments_makes_no_other_call():
    one, two = ok("Grep", "l", pattern="x", path="y"), ok("Grep", "l", path="y", pattern="x")
    assert brief(judged([one], [two], [one])) == ["3: idle 3"]


@pytest.mark.parametrize("circle", [[READ_A, READ_B], [THERE, BACK], [SAME, OTHER]])
def test_alternation_is_seen_whether_it_reads_or_changes(circle: list[Told]):
    findings = judged(*[[one] for one in circle * 4])
    assert brief(findings) == ["4: idle 3", "7: idle 6 end", "8: idle 7 end"]


def test_a_longer_circle_is_one_too():
    findings = judged(*[[ok("Read", name, file_path=name)] for name in "abcdabcdabcd"])
    assert brief(findings)[0] == "6: idle 3"


def test_equal_calls_of_one_response_count_once():
    assert brief(judged([SAME] * 9)) == []
    assert brief(judged([SAME] * 3, [SAME] * 3)) == []
    assert brief(judged(*[[SAME] * 3] * 6)) == brief(judged(*[[SAME]] * 6))


def test_one_new_answer_in_a_round_is_news():
    rounds = [[SAME, ok("Read", str(number), file_path=str(number))] for number in range(3)]
    assert [one for one in brief(judged(*rounds)) if "idle" in one] == []


def test_the_same_call_with_another_answer_each_time_is_no_repetition():
    assert brief(judged(*[[ok("Bash", f"{number} done", command="status")] for number in range(60)])) == []


def test_how_long_it_took_is_no_news():
    rounds = [[bad("Bash", f"1 failed in 0.{number}s", command="pytest")] for number in range(3)]
    assert brief(judged(*rounds)) == ["3: idle 3"]


def test_what_is_run_again_after_a_change_is_no_repetition():
    rounds: list[list[Told]] = []
    for number in range(20):
        rounds += [[ok("Edit", "edited", old=str(number))], [ok("Read", "text", file_path="a")]]
    assert brief(judged(*rounds)) == []


def test_a_test_that_fails_again_after_each_edit_is_no_repetition():
    rounds: list[list[Told]] = []
    for number in range(20):
        rounds += [[ok("Edit", "edited", old=str(number))], [bad("Bash", "1 failed", command="pytest")]]
    assert brief(judged(*rounds)) == []


def test_calls_that_fail_in_the_same_way_are_seen_whatever_their_arguments():
    rounds = [[bad("Read", f"`/w/p{number}` does not exist", file_path=f"p{number}")] for number in range(10)]
    assert brief(judged(*rounds)) == ["4: failing 4", "10: failing 10 end"]


def test_another_way_of_failing_or_a_success_between_starts_the_count_again():
    lost, refused = bad("Read", "`a` does not exist"), bad("Read", "`a` is a folder")
    rounds = [[lost], [lost], [lost], [refused], [lost], [ok("Grep", "z")], [lost], [lost]]
    assert [one for one in brief(judged(*rounds)) if "failing" in one] == []


def test_a_wait_for_what_is_not_there_yet_has_the_bounds_of_waiting():
    poll = bad("Wait", "refused", command="sleep 1; curl localhost")
    assert brief(judged(*[[poll]] * 40)) == ["20: waiting 20", "40: waiting 40 end"]


def test_thirty_failures_of_one_response_are_one_round():
    assert brief(judged([bad("Read", f"`p{number}` is not there", p=number) for number in range(30)])) == []


def test_sixty_edits_of_sixty_files_are_work():
    assert brief(judged(*[[ok("Edit", "edited", file_path=str(number))] for number in range(60)])) == []


def test_a_file_that_is_read_again_and_again_without_a_change_is_told_and_later_ended():
    rounds: list[list[Told]] = []
    for number in range(12):
        rounds += [[SAME], [ok("Grep", f"line {number}", pattern=str(number))]]
    assert brief(judged(*rounds)) == ["5: again 3", "23: again 12 end"]


def test_an_answer_that_the_model_has_no_longer_may_be_asked_for_again():
    cleared = frozenset(f"c{number}.0" for number in range(12))
    assert brief(judged(*[[SAME]] * 12, forgotten=cleared)) == []


def test_an_attempt_that_was_taken_back_said_nothing():
    made = records(0, SAME)
    gone = Retract("e", tuple(one.uuid for one in made if hasattr(one, "uuid")))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] - only messages have one
    assert heard([*made, gone], TOOLS) == ()


any_told = st.tuples(
    st.sampled_from(["Read", "Edit", "Bash"]),
    st.fixed_dictionaries({"key": st.integers(0, 3)}),
    st.sampled_from(["a", "b"]),
    st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(any_told, min_size=1, max_size=3), max_size=12))
def test_what_never_brings_anything_new_ends(rounds: list[list[Told]]):
    findings = judged(*rounds, *[[SAME]] * 6)
    assert any(one is not None and one.is_end for one in findings[-6:])


# ------------------------------------------------------------------ the same call in other words


BASH = bash_tool(is_read_only=lambda command: command.startswith("ls"))


def judged_in_bash(*inputs: dict[str, Any], answer: str = "1 file", took_ms: int = 0) -> list[Finding | None]:
    repeats, findings = NO_REPEATS, list[Finding | None]()
    for number, arguments in enumerate(inputs):
        made = records(number, ok("Bash", answer, **arguments))
        made = [
            replace(one, is_read_only=BASH.is_read_only(arguments)) if isinstance(one, ToolStarted) else one
            for one in made
        ]
        round_ = heard([*made, ToolFinished(f"c{number}.0", "ok", took_ms)], [BASH])
        repeats = counted(repeats, round_, lambda _call_id, _length: True)
        findings.append(found(repeats, round_, DEFAULT_LIMITS))
    return findings


@pytest.mark.parametrize(
    "words",
    [
        [{"command": "ls", "description": f"List, try {number}"} for number in range(6)],
        [{"command": "ls", "timeout": 1_000 * number} for number in range(6)],
        [{"command": f"ls # try {number}"} for number in range(6)],
        [{"command": f"# try {number}\nls\n\n"} for number in range(6)],
        [{"command": "ls" + " " * number + "\n" * number} for number in range(6)],
        [{"command": f"  ls;# {number}\n  # {number}", "description": str(number)} for number in range(6)],
    ],
    ids=["description", "timeout", "comment", "comment above", "space", "all"],
)
def test_a_command_in_other_words_is_the_same_call(words: list[dict[str, Any]]):
    assert brief(judged_in_bash(*words)) == ["3: idle 3", "6: idle 6 end"]


@pytest.mark.parametrize(
    "commands",
    [
        [f"grep '# {number}' a" for number in range(6)],
        [f'grep "\\" # {number}" a' for number in range(6)],
        [f"echo a#{number}" for number in range(6)],
        [f"echo \\# {number}" for number in range(6)],
        [f"echo ${{#a}} {number}" for number in range(6)],
        [f"cat > a <<E\n# {number}\nE" for number in range(6)],
        [f"python -c 'if x:\n{' ' * number}y'" for number in range(6)],
    ],
)
def test_what_only_looks_like_a_comment_makes_another_call(commands: list[str]):
    assert brief(judged_in_bash(*[{"command": command} for command in commands])) == []


def test_a_tool_that_cannot_say_what_is_essential_is_known_by_its_whole_input():
    def fails(_input: object) -> dict[str, Any]:
        raise ValueError("no")

    odd = replace(fake_tool("Odd"), essential=fails)
    calls = [heard(records(number, ok("Odd", "x", at=number)), [odd])[0].call for number in (1, 2, 1)]
    assert calls[0] != calls[1]
    assert calls[0] == calls[2]


# ------------------------------------------------------------------ waiting, told by its results


@pytest.mark.parametrize("name", ["Bash", "Read"])
def test_what_moves_by_itself_may_stand_still_for_long(name: str):
    moves = [[ok(name, f"step {max(min(number, 1), number // 15)}", at="status")] for number in range(60)]
    assert [one for one in brief(judged(*moves)) if "idle" in one or "again" in one] == []


def test_what_has_not_moved_yet_is_a_repetition():
    assert brief(judged(*[[ok("Bash", "step 0", at="status")]] * 6)) == ["3: idle 3", "6: idle 6 end"]


def test_what_moved_and_then_stands_still_for_ever_ends_at_last():
    moved = [[ok("Read", "one", at="status")], [ok("Read", "two", at="status")]]
    findings = brief(judged(*moved, *[[ok("Read", "two", at="status")]] * 40))
    assert findings[:2] == ["21: waiting 20", "41: waiting 40 end"]


@pytest.mark.parametrize("failing", [bad("Bash", "2 failed", at="test"), ok("Bash", "2 failed", at="test")])
def test_what_the_model_changed_did_not_move_by_itself(failing: Told):
    worked = [[failing], [ok("Edit", "edited", old="a")], [replace_answer(failing, "1 failed")]]
    findings = judged(*worked, *[[replace_answer(failing, "1 failed")]] * 6)
    assert "8: idle 6 end" in brief(findings)


@pytest.mark.parametrize(
    "status",
    [
        "in progress",
        "STATUS: IN_PROGRESS",
        "build 17 is running",
        "web-1  0/1  Pending  0  3s",
        "container not ready",
        "waiting for the lock",
    ],
)
def test_a_status_that_says_it_is_not_the_last_is_waited_for(status: str):
    rounds = [[ok("Bash", status, command="status")]] * 40
    assert brief(judged(*rounds)) == ["20: waiting 20", "40: waiting 40 end"]


@pytest.mark.parametrize(
    "answer",
    [
        "done",
        "deployed",
        "runningman.py",
        "TOTAL 85%",
        "running 1 test\ntest a ... ok",
        "x" * 200 + " in progress",
    ],
)
def test_any_other_answer_is_none(answer: str):
    assert brief(judged(*[[ok("Bash", answer, command="status")]] * 6)) == ["3: idle 3", "6: idle 6 end"]


def test_an_error_is_no_status():
    findings = brief(judged(*[[bad("Bash", "no process is running", command="status")]] * 6))
    assert "6: idle 6 end" in findings


@pytest.mark.parametrize(
    ("command", "answer", "took_ms", "is_a_wait"),
    [
        ("ls --until there", "", 5_000, True),
        ("ls --until there", "", 4_999, False),
        ("ls --until there", "x" * 201, 60_000, False),
        ("make deploy", "ok", 60_000, False),
    ],
    ids=["a look that took long", "a short one", "one that found much", "no look"],
)
def test_a_look_that_took_long_and_found_nothing_was_a_wait(
    command: str, answer: str, took_ms: int, *, is_a_wait: bool
):
    findings = brief(judged_in_bash(*[{"command": command}] * 20, answer=answer, took_ms=took_ms))
    assert findings[0] == ("20: waiting 20" if is_a_wait else "3: idle 3")


def test_more_calls_in_one_reply_than_are_remembered_are_counted_all_the_same():
    rounds = [[ok("Read", "text", file_path=str(number)) for number in range(MAX_ANSWERS + 6)]] * 3
    assert all(one is None or not one.is_end for one in judged(*rounds))
