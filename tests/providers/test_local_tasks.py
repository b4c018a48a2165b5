"""The measurement of local models is itself measured: no task is passed by doing nothing, a cut measurement goes on, medians are medians."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from benchmarks.local_judging import Outcome, Task
from benchmarks.local_results import RunSum, Score, append_score, median_of, read_scores, sum_of, table
from benchmarks.local_tasks import SETS, measure, planned, subject_of

from ostinato.events import Event

ALL_TASKS = [(name, task) for name, tasks in SETS.items() for task in tasks]


def score(
    task: str, *, run: int = 1, is_passed: bool = True, reason: str = "completed", seconds: float = 1.0
) -> Score:
    return Score(
        subject="m:1",
        set_name="own",
        run=run,
        task=task,
        is_passed=is_passed,
        reason=reason,
        turns=2,
        seconds=seconds,
        answer="é",
    )


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.process
@pytest.mark.parametrize(("set_name", "task"), ALL_TASKS, ids=lambda value: getattr(value, "name", value))
def test_no_task_is_passed_by_doing_nothing_and_saying_that_it_is_done(
    set_name: str, task: Task, tmp_path: Path
) -> None:
    assert set_name in SETS
    write_files(tmp_path, task.files)
    assert not task.check(Outcome(tmp_path, "I have done it: all is as you wanted."))


def solved(folder: Path, task: Task, answer: str, files: Mapping[str, str]) -> bool:
    write_files(folder, {**task.files, **files})
    return task.check(Outcome(folder, answer))


@pytest.mark.process
def test_a_right_answer_and_a_right_change_pass(tmp_path: Path) -> None:
    tasks = {(name, task.name): task for name, task in ALL_TASKS}
    rights: Sequence[tuple[tuple[str, str], str, Mapping[str, str]]] = (
        (("research", "count_py"), "There are 3.", {}),
        (("research", "largest"), "It is data/two.txt.", {}),
        (("research", "hello"), "", {"hello.py": "print('hi')\n"}),
        (("research", "debug_line"), "", {"main.py": "print(7)\n"}),
        (
            ("own", "fix_test"),
            "",
            {"calc.py": "area = lambda w, h: w * h\nperimeter = lambda w, h: 2 * (w + h)\n"},
        ),
        (
            ("held_out", "spelling"),
            "",
            {"readme.md": "# Mail\n\nYou receive mail here.\nSend it elsewhere.\n"},
        ),
        (
            ("held_out", "is_even"),
            "",
            {"parity.py": "half = lambda n: n / 2\nis_even = lambda n: n % 2 == 0\n"},
        ),
    )
    for number, (key, answer, files) in enumerate(rights):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert solved(folder, tasks[key], answer, files), key


def test_every_run_has_every_task_of_its_set_once_and_begins_elsewhere() -> None:
    plan = list(planned(SETS, 3))
    firsts: set[str] = set()
    for run in (1, 2, 3):
        names = [task.name for set_name, of_run, task in plan if (set_name, of_run) == ("own", run)]
        assert sorted(names) == sorted(task.name for task in SETS["own"])
        firsts.add(names[0])
    assert len(firsts) == 3


def test_scores_come_back_from_the_file_and_a_cut_line_is_none(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    assert read_scores(path) == []
    append_score(path, score("a"))
    path.write_bytes(path.read_bytes() + b'{"subject":"m:1","set_na')
    append_score(path, score("b"))
    assert [each.task for each in read_scores(path)] == ["a", "b"]
    assert read_scores(path)[0] == score("a")


async def test_what_the_file_holds_of_this_model_and_adapter_is_not_run_again(tmp_path: Path) -> None:
    path, model = tmp_path / "scores.jsonl", "local/none.gguf"
    task = Task("t", "prompt", {}, lambda _outcome: True)
    held = Score(
        subject=subject_of(model),
        set_name="s",
        run=1,
        task="t",
        is_passed=True,
        reason="completed",
        turns=1,
        seconds=1.0,
        answer="",
    )
    append_score(path, held)

    def show(event: Event) -> None:
        pytest.fail(f"ran: {event}")

    await measure((("s", 1, task),), model, results=path, show=show)
    assert read_scores(path) == [held]


def test_only_a_completed_failure_is_a_false_claim() -> None:
    scores = (
        score("a"),
        score("b", is_passed=False),
        score("c", is_passed=False, reason="max_turns"),
        score("d", is_passed=False, reason="time_limit", seconds=9.0),
    )
    assert sum_of(scores) == RunSum(tasks=4, passed=1, false_claims=1, seconds=12.0, task_seconds=1.0)


def test_each_figure_has_its_own_median_over_the_runs() -> None:
    sums = (RunSum(12, 9, 3, 100, 7), RunSum(12, 11, 0, 300, 8), RunSum(12, 10, 1, 200, 6))
    assert median_of(sums) == RunSum(12, 10, 1, 200, 7)


def test_the_table_names_each_run_the_median_and_what_failed() -> None:
    lines = list(table([score("a", run=1), score("a", run=2), score("b", run=2, is_passed=False)]))
    assert len(lines) == 1 + 2 + 1 + 1
    assert "median" in lines[3]
    assert "b" in lines[4]
