"""What a small local model really gets done: twelve tiny tasks through the whole engine, each judged by what is in its folder.

`python -m benchmarks.local_tasks --model FILE.gguf [--tasks port,const] [--runs N] [--transcript]`. A task counts when its
check holds; the model's own word counts only as a false claim. Ctrl-C prints what there is so far.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import anyio
import msgspec

import ostinato
from ostinato.engine.result import QueryResult, result_of_events
from ostinato.events import AssistantEvent, Event, UserEvent
from ostinato.messages import Text, ToolResult, ToolUse

MAX_TURNS = 12
MAX_TASK_SECONDS = 600
"""A model that runs in circles on a busy machine; far above what any task took."""

CHECK_SECONDS = 20


class Outcome(msgspec.Struct, frozen=True):
    """What is there to be judged: the folder as the model left it, and its last words."""

    folder: Path
    answer: str

    def text(self, name: str) -> str:
        """The file's text; empty if there is none."""
        path = self.folder / name
        return path.read_text(errors="replace") if path.is_file() else ""

    def ran(self, *arguments: str) -> str | None:
        """What Python prints, run in the folder; None if it fails."""
        try:
            ended = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        return ended.stdout if ended.returncode == 0 else None

    def says(self, *words: str) -> bool:
        """Whether one of the words stands in the answer, whole."""
        return any(re.search(rf"\b{re.escape(word)}\b", self.answer, re.IGNORECASE) for word in words)


class Task(msgspec.Struct, frozen=True):
    """A prompt, the files it is about, and how to see whether it was done."""

    name: str
    prompt: str
    files: Mapping[str, str]
    check: Callable[[Outcome], bool]


