"""Two or three worked tasks that stand before the user's own: what a small model does not learn from prose, it copies.

Measured with a 1.5B model: without them it reads the same file over and over and never says that it is done.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """A call and what it gave; the last step of an example has no result."""

    tool: str
    arguments: Mapping[str, Any]
    result: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A task, done in a few steps; the last one is `done`."""

    task: str
    steps: tuple[Step, ...]


QUESTION = Example(
    "Which colour does theme.ini set?",
    (
        Step("Read", {"file_path": "theme.ini"}, "[theme]\ncolour = blue"),
        Step("done", {"answer": "It sets the colour blue."}),
    ),
)
SEARCH = Example(
    "Which file here is the newest?",
    (
        Step("Bash", {"command": "ls -t | head -1"}, "report.txt"),
        Step("done", {"answer": "The newest file is report.txt."}),
    ),
)
ADDITION = Example(
    "Add a function bye to greet.py.",
    (
        Step("Read", {"file_path": "greet.py"}, 'def hello():\n    print("hello")'),
        Step(
            "Edit",
            {
                "file_path": "greet.py",
                "old_string": 'def hello():\n    print("hello")',
                "new_string": 'def hello():\n    print("hello")\n\n\ndef bye():\n    print("bye")',
            },
            "edited greet.py at line 1",
        ),
        Step("done", {"answer": "Added bye to greet.py."}),
    ),
)
REPAIR = Example(
    "python3 test_names.py fails. Repair names.py.",
    (
        Step(
            "Bash",
            {"command": "python3 test_names.py"},
            'File "test_names.py", line 2\n    assert short("Ann") == "A."\nAssertionError',
            is_error=True,
        ),
        Step("Read", {"file_path": "names.py"}, 'def short(name):\n    return name[1] + "."'),
        Step(
            "Edit",
            {"file_path": "names.py", "old_string": "name[1]", "new_string": "name[0]"},
            "edited names.py at line 2",
        ),
        Step("Bash", {"command": "python3 test_names.py"}, "ok"),
        Step("done", {"answer": "names.py took the second letter; now the test passes."}),
    ),
)
EXAMPLES = (QUESTION, SEARCH, ADDITION, REPAIR)


def examples_for(tools: Collection[str]) -> Sequence[Example]:
    """Those whose tools are all offered: nothing may be shown that cannot be done."""
    known = {*tools, "done"}
    return [example for example in EXAMPLES if all(step.tool in known for step in example.steps)]
