"""What file tools cost over the same steps in plain Python: one Edit of a 50 MB file; Grep and Glob on 200,000 files.

Run `python -m benchmarks.files [--full]`. Quick: a tenth of the files. Floor and tool take turns in one process. Edit by CPU
time and by the wall clock, where both sides wait for the same disk; searches by the wall clock and by the CPU time of both processes.
"""

import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from benchmarks.measure import Figure, alternate, show
from ostinato.loop.intent import IntendingWorkspace
from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing.memory_files import MemoryFiles
from ostinato.testing.tool_contexts import tool_context
from ostinato.tool import Tool, ToolContext, ToolOutcome
from ostinato.tools.builtin import builtin_tools
from ostinato.tools.ripgrep import ripgrep_path

LINE = "a line of text that is neither long nor short, with a number: {}\n"
FILE_BYTES = 50_000_000
FILES, QUICK_FILES = 200_000, 20_000
FILES_A_FOLDER = 500

Clock = Callable[[], float]

TOOLS = {tool.name: tool for tool in builtin_tools(is_read_only_command=lambda _command: False)}


class Desk:
    """A folder and the tools over it, as a run has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        local = LocalWorkspace(cwd=self.folder, roots=(self.folder,))
        workspace = IntendingWorkspace(local, "t", lambda _record: None)
        self._context = tool_context(workspace=workspace, files=MemoryFiles())

    async def call(self, name: str, **given: object) -> str:
        """Raises RuntimeError if the tool says no: a figure of a refusal is none."""
        outcome = await _outcome(TOOLS[name], given, self._context)
        if outcome.is_error or not isinstance(outcome.content, str):
            raise RuntimeError(f"{name}: {outcome.content}")
        return outcome.content

    def timed(self, name: str, *, clock: Clock = time.perf_counter, **given: object) -> float:
        """Seconds of one call in an event loop of its own; starting that loop does not count."""

        async def take() -> float:
            started = clock()
            await self.call(name, **given)
            return clock() - started

        return anyio.run(take)


async def _outcome(tool: Tool, given: dict[str, object], context: ToolContext) -> ToolOutcome:
    returned = await tool.call(given, context)
    return returned if isinstance(returned, ToolOutcome) else ToolOutcome(returned)


# ------------------------------------------------------------------------------------------------------------------ Edit


def plain_edit(path: Path, old: str, new: str, clock: Clock) -> float:
    """The floor: read, decode, replace, hash, write, fsync, rename."""
    started = clock()
    data = path.read_bytes()
    text = data.decode().replace(old, new, 1)
    hashlib.sha256(data).hexdigest()
    draft = path.with_name("draft")
    with draft.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return clock() - started


class LargeFile:
    """The one place is edited to and fro. Edit is given its lines with `\\n` whatever the file has, as models write them."""

    def __init__(self, path: Path, end: str, place: str) -> None:
        block = "".join(LINE.format(number) for number in range(1000)).replace("\n", end)
        half = block * (FILE_BYTES // 2 // len(block))
        path.write_bytes((half + place.replace("\n", end) + end + half).encode())
        self._path = path
        self._end = end
        self._words = [place, place.replace("one", "other")]
        self._desk = Desk(path.parent)

    def seen(self) -> "LargeFile":
        anyio.run(partial(self._desk.call, "Read", file_path=str(self._path), limit=1))
        return self

    def edit(self, clock: Clock) -> float:
        old, new = self._turn()
        given = {"file_path": str(self._path), "old_string": old, "new_string": new}
        return self._desk.timed("Edit", clock=clock, **given)

    def floor(self, clock: Clock) -> float:
        old, new = (words.replace("\n", self._end) for words in self._turn())
        return plain_edit(self._path, old, new, clock)

    def _turn(self) -> tuple[str, str]:
        self._words.reverse()
        return self._words[1], self._words[0]


def edit_figures(folder: Path, *, rounds: int) -> list[Figure]:
    figures: list[Figure] = []
    for kind, end, place in (
        ("", "\n", "the one place"),
        (" with CRLF", "\r\n", "the one place"),
        (" with CRLF, two lines", "\r\n", "the one place\nand its next line"),
    ):
        tool, floor = LargeFile(folder / "tool", end, place).seen(), LargeFile(folder / "floor", end, place)
        for measure, clock in (("CPU", time.process_time), ("wall", time.perf_counter)):
            tool_s, floor_s = alternate(rounds, partial(tool.edit, clock), partial(floor.floor, clock))
            name = f"Edit of a 50 MB file{kind}, {measure} / the same steps in plain Python"
            detail = f"{tool_s * 1000:.0f} ms against {floor_s * 1000:.0f} ms"
            figures.append(Figure(name, tool_s / floor_s, "x", 1.5, detail))
    return figures


# ---------------------------------------------------------------------------------------------------------------- search


def make_tree(folder: Path, count: int) -> None:
    for number in range(0, count, FILES_A_FOLDER):
        below = folder / f"d{number // 20 // FILES_A_FOLDER}" / f"e{number}"
        below.mkdir(parents=True)
        for index in range(number, min(count, number + FILES_A_FOLDER)):
            word = "needle" if index % 1000 == 0 else "straw"
            (below / f"f{index}.py").write_text(f"# {index}\ndef {word}():\n    return {index}\n")


def plain_ripgrep(folder: Path, *arguments: str) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        [str(ripgrep_path()), *arguments, "."], cwd=folder, check=False, capture_output=True
    )
    if done.returncode > 1:  # 1: nothing was found
        raise RuntimeError(done.stderr.decode())
    return time.perf_counter() - started


def search_figures(folder: Path, *, count: int, rounds: int) -> list[Figure]:
    make_tree(folder, count)
    desk = Desk(folder)
    common = ("--no-config", "--hidden", "--glob=!.git", "--no-require-git")
    listing = (*common, "-l", "-e")
    pairs: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
        (
            "Grep, 1 in 1000 files match",
            lambda: desk.timed("Grep", pattern="needle"),
            lambda: plain_ripgrep(folder, *listing, "needle"),
        ),
        (
            "Grep, every file matches",
            lambda: desk.timed("Grep", pattern="return"),
            lambda: plain_ripgrep(folder, *listing, "return"),
        ),
        (
            "Grep, nothing matches",
            lambda: desk.timed("Grep", pattern="nowhere at all", output_mode="content"),
            lambda: plain_ripgrep(folder, *common, "-n", "-e", "nowhere at all"),
        ),
        (
            "Glob",
            lambda: desk.timed("Glob", pattern="**/*.py"),
            lambda: plain_ripgrep(folder, *common, "--files"),
        ),
        (
            "Glob (by date, as its answer is)",
            lambda: desk.timed("Glob", pattern="**/*.py"),
            lambda: plain_ripgrep(folder, *common, "--files", "--sortr=modified"),
        ),
    ]
    figures: list[Figure] = []
    for name, tool, floor in pairs:
        tool_cpu_s: list[float] = []
        floor_cpu_s: list[float] = []
        tool_s, floor_s = alternate(
            rounds, partial(and_cpu, tool, tool_cpu_s), partial(and_cpu, floor, floor_cpu_s)
        )
        limit = 1.2 if name.startswith("Grep") else None
        detail = f"{count} files: {tool_s * 1000:.0f} ms against {floor_s * 1000:.0f} ms"
        figures.append(Figure(f"{name} / the same rg", tool_s / floor_s, "x", limit, detail))
        tool_s, floor_s = statistics.median(tool_cpu_s), statistics.median(floor_cpu_s)
        detail = f"{tool_s * 1000:.0f} ms against {floor_s * 1000:.0f} ms"
        figures.append(Figure(f"{name}, CPU with rg's", tool_s / floor_s, "x", None, detail))
    return figures


def and_cpu(take: Callable[[], float], into_s: list[float]) -> float:
    """Of this process and of those that it waited for: the same on a busy machine."""
    before_s = all_cpu_s()
    wall_s = take()
    into_s.append(all_cpu_s() - before_s)
    return wall_s


def all_cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(arguments: Sequence[str]) -> None:
    is_full = "--full" in arguments
    with tempfile.TemporaryDirectory() as name:
        show(edit_figures(Path(name), rounds=9 if is_full else 3))
    with tempfile.TemporaryDirectory() as name:
        count = FILES if is_full else QUICK_FILES
        show(search_figures(Path(name), count=count, rounds=9 if is_full else 3))


if __name__ == "__main__":
    main(sys.argv[1:])
