"""Scores of task runs, kept as JSON lines so that a cut measurement goes on where it ended, and summed run by run."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One task, run once. `subject` is what was measured (model file and adapter); `reason` is the Terminal's, or `time_limit`."""

    subject: str
    set_name: str
    run: int
    task: str
    is_passed: bool
    reason: str
    turns: int
    seconds: float
    answer: str

    @property
    def is_false_claim(self) -> bool:
        """It ended by saying that it was done, and it was not."""
        return self.reason == "completed" and not self.is_passed


def read_scores(path: Path) -> list[Score]:
    """The scores in a results file, none when there is no file. A line that was cut while it was written is no score."""
    if not path.exists():
        return []
    scores: list[Score] = []
    for line in path.read_bytes().splitlines():
        try:
            scores.append(msgspec.json.decode(line, type=Score))
        except msgspec.DecodeError:
            continue
    return scores


def append_score(path: Path, score: Score) -> None:
    """One line more; behind a cut line it begins a new one."""
    is_cut = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("ab") as file:
        file.write((b"\n" if is_cut else b"") + msgspec.json.encode(score) + b"\n")


class RunSum(msgspec.Struct, frozen=True):
    """What one run of one set came to. `seconds` is the whole run, `task_seconds` the median of its tasks."""

    tasks: float
    passed: float
    false_claims: float
    seconds: float
    task_seconds: float


def sum_of(scores: Sequence[Score]) -> RunSum:
    """Raises `statistics.StatisticsError` when there are no scores."""
    seconds = [score.seconds for score in scores]
    return RunSum(
        tasks=len(scores),
        passed=sum(score.is_passed for score in scores),
        false_claims=sum(score.is_false_claim for score in scores),
        seconds=sum(seconds),
        task_seconds=statistics.median(seconds),
    )


def median_of(sums: Sequence[RunSum]) -> RunSum:
    """Each figure's own median over the runs."""
    columns = [
        statistics.median(values)
        for values in zip(*(msgspec.structs.astuple(each) for each in sums), strict=True)
    ]
    return RunSum(*columns)


def table(scores: Sequence[Score]) -> Iterable[str]:
    """A line for each run of each set and one for its median, then what failed."""
    yield f"{'set':10} {'run':7} {'passed':>9} {'false claims':>13} {'seconds':>8} {'median task':>12}"
    for set_name in dict.fromkeys(score.set_name for score in scores):
        of_set = [score for score in scores if score.set_name == set_name]
        runs = sorted({score.run for score in of_set})
        sums = [sum_of([score for score in of_set if score.run == run]) for run in runs]
        for run, each in zip(runs, sums, strict=True):
            yield _row(set_name, str(run), each)
        yield _row(set_name, "median", median_of(sums))
    for score in scores:
        if not score.is_passed:
            yield f"failed: {score.set_name} run {score.run} {score.task} ({score.reason}) {score.answer[:80]!r}"


def _row(set_name: str, run: str, each: RunSum) -> str:
    passed = f"{each.passed:g} of {each.tasks:g}"
    return f"{set_name:10} {run:7} {passed:>9} {each.false_claims:>13g} {each.seconds:>8.0f} {each.task_seconds:>12.1f}"
