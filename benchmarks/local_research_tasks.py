"""The twelve tasks with which models and the form of the prompt were chosen, before there was an engine: a bare loop solved 9 to 10.

Prompts, files and what counts as done are those of that research, so that its figures can be compared with ours.
"""

import re

from benchmarks.local_judging import Outcome, Task, source, without_blanks

TEST_CALC = source(
    """
    from calc import add, mul
    assert add(2, 3) == 5
    assert mul(2, 3) == 6
    print("ok")
    """
)
CALC_WORKS = "from calc import add, mul; assert (add(2, 3), add(7, 1), mul(2, 3)) == (5, 8, 6)"
UTILS_WORK = "from utils import double, half; assert (double(4), half(4)) == (8, 2)"


def is_test_fixed(outcome: Outcome) -> bool:
    return outcome.ran("-c", CALC_WORKS) is not None and "add(2, 3) == 5" in outcome.text("test_calc.py")


def is_renamed(outcome: Outcome) -> bool:
    text = outcome.text("b.py")
    return not re.search(r"\bcnt\b", text) and "total" in text and outcome.ran("b.py") == "6\n"


TASKS = (
    Task(
        "count_py",
        "How many Python files (*.py) are in this folder?",
        {"a.py": "x=1\n", "b.py": "y=2\n", "c.py": "z=3\n", "notes.txt": "hi\n", "data.csv": "1,2\n"},
        lambda outcome: outcome.says("3", "three"),
    ),
    Task(
        "func_value",
        "What does function f in a.py return for 3?",
        {"a.py": "def f(x):\n    y = x * x\n    return y + 4\n"},
        lambda outcome: outcome.says("13"),
    ),
    Task(
        "fix_test",
        'Running "python3 test_calc.py" fails. Fix the bug in calc.py so that it passes.',
        {
            "calc.py": source(
                """
                def add(a, b):
                    return a - b

                def mul(a, b):
                    return a * b
                """
            ),
            "test_calc.py": TEST_CALC,
        },
        is_test_fixed,
    ),
    Task(
        "hello",
        "Create hello.py that prints hi and run it.",
        {"readme.txt": "empty project\n"},
        lambda outcome: (outcome.ran("hello.py") or "").strip().lower() == "hi",
    ),
    Task(
        "todos",
        "Find the TODO comments in this folder. Which files have them?",
        {
            "alpha.py": "# TODO: handle errors\nx = 1\n",
            "beta.py": "y = 2\n",
            "gamma.py": "z = 3  # TODO remove\n",
        },
        lambda outcome: (
            "alpha" in outcome.answer and "gamma" in outcome.answer and "beta" not in outcome.answer
        ),
    ),
    Task(
        "rename",
        "In b.py rename the variable cnt to total everywhere.",
        {"b.py": "cnt = 0\nfor i in range(4):\n    cnt = cnt + i\nprint(cnt)\n"},
        is_renamed,
    ),
    Task(
        "port",
        "Which port does the server use? Look in config.ini.",
        {"config.ini": "[db]\nport = 5432\n\n[server]\nhost = localhost\nport = 8123\n"},
        lambda outcome: "8123" in outcome.answer,
    ),
    Task(
        "add_func",
        "Add a function double(x) that returns 2*x to utils.py. Keep the existing code.",
        {"utils.py": "def half(x):\n    return x / 2\n"},
        lambda outcome: outcome.ran("-c", UTILS_WORK) is not None,
    ),
    Task(
        "largest",
        "Which file in the data folder is the largest?",
        {"data/one.txt": "a" * 100, "data/two.txt": "b" * 5000, "data/three.txt": "c" * 900},
        lambda outcome: (
            "two" in outcome.answer and "three.txt" not in outcome.answer and "one.txt" not in outcome.answer
        ),
    ),
    Task(
        "const",
        "Change TIMEOUT in settings.py from 10 to 30.",
        {"settings.py": 'RETRIES = 10\nTIMEOUT = 10\nNAME = "app"\n'},
        lambda outcome: without_blanks(outcome.text("settings.py")) == 'RETRIES=10TIMEOUT=30NAME="app"',
    ),
    Task(
        "debug_line",
        "Remove the debug print line from main.py.",
        {
            "main.py": source(
                """
                def run():
                    value = 7
                    print("DEBUG", value)
                    return value

                print(run())
                """
            )
        },
        lambda outcome: outcome.ran("main.py") == "7\n",
    ),
    Task(
        "errors",
        "How many lines in log.txt contain ERROR?",
        {"log.txt": "INFO a\nERROR b\nINFO c\nERROR d\nERROR e\nWARN f\nERROR g\nINFO h\n"},
        lambda outcome: outcome.says("4", "four"),
    ),
)
