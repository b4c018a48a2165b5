"""Two other readers judge ours: whatever we call proven, shfmt reads as the same commands, and bash runs nothing else.

`OSTINATO_SHELL_TEXTS` sets how many texts of each kind are read; the default suits every run.
"""

import json
import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.permissions.bash_trace import HOME_NAME, executed
from tests.permissions.shell_texts import REAL, damaged, grown, noise
from tests.permissions.shfmt_reading import difference, shfmt_commands, shfmt_tree

from ostinato.permissions.shell_command import Proven, SimpleCommand, Unprovable
from ostinato.permissions.shell_reader import read_command

pytestmark = pytest.mark.process

COUNT = int(os.environ.get("OSTINATO_SHELL_TEXTS", "60"))
FUZZED = int(os.environ.get("OSTINATO_SHELL_FUZZED", "4000"))
MAX_SECONDS = 0.05
CORPUS = Path(__file__).with_name("shell_corpus.json")
"""Written by `scripts/shell_reader_proof.py`."""

MISREAD_BY_SHFMT = re.compile(
    r"""(?<![^\s;&|()])\#[^\n]*\\\n      # a comment that ends in a backslash swallows the next line
    | (?<![^\s;&|(])[-+]=                # `-=x` is taken for an assignment
    | <<(?!<).*\]\][ \t]*\n              # a here-document's body behind a line that ends in `]]` is read as commands
    """,
    re.VERBOSE | re.DOTALL,
)
"""In all of these bash reads as we do: it judges them."""

KINDS: dict[str, Callable[[random.Random], str]] = {"grown": grown, "damaged": damaged, "noise": noise}


def texts(kind: str, count: int, seed: int = 11) -> list[str]:
    chooser = random.Random(f"{kind} {seed}")
    return [KINDS[kind](chooser) for _ in range(count)]


def proven(text: str) -> tuple[SimpleCommand, ...] | None:
    reading = read_command(text)
    return reading.commands if isinstance(reading, Proven) else None


def shfmt_difference(text: str) -> str:
    """How shfmt reads a text otherwise that we call proven; "" if it reads the same, or is no judge of it."""
    ours = proven(text)
    tree = None if ours is None or MISREAD_BY_SHFMT.search(text) else shfmt_tree(text)
    return "" if ours is None or tree is None else difference(ours, shfmt_commands(tree))


def bash_misses(text: str, folder: Path) -> list[list[str]]:
    """What bash runs of a text that we call proven and did not list."""
    ours = proven(harmless := harmless_form(text))
    return [
        line
        for succeeds in ((True, False) if ours is not None else ())
        for line in executed(harmless, folder, succeeds=succeeds)
        if not any(may_become(command.argv, tuple(line)) for command in ours or ())
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_we_call_proven_shfmt_reads_the_same(kind: str):
    read = texts(kind, COUNT)
    assert {text: found for text in read if (found := shfmt_difference(text))} == {}
    judged = sum(proven(text) is not None for text in read)
    assert judged > COUNT * {"grown": 0.5, "damaged": 0.15, "noise": 0}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_bash_runs_nothing_that_we_did_not_list(kind: str, tmp_path: Path):
    read = texts(kind, COUNT, seed=12)
    assert {text: found for text in read if (found := bash_misses(text, tmp_path))} == {}


def test_stored_texts_are_read_as_both_judges_found_right():
    stored: list[tuple[str, object]] = json.loads(CORPUS.read_text())
    assert [text for text, reading in stored if as_json(text) != reading] == []


def as_json(text: str) -> object:
    """What the reader says, as JSON: a list of [words, redirections, assignments], or None for a refusal."""
    found = proven(text)
    if found is None:
        return None
    return [
        [
            list(command.argv),
            [[redirect.operator, redirect.target] for redirect in command.redirects],
            [list(pair) for pair in command.env],
        ]
        for command in found
    ]


def harmless_form(text: str) -> str:
    """Without slashes, which could name what is not of this test, and without loops that never end."""
    text = text.replace("/", "%")
    return re.sub(r"\b(?:while|until)\b(.*?)\bdo\b(.*?)\bdone\b", r"if\1then\2fi", text, flags=re.DOTALL)


def may_become(argv: tuple[str | None, ...], line: tuple[str, ...]) -> bool:
    """Whether these words, with any number of words for each unknown one, can be the line."""
    if not argv:
        return not line
    if argv[0] is None:
        return any(may_become(argv[1:], line[count:]) for count in range(len(line) + 1))
    is_home = argv[0] == "~" and bool(line) and line[0].endswith(HOME_NAME)
    return bool(line) and (is_home or argv[0] == line[0]) and may_become(argv[1:], line[1:])


@pytest.mark.parametrize("text", REAL)
def test_an_everyday_command_is_read(text: str):
    assert proven(text) is not None


def test_fuzzed_texts_give_one_of_two_answers_in_time():
    chooser = random.Random(13)
    slowest = 0.0
    for index in range(FUZZED):
        text = (noise, damaged, grown)[index % 3](chooser)
        start = time.thread_time()
        reading = read_command(text)
        seconds = time.thread_time() - start
        assert isinstance(reading, Proven | Unprovable)
        if seconds > MAX_SECONDS:  # a busy machine, or a slow reader: once more tells
            start = time.thread_time()
            read_command.__wrapped__(text)
            seconds = time.thread_time() - start
        slowest = max(slowest, seconds)
    assert slowest < MAX_SECONDS
