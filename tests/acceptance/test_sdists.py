"""The main job in three real packages: find, read, edit, run their tests; what was broken is as shipped, and nothing else moved.

The model is scripted and speaks over HTTP, the command is the installed one, and where an edit goes is taken from what the
tools answered. `scripts/sdist-work` runs it; the unit run does not.
"""

import getpass
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scripts.real_packages import (
    PACKAGES,
    Fault,
    Package,
    Unreachable,
    broken,
    cache_folder,
    digests,
    environment_folder,
    unpacked,
)
from tests.cli.command import Desk

from ostinato.testing import Reply, StrictServer, call, say
from ostinato.testing.wire_turn import WireTurn

pytestmark = [pytest.mark.process, pytest.mark.package_index, pytest.mark.timeout(420)]

AROUND_LINES = 12
GONE_WITHIN_S = 4.0


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of programs in which `python` has pytest and what the packages need."""
    try:
        return environment_folder(cache_folder(os.environ))
    except Unreachable as error:
        pytest.skip(str(error))


@pytest.fixture(params=PACKAGES, ids=lambda package: package.name)
def package(request: pytest.FixtureRequest) -> Package:
    return request.param


@pytest.fixture
def desk(package: Package, programs: Path, tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    made.work.rmdir()
    try:
        unpacked(package, cache_folder(os.environ), made.work)
    except Unreachable as error:
        pytest.skip(str(error))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    made.extra = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(temporary),
        "STARTED_FOR": str(tmp_path),
    }
    return made


class Repairer:
    """What a careful model would do, each step from what the last one showed."""

    def __init__(self, package: Package, desk: Desk) -> None:
        self._package = package
        self._faults = (package.small, package.large)
        self._desk = desk
        self.seen: list[list[tuple[str, bool]]] = []
        self.most_processes = 0

    def __call__(self, body: dict[str, Any], number: int) -> WireTurn:
        self.most_processes = max(self.most_processes, len(started_for(self._desk.root)))
        self.seen.append(last_results(body))
        match number:
            case 1:
                return self._look()
            case 2:
                return self._read()
            case 3:
                return self._edit()
            case 4:
                return Reply(self._tests())
            case _:
                return Reply(say("Both files are repaired; the tests pass."))

    def _tests(self) -> Any:
        return call("Bash", f"run_{len(self.seen)}", command=self._package.test_command(*self._faults))

    def _look(self) -> Reply:
        names = [
            call("Glob", f"glob_{i}", pattern=f"**/{Path(f.path).name}") for i, f in enumerate(self._faults)
        ]
        places = [
            call("Grep", f"grep_{i}", pattern=fault.pattern, path=self._package.source, glob=Path(fault.path).name, output_mode="content", **{"-n": True})
            for i, fault in enumerate(self._faults)
        ]  # fmt: skip
        return Reply(say("I look for the places and run the tests."), *names, *places, self._tests())

    def _read(self) -> Reply:
        found = [text for text, _ in self.seen[-1]][2:4]
        return Reply(*(read_call(i, *place_in(text)) for i, text in enumerate(found)))

    def _edit(self) -> Reply:
        small, large = self._faults
        ((right, wrong),) = small.edits
        changes = [{"old_string": wrong, "new_string": right} for right, wrong in large.edits]
        return Reply(
            call("Edit", "edit", file_path=small.path, old_string=wrong, new_string=right),
            call("MultiEdit", "edits", file_path=large.path, edits=changes),
        )


def place_in(grepped: str) -> tuple[str, int]:
    """Path and line number of the first match, as Grep writes them: the path, then a line for each match."""
    found = re.search(r"^(\S+\.py)\n(\d+):", grepped, re.MULTILINE)
    assert found is not None, grepped
    return found[1], int(found[2])


def read_call(number: int, path: str, line: int) -> Any:
    first = max(1, line - AROUND_LINES)
    return call("Read", f"read_{number}", file_path=path, offset=first, limit=8 * AROUND_LINES)


def last_results(body: dict[str, Any]) -> list[tuple[str, bool]]:
    """Text of each result in the last message, and whether it is an error."""
    blocks: list[dict[str, Any]] = body["messages"][-1]["content"]
    return [
        (text_of(block["content"]), bool(block.get("is_error")))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def started_for(root: Path) -> Sequence[int]:
    """Processes with this test's mark in their environment, which every child inherits."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"STARTED_FOR={root}".encode() in variables:
                found.append(int(folder.name))
    return found


def wait_until_gone(root: Path) -> None:
    until_s = time.monotonic() + GONE_WITHIN_S
    while left := started_for(root):
        assert time.monotonic() < until_s, left
        time.sleep(0.01)  # ruff: ignore[banned-api] - the end of another process, looked for in /proc


def test_a_real_package_is_repaired_and_its_own_tests_pass(package: Package, desk: Desk):
    shipped = digests(desk.work)
    faults: tuple[Fault, Fault] = (package.small, package.large)
    broken(desk.work, *faults)
    assert {name for name, digest in digests(desk.work).items() if shipped[name] != digest} == {
        fault.path for fault in faults
    }
    repairer = Repairer(package, desk)
    with StrictServer(script=repairer) as server:
        desk.url = server.url
        ended = desk.run(
            "-p",
            f"`{package.test_command(*faults)}` fails. Repair the package.",
            "--permission-mode",
            "acceptEdits",
            "--allowed-tools",
            "Bash(python -m pytest:*)",
            "--model",
            "claude-sonnet-4-5",
            timeout_s=240,
        )
        server.assert_clean()
    assert (ended.code, ended.err) == (0, "")
    assert digests(desk.work) == shipped
    _, looked, read, edited, ran = repairer.seen
    assert [is_error for _, is_error in looked] == [False, False, False, False, True]
    assert all(fault.path in text for fault, (text, _) in zip(faults, looked[:2], strict=True))
    assert " failed" in looked[4][0]
    assert all(fault.edits[0][1] in text for fault, (text, _) in zip(faults, read, strict=True))
    assert [is_error for _, is_error in (*read, *edited, *ran)] == [False] * 5
    assert " passed" in ran[0][0]
    assert " failed" not in ran[0][0]
    assert repairer.most_processes > 0
    wait_until_gone(desk.root)
    left = {path.name for path in (desk.root / "temporary").iterdir()}
    assert left <= {f"pytest-of-{getpass.getuser()}"}  # the packages' tests keep theirs
