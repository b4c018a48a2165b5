"""Eight tasks that nothing was tuned on: written before the prompt was settled, run when it was."""

from benchmarks.local_judging import Outcome, Task, source, without_blanks

EVEN_WORKS = "from parity import half, is_even; assert (is_even(4), is_even(7), half(8)) == (True, False, 4)"


def is_deleted(outcome: Outcome) -> bool:
    left = {path.name for path in outcome.folder.iterdir()}
    return left == {"new.txt", "main.py"}


TASKS = (
    Task(
        "line_count",
        "How many lines does names.txt have?",
        {"names.txt": "Ada\nBob\nCyd\nDan\nEve\nFay\nGus\n", "towns.txt": "Ulm\nRom\n"},
        lambda outcome: outcome.says("7", "seven"),
    ),
    Task(
        "definition",
        "Which file defines the function parse?",
        {
            "main.py": "from reader import parse\nprint(parse('a'))\n",
            "reader.py": "def parse(text):\n    return text.split()\n",
            "writer.py": "def render(parts):\n    return ' '.join(parts)\n",
        },
        lambda outcome: outcome.says("reader.py") and not outcome.says("main.py", "writer.py"),
    ),
    Task(
        "append",
        "Add the line pear at the end of fruit.txt.",
        {"fruit.txt": "apple\nplum\ncherry\n"},
        lambda outcome: outcome.text("fruit.txt").split() == ["apple", "plum", "cherry", "pear"],
    ),
    Task(
        "version",
        "Create a file version.txt that contains 1.2.0.",
        {"app.py": "print('app')\n"},
        lambda outcome: outcome.text("version.txt").strip() == "1.2.0",
    ),
    Task(
        "spelling",
        'Correct the word "recieve" in readme.md to "receive".',
        {"readme.md": "# Mail\n\nYou recieve mail here.\nSend it elsewhere.\n"},
        lambda outcome: (
            without_blanks(outcome.text("readme.md")) == "#MailYoureceivemailhere.Senditelsewhere."
        ),
    ),
    Task(
        "key",
        "What is the value of the key retries in config.json?",
        {"config.json": '{\n  "timeout": 25,\n  "retries": 6,\n  "workers": 3\n}\n'},
        lambda outcome: outcome.says("6", "six") and not outcome.says("25", "3"),
    ),
    Task(
        "is_even",
        "The function is_even in parity.py gives the wrong answer. Fix it.",
        {
            "parity.py": source(
                """
                def half(number):
                    return number / 2

                def is_even(number):
                    return number % 2 == 1
                """
            )
        },
        lambda outcome: outcome.ran("-c", EVEN_WORKS) is not None,
    ),
    Task(
        "delete",
        "Delete the file old.txt.",
        {"old.txt": "old\n", "new.txt": "new\n", "main.py": "print('main')\n"},
        is_deleted,
    ),
)