def source(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


# ------------------------------------------------------------------------------------------------ the tasks


def is_test_fixed(outcome: Outcome) -> bool:
    code = "from calc import area, perimeter; assert (area(4, 6), perimeter(4, 6), area(1, 9)) == (24, 20, 9)"
    return outcome.ran("-c", code) is not None and outcome.text("test_calc.py") == TEST_CALC


def is_renamed(outcome: Outcome) -> bool:
    text = outcome.text("b.py")
    return not re.search(r"\bnum\b", text) and "amount" in text and outcome.ran("b.py") == "15\n"


def is_function_added(outcome: Outcome) -> bool:
    return outcome.ran("-c", "from utils import shout, triple; print(triple(5), shout('a'))") == "15 A!\n"


def is_constant_changed(outcome: Outcome) -> bool:
    lines = [re.sub(r"\s", "", line) for line in outcome.text("settings.py").splitlines()]
    return [line for line in lines if line] == ["LIMIT=20", 'MODE="fast"', "RETRIES=5"]


TEST_CALC = source(
    """
    from calc import area, perimeter

    assert area(4, 6) == 24
    assert perimeter(4, 6) == 20, perimeter(4, 6)
    print("all good")
    """
)

TASKS = (
    Task(
        "count_py",
        "How many Python files (*.py) are in this folder?",
        {"app.py": "x = 1\n", "view.py": "y = 2\n", "db.py": "z = 3\n", "run.py": "", "notes.md": "-\n"},
        lambda outcome: outcome.says("4", "four"),
    ),
    Task(
        "func_value",
        "What does the function g in a.py return for 4?",
        {"a.py": "def g(n):\n    m = n * n\n    return m - 5\n"},
        lambda outcome: outcome.says("11"),
    ),
    Task(
        "fix_test",
        'Running "python3 test_calc.py" fails. Fix the bug in calc.py so that it passes.',
        {
            "calc.py": source(
                """
                def area(width, height):
                    return width * height

                def perimeter(width, height):
                    return 2 * (width - height)
                """
            ),
            "test_calc.py": TEST_CALC,
        },
        is_test_fixed,
    ),
    Task(
        "hello",
        "Create hello.py that prints hello and run it.",
        {"readme.txt": "nothing here yet\n"},
        lambda outcome: (outcome.ran("hello.py") or "").strip().lower() == "hello",
    ),
    Task(
        "todos",
        "Find the TODO comments in this folder. Which files have them?",
        {"north.py": "a = 1\n", "south.py": "# TODO: test this\nb = 2\n", "west.py": "c = 3  # TODO drop\n"},
        lambda outcome: (
            outcome.says("south.py") and outcome.says("west.py") and "north" not in outcome.answer
        ),
    ),
    Task(
        "rename",
        "In b.py rename the variable num to amount everywhere.",
        {"b.py": "num = 0\nfor step in range(6):\n    num = num + step\nprint(num)\n"},
        is_renamed,
    ),
    Task(
        "port",
        "Which port does the cache use? Look in config.ini.",
        {"config.ini": "[web]\nport = 8080\n\n[cache]\nhost = localhost\nport = 6380\n"},
        lambda outcome: outcome.says("6380") and "8080" not in outcome.answer,
    ),
    Task(
        "add_func",
        "Add a function triple(x) that returns 3*x to utils.py. Keep the existing code.",
        {"utils.py": 'def shout(text):\n    return text.upper() + "!"\n'},
        is_function_added,
    ),
    Task(
        "largest",
        "Which file in the logs folder is the largest?",
        {"logs/mon.txt": "m" * 700, "logs/tue.txt": "t" * 90, "logs/wed.txt": "w" * 6100},
        lambda outcome: outcome.says("wed.txt", "wed") and not outcome.says("mon.txt", "tue.txt"),
    ),
    Task(
        "const",
        "Change LIMIT in settings.py from 5 to 20.",
        {"settings.py": 'LIMIT = 5\nMODE = "fast"\nRETRIES = 5\n'},
        is_constant_changed,
    ),
    Task(
        "debug_line",
        "Remove the debug print line from main.py.",
        {
            "main.py": 'def start():\n    size = 9\n    print("DEBUG size", size)\n    return size\n\nprint(start())\n'
        },
        lambda outcome: outcome.ran("main.py") == "9\n",
    ),
    Task(
        "errors",
        "How many lines in log.txt contain ERROR?",
        {"log.txt": "INFO a\nERROR b\nERROR c\nWARN d\nERROR e\nINFO f\nERROR g\nERROR h\nINFO i\n"},
        lambda outcome: outcome.says("5", "five"),
    ),
)


# ------------------------------------------------------------------------------------------------ running them


class Score(msgspec.Struct, frozen=True):
    """One task, run once. `reason` is the Terminal's, or `time_limit`."""

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


async def run_task(task: Task, model: str, *, show: Callable[[Event], None]) -> Score:
    """The task in a new folder; what the model did there is judged when it has ended."""
    with tempfile.TemporaryDirectory(prefix="task-") as temporary:
        folder = Path(temporary)
        for name, text in task.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        begin = time.monotonic()
        result = await ask(task.prompt, model, folder, show)
        seconds = time.monotonic() - begin
        answer = result.text if result is not None and result.reason == "completed" else ""
        is_passed = task.check(Outcome(folder, answer))
    reason = result.reason if result is not None else "time_limit"
    turns = 0 if result is None else sum(isinstance(event, AssistantEvent) for event in result.events)
    return Score(task.name, is_passed, reason, turns, seconds, answer)


async def ask(prompt: str, model: str, folder: Path, show: Callable[[Event], None]) -> QueryResult | None:
    """The whole engine, as anyone would call it; None when it took too long."""
    events: list[Event] = []
    asked = ostinato.query(
        prompt,
        cwd=folder,
        model=model,
        permission_mode="acceptEdits",
        allowed_tools=["Bash"],
        max_turns=MAX_TURNS,
        temperature=0,
        keep_session=False,
    )
    with anyio.move_on_after(MAX_TASK_SECONDS):
        async with aclosing(asked):
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


# ------------------------------------------------------------------------------------------------ the report


def print_score(score: Score) -> None:
    verdict = "passed" if score.is_passed else "FALSE CLAIM" if score.is_false_claim else "failed"
    load = os.getloadavg()[0]
    print(
        f"{score.task:12} {verdict:12} {score.reason:12} {score.turns:3} turns {score.seconds:6.1f} s  load {load:.1f}"
        f"  {score.answer[:60]!r}",
        flush=True,
    )


def print_sum(scores: Sequence[Score]) -> None:
    if not scores:
        return
    print(f"\n{'task':12} passed  false claims  median s")
    for name in dict.fromkeys(score.task for score in scores):
        print_row(name, [score for score in scores if score.task == name])
    print_row("all", scores)


def print_row(name: str, scores: Sequence[Score]) -> None:
    passed = sum(score.is_passed for score in scores)
    claims = sum(score.is_false_claim for score in scores)
    seconds = sorted(score.seconds for score in scores)[len(scores) // 2]
    print(f"{name:12} {passed:2} of {len(scores):2}  {claims:12}  {seconds:8.1f}")


def chosen_tasks(names: str) -> Sequence[Task]:
    """The tasks named, in the order named; all for an empty text. Raises SystemExit for an unknown one."""
    if not names:
        return TASKS
    known = {task.name: task for task in TASKS}
    wanted = [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"no task `{unknown[0]}`; there are {', '.join(known)}")
    return [known[name] for name in wanted]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_tasks", description=__doc__)
    parser.add_argument("--model", default="", help="a GGUF file; default: the pulled local model")
    parser.add_argument("--tasks", default="", help="only these, separated by commas")
    parser.add_argument("--runs", type=int, default=1, help="how often each task runs")
    parser.add_argument("--transcript", action="store_true", help="show calls and results")
    given = parser.parse_args(arguments)
    model = f"local/{Path(given.model).expanduser().resolve()}" if given.model else "local"
    show = show_turn if given.transcript else show_nothing
    scores: list[Score] = []

    async def run_all() -> None:
        for _ in range(given.runs):
            for task in chosen_tasks(given.tasks):
                scores.append(await run_task(task, model, show=show))
                print_score(scores[-1])

    try:
        anyio.run(run_all)
    except KeyboardInterrupt:
        print("\nstopped; what there is so far:")
    print_sum(scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
