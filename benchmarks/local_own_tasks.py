"""Twelve tasks of our own, of the same kinds as the research tasks, with other files, names and numbers."""

import re

from benchmarks.local_judging import Outcome, Task, source


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
