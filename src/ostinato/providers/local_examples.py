"""Three worked tasks that stand before the user's own: what a small model does not learn from prose, it copies.

Measured with a 1.5B model: without them it reads the same file over and over and never says that it is done. It copies their order
of calls: so a change by the shell shows what it did, a repair begins with the test that fails, a question comes last.
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


ADDITION = Example(
    "Add size = 3 to box.py.",
    (
        Step("Bash", {"command": "echo 'size = 3' >> box.py; cat box.py"}, "depth = 1\nsize = 3"),
        Step("done", {"answer": "Added size."}),
    ),
)
QUESTION = Example(
    "Which colour does theme.ini set?",
    (
        Step("Read", {"file_path": "theme.ini"}, "colour = blue"),
        Step("done", {"answer": "It sets the colour blue."}),
    ),
)
REPAIR = Example(
    "python3 test.py fails. Fix names.py.",
    (
        Step("Bash", {"command": "python3 test.py"}, "AssertionError: first", is_error=True),
        Step("Read", {"file_path": "names.py"}, "def first(name):\n    return name[1]"),
        Step(
            "Edit",
            {"file_path": "names.py", "old_string": "    return name[1]", "new_string": "    return name[0]"},
            "edited names.py at line 2",
        ),
        Step("done", {"answer": "Fixed first."}),
    ),
)
EXAMPLES = (REPAIR, ADDITION, QUESTION)


def examples_for(tools: Collection[str]) -> Sequence[Example]:
    """Those whose tools are all offered: nothing may be shown that cannot be done."""
    known = {*tools, "done"}
    return [example for example in EXAMPLES if all(step.tool in known for step in example.steps)]
