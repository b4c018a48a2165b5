"""What a small local model really gets done: tiny tasks through the whole engine, each judged by what is in its folder.

`python -m benchmarks.local_tasks --model FILE.gguf [--sets research,own] [--runs 3] [--results FILE]`. A task counts when its
check holds; the model's own word counts only as a false claim. With a results file a cut measurement goes on where it ended.
"""

import argparse
import hashlib
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import anyio

import ostinato
from benchmarks import local_held_out_tasks, local_own_tasks, local_research_tasks
from benchmarks.local_judging import Outcome, Task
from benchmarks.local_results import Score, append_score, read_scores, table
from ostinato.engine.result import QueryResult, result_of_events
from ostinato.events import AssistantEvent, Event, UserEvent
from ostinato.messages import Text, ToolResult, ToolUse
from ostinato.providers import local_actions

MAX_TURNS = 12
MAX_TASK_SECONDS = 600
"""A model that runs in circles on a busy machine; far above what any task took."""

SETS: Mapping[str, Sequence[Task]] = {
    "research": local_research_tasks.TASKS,
    "own": local_own_tasks.TASKS,
    "held_out": local_held_out_tasks.TASKS,
}
ADAPTER = (
    "local.py",
    "local_actions.py",
    "local_examples.py",
    "local_menu.py",
    "local_progress.py",
    "local_reply.py",
)
"""The files that decide what a local model is asked."""


# ------------------------------------------------------------------------------------------------ one task


async def run_task(task: Task, model: str, *, show: Callable[[Event], None]) -> tuple[bool, str, int, str]:
    """The task in a new folder; what the model did there is judged when it has ended.

    Returns whether the check holds, how the query ended, the number of replies, and the last words.
    """
    with tempfile.TemporaryDirectory(prefix="task-") as temporary:
        folder = Path(temporary)
        for name, text in task.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        result = await ask(task.prompt, model, folder, show)
        if result is None:
            return task.check(Outcome(folder, "")), "time_limit", 0, ""
        answer = result.text if result.reason == "completed" else ""
        is_passed = task.check(Outcome(folder, answer))
    replies = sum(isinstance(event, AssistantEvent) for event in result.events)
    return is_passed, result.reason, replies, answer


async def ask(prompt: str, model: str, folder: Path, show: Callable[[Event], None]) -> QueryResult | None:
    """The whole engine, as anyone would call it; None when it took too long."""
    events: list[Event] = []
    options = ostinato.Options(
        cwd=folder,
        model=model,
        permission_mode="acceptEdits",
        allowed_tools=["Bash"],
        max_turns=MAX_TURNS,
        temperature=0,
        keep_session=False,
    )
    with anyio.move_on_after(MAX_TASK_SECONDS):
        async with ostinato.open_engine(options) as engine, aclosing(engine.submit_message(prompt)) as asked:
            async for event in asked:
                events.append(event)
                show(event)
        return result_of_events(events)
    return None


def show_nothing(_event: Event) -> None:
    """Only the score line of each task."""


def show_turn(event: Event) -> None:
    """What was called and what came back, indented."""
    match event:
        case AssistantEvent(message=message):
            blocks = message.content
        case UserEvent(message=message):
            blocks = message.content
        case _:
            return
    for block in blocks:
        match block:
            case ToolUse(name=name, input=arguments):
                print(f"    -> {name} {dict(arguments)}")
            case ToolResult(content=content, is_error=is_error):
                shown = content if isinstance(content, str) else "[parts]"
                print(textwrap.indent(shown, "    !! " if is_error else "       "))
            case Text(text=text):
                print(f"    == {text}")
            case _:
                print("    [media]")
    sys.stdout.flush()


# ------------------------------------------------------------------------------------------------ all of them


def planned(sets: Mapping[str, Sequence[Task]], runs: int) -> Iterator[tuple[str, int, Task]]:
    """Set, run and task of every measurement. Each run begins elsewhere in its set: with greedy choices and one seed, what
    stands in the prompt cache before a task is all that can differ between runs.
    """
    for set_name, tasks in sets.items():
        for run in range(1, runs + 1):
            start = (run - 1) * len(tasks) // runs
            for task in (*tasks[start:], *tasks[:start]):
                yield set_name, run, task


