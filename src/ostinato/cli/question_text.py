"""A permission question as a person reads it: the whole command or the resolved path, the reason, and what each answer grants.

Nothing the model wrote can pass for a line of ours: its lines stand behind a bar, with hidden characters written out.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from ostinato.engine.options import PermissionAsked
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home
from ostinato.visible_text import one_line, visible, visible_line

PATH_FIELDS: Final = ("file_path", "notebook_path", "path")
MAX_VALUE_LINES: Final = 40
"""Of a file's content; a command is always shown whole, for it is what runs."""

_MAX_NAME_CHARACTERS: Final = 60


def question_text(asked: PermissionAsked, cwd: Path, home: Path | None) -> str:
    """Everything but the line on which the answer is typed."""
    lines = [f"The model asks for {one_line(asked.tool_name, _MAX_NAME_CHARACTERS)}:"]
    for name, value in asked.input.items():
        lines += _field(name, value, cwd, home)
    lines += _links(asked.links)
    if asked.reason:
        lines += _barred("why", asked.reason)
    return "\n" + "".join(f"{line}\n" for line in (*lines, *_answers(asked)))


def answer_letters(asked: PermissionAsked) -> tuple[str, ...]:
    """What can be answered: always only where rules were shown that say what it means."""
    if not asked.suggestions:
        return ("y", "n")
    return ("y", "c", "a", "n") if asked.rules_file is not None else ("y", "c", "n")


def _answers(asked: PermissionAsked) -> Iterator[str]:
    letters = answer_letters(asked)
    rules = ", ".join(visible(rule).replace("\n", "⏎") for rule in asked.suggestions)
    yield "y  yes, this once"
    if "c" in letters:
        yield f"c  yes, until this conversation ends: {rules}"
    if "a" in letters:
        file = visible(str(asked.rules_file)).replace("\n", "⏎")
        yield f"a  always: {rules}; it is written to {file}"
    yield "n  no; `n REASON` also tells the model why"


def _field(name: str, value: object, cwd: Path, home: Path | None) -> Iterator[str]:
    text = value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
    limit = None if name == "command" else MAX_VALUE_LINES
    yield from _barred(one_line(name, _MAX_NAME_CHARACTERS), text, limit)
    real = resolved_path(text, cwd, home) if name in PATH_FIELDS else text
    if real != text:
        yield from _barred("which is", real)


def _links(links: tuple[tuple[Path, Path], ...]) -> Iterator[str]:
    for path, target in links[:MAX_VALUE_LINES]:
        yield f"  {visible_line(str(path))}, which leads to {visible_line(str(target))}"
    if len(links) > MAX_VALUE_LINES:
        yield f"  … and {len(links) - MAX_VALUE_LINES:,} more that lead elsewhere"


def _barred(name: str, text: str, max_lines: int | None = None) -> Iterator[str]:
    lines = visible(text).split("\n")
    if len(lines) == 1:
        yield f"  {name}: {lines[0]}"
        return
    yield f"  {name}:"
    yield from (f"  │ {line}" for line in lines[:max_lines])
    if max_lines is not None and len(lines) > max_lines:
        yield f"  … and {len(lines) - max_lines:,} more lines"


def resolved_path(written: str, cwd: Path, home: Path | None) -> str:
    """Where the path leads, links followed; as written if no path can be made of it."""
    try:
        return os.path.realpath(cwd / expand_home(written, home))
    except (ValueError, OSError, UsageError):
        return written
