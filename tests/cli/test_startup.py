"""The command starts fast: version and help load no engine, and the version next to nothing."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

RUN = "import sys; from ostinato.cli.main import run; sys.argv[1:] = {!r}; run(); print(*sys.modules, file=sys.stderr)"


def modules_after(*arguments: str) -> set[str]:
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:0] = {sys.path!r}; {RUN.format(list(arguments))}",
        ],
        capture_output=True,
        check=True,
    )
    return set(done.stderr.decode().split())


def test_the_version_loads_nothing_that_costs():
    loaded = modules_after("--version")
    assert not loaded & {"typing", "re", "click", "anyio", "msgspec", "logging", "asyncio"}


def test_help_loads_no_engine():
    loaded = modules_after("--help")
    assert "click" in loaded
    assert not loaded & {"anyio", "msgspec", "asyncio", "httpx2", "ostinato.events", "ostinato.engine"}
    assert "prompt_toolkit" not in loaded


def test_a_task_without_a_conversation_loads_no_line_editor():
    loaded = modules_after("-p", "hi", "--session-id", "not-one")
    assert "ostinato.cli.print_mode" in loaded
    assert "prompt_toolkit" not in loaded