def subject_of(model: str) -> str:
    """Names what is measured: the model file and the text of the adapter. A result of another one is not counted."""
    room = Path(local_actions.__file__).parent
    text = b"".join((room / name).read_bytes() for name in ADAPTER)
    return f"{Path(model).name}:{hashlib.sha256(text).hexdigest()[:12]}"


async def measure(
    plan: Sequence[tuple[str, int, Task]], model: str, *, results: Path, show: Callable[[Event], None]
) -> None:
    """Run what the results file does not hold yet; each score is kept and told at once."""
    subject = subject_of(model)
    there = {(score.set_name, score.run, score.task) for score in counted(results, subject)}
    for set_name, run, task in plan:
        if (set_name, run, task.name) in there:
            continue
        begin = time.monotonic()
        is_passed, reason, turns, answer = await run_task(task, model, show=show)
        score = Score(
            subject=subject,
            set_name=set_name,
            run=run,
            task=task.name,
            is_passed=is_passed,
            reason=reason,
            turns=turns,
            seconds=time.monotonic() - begin,
            answer=answer,
        )
        append_score(results, score)
        print_score(score)


def counted(results: Path, subject: str) -> Sequence[Score]:
    return [score for score in read_scores(results) if score.subject == subject]


def print_score(score: Score) -> None:
    verdict = "passed" if score.is_passed else "FALSE CLAIM" if score.is_false_claim else "failed"
    print(
        f"{score.set_name:9}{score.run:2} {score.task:12} {verdict:12} {score.reason:12} {score.turns:3} turns"
        f" {score.seconds:6.1f} s  load {os.getloadavg()[0]:.1f}  {score.answer[:60]!r}",
        flush=True,
    )


# ------------------------------------------------------------------------------------------------ the command


def chosen(set_names: str, task_names: str) -> Mapping[str, Sequence[Task]]:
    """The sets named, each with the tasks named (all for an empty text). Raises SystemExit for an unknown name."""
    wanted = [name for name in task_names.split(",") if name]
    sets = [name for name in set_names.split(",") if name]
    known = {task.name for name in sets for task in SETS.get(name, ())}
    for unknown in (
        *(name for name in sets if name not in SETS),
        *(name for name in wanted if name not in known),
    ):
        raise SystemExit(f"no `{unknown}`; sets are {', '.join(SETS)}, tasks {', '.join(sorted(known))}")
    return {name: [task for task in SETS[name] if not wanted or task.name in wanted] for name in sets}


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_tasks", description=__doc__)
    parser.add_argument("--model", default="", help="a GGUF file; default: the pulled local model")
    parser.add_argument("--sets", default="research", help=f"of {', '.join(SETS)}, separated by commas")
    parser.add_argument("--tasks", default="", help="only these, separated by commas")
    parser.add_argument("--runs", type=int, default=3, help="how often each set runs; medians are over runs")
    parser.add_argument(
        "--results", type=Path, help="keep scores in this file, and do not repeat those in it"
    )
    parser.add_argument("--transcript", action="store_true", help="show calls and results")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    given = arguments_of(arguments)
    model = f"local/{Path(given.model).expanduser().resolve()}" if given.model else "local"
    plan = tuple(planned(chosen(given.sets, given.tasks), given.runs))
    show = show_turn if given.transcript else show_nothing
    with tempfile.TemporaryDirectory(prefix="local-tasks-") as temporary:
        results = given.results or Path(temporary, "results.jsonl")
        try:
            anyio.run(lambda: measure(plan, model, results=results, show=show))
        except KeyboardInterrupt:
            print("\nstopped; what there is so far:")
        print_table(plan, counted(results, subject_of(model)))
    return 0


def print_table(plan: Sequence[tuple[str, int, Task]], scores: Sequence[Score]) -> None:
    wanted = {(set_name, run, task.name) for set_name, run, task in plan}
    print()
    for line in table([score for score in scores if (score.set_name, score.run, score.task) in wanted]):
        print(line)


if __name__ == "__main__":
    sys.exit(main())
