"""Commands run on machines where things are missing: the locale, a home, a folder for temporary files, a terminal, a person."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ostinato.processes import ProcessResult
from ostinato.sandbox.environment import UNATTENDED, child_environment
from ostinato.sandbox.workspace import LocalWorkspace

pytestmark = pytest.mark.process

PROGRAM = """
import anyio, os, sys, tempfile
from pathlib import Path
from ostinato.sandbox.workspace import LocalWorkspace
tempfile.tempdir = "/none/at/all"
async def main():
    here = Path(sys.argv[1])
    workspace = LocalWorkspace(here, (here,), spill_dir=Path("/proc/none/spill"))
    said = await workspace.run_shell("echo 'é€😀'; echo \\"[$HOME]\\"; cat; seq 20000 | tail -c 40000", timeout_s=20)
    given = await workspace.run(("wc", "-c"), timeout_s=20, stdin=b"x" * 100_000)
    sys.stdout.buffer.write(ascii((said.exit_code, said.output[:200], said.spill_path, given.output.strip())).encode())
anyio.run(main)
"""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "no_such.LOCALE", ""])
@pytest.mark.skipif(sys.platform != "linux", reason="a file in memory stands in for a temporary one")
def test_without_locale_home_and_temporary_files_output_is_what_was_printed(tmp_path: Path, locale: str):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": locale, "TMPDIR": "/none/at/all"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("(0, ")
    assert ascii("é€😀\n[]\n")[1:-1] in done.stdout  # bash itself may first complain about the locale
    assert done.stdout.endswith("None, '100000')")


async def run(tmp_path: Path, command: str) -> ProcessResult:
    workspace = LocalWorkspace(tmp_path, (tmp_path,), child_environment(os.environ))
    return await workspace.run_shell(command, timeout_s=20)


@pytest.mark.parametrize(
    "command",
    [
        "exec 3</dev/tty",
        "python3 -c 'import getpass; getpass.getpass()'",
        "python3 -c 'input()'",
        "read answer",
        "ssh -o ConnectTimeout=1 -o StrictHostKeyChecking=ask nobody@127.0.0.1 true",
        "su nobody -s /bin/sh -c 'read x' </dev/tty",
        "git -c core.pager=less -c credential.helper= clone -q https://user@127.0.0.1:1/x y",
        "select x in a b; do echo $x; done; false",
    ],
)
async def test_whoever_would_ask_a_person_fails_at_once(tmp_path: Path, command: str):
    result = await run(tmp_path, command)
    assert not result.timed_out
    assert result.exit_code != 0
    assert result.duration_s < 5


async def test_nobody_is_told_to_open_a_pager_or_an_editor(tmp_path: Path):
    result = await run(tmp_path, "env")
    lines = [line.split("=", 1) for line in result.output.splitlines() if "=" in line]
    seen = {line[0]: line[1] for line in lines}
    assert UNATTENDED.items() <= seen.items()
    assert {seen[name] for name in seen if name.endswith("PAGER")} == {"cat"}


async def test_bytes_that_are_no_text_are_shown_as_such_and_numbers_stay_true(tmp_path: Path):
    result = await run(tmp_path, r"printf 'a\377\300\257b\000c\355\240\200\n'; printf '\360\237\230'")
    assert result.output.count("\N{REPLACEMENT CHARACTER}") >= 3
    assert "b\0c" in result.output
    assert result.total_bytes == 14
    result.output.encode()
