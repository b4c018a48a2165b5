"""A file of 1 GB costs time, not memory. Only in long runs (`OSTINATO_EXHAUSTIVE=1`): each reading takes seconds."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
from tests.thoroughness import IS_EXHAUSTIVE

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform != "linux", reason="sizes of a process are in /proc"),
    pytest.mark.skipif(not IS_EXHAUSTIVE, reason="takes seconds; OSTINATO_EXHAUSTIVE=1 runs it"),
]

ROOT: Final = Path(__file__).parents[2]
HUGE_BYTES: Final = 1_000_000_000
MAX_MORE_BYTES: Final = 16_000_000
LINES: Final = b"".join(b"line %d\n" % number for number in range(200_000))
HOLE_LINES: Final = 200_002

PROGRAM: Final = """
import anyio, json, re, sys, time
from pathlib import Path
from tests.tools.tool_folder import ToolFolder
def size(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
async def main():
    folder, given = ToolFolder(Path(sys.argv[1])), json.loads(sys.argv[2])
    await folder.call("Read", file_path="small")
    await folder.call("Edit", file_path="small", old_string="1", new_string="2")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, began_s = size("VmRSS"), time.process_time()
    outcome = await folder.call(given.pop("tool"), **given)
    cpu_s = time.process_time() - began_s
    told = {"text": str(outcome.content), "is_error": outcome.is_error, "cpu_s": cpu_s, "more_bytes": size("VmHWM") - before}
    print(json.dumps(told))
anyio.run(main)
"""


class Told(msgspec.Struct, frozen=True):
    text: str
    is_error: bool
    more_bytes: int
    cpu_s: float


def called(folder: Path, **given: object) -> Told:
    """In a process of its own, whose peak is the call's alone."""
    done = subprocess.run(
        (sys.executable, "-c", PROGRAM, str(folder), msgspec.json.encode(given).decode()),
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    told = msgspec.json.decode(done.stdout, type=Told)
    print(f"{given}: {told.more_bytes / 1e6:.1f} MB more, {told.cpu_s:.2f} s of CPU")
    return told


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """`lines` is all text; in `hole` a gigabyte of NULs stands between the first lines and the last one (it takes no room)."""
    (tmp_path / "small").write_text("1\n")
    with (tmp_path / "lines").open("wb") as file:
        while file.tell() < HUGE_BYTES:
            file.write(LINES)
    with (tmp_path / "hole").open("wb") as file:
        file.write(LINES)
        file.seek(HUGE_BYTES)
        file.write(b"\nthe last line\n")
    yield tmp_path
    (tmp_path / "lines").unlink()  # kept folders of tests are many


def test_reading_a_gigabyte_takes_a_few_megabytes(folder: Path):
    count = 200_000 * ((folder / "lines").stat().st_size // len(LINES))
    for file, offset, shown in (
        ("hole", 1, f"lines 1-2000 of {HOLE_LINES};"),
        ("hole", HOLE_LINES, f"{HOLE_LINES}\tthe last line"),
        ("lines", 1, f"lines 1-2000 of {count};"),
        ("lines", count, f"{count}\tline 199999"),
    ):
        told = called(folder, tool="Read", file_path=file, offset=offset)
        assert not told.is_error
        assert shown in told.text
        assert told.more_bytes < MAX_MORE_BYTES


def test_searching_a_gigabyte_takes_a_few_megabytes(folder: Path):
    for file in ("hole", "lines"):
        told = called(
            folder, tool="Grep", pattern="line 7777$", path=file, output_mode="content", head_limit=5
        )
        assert "7778:line 7777" in told.text
        assert told.more_bytes < MAX_MORE_BYTES
