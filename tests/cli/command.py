"""The installed command as a real process: an environment with nothing in it but what a test gives, a home of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

COMMAND = str(Path(sys.executable).parent / "ostinato")
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines; every line must be one."""
        return [msgspec.json.decode(line, type=dict[str, Any]) for line in self.out.splitlines()]


@dataclass
class Desk:
    """A home, a folder to work in, and the address of a server."""

    root: Path
    url: str = "http://127.0.0.1:1"
    extra: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def sessions(self) -> list[Path]:
        return sorted(self.home.glob(".ostinato/projects/*/*.jsonl"))

    def environment(self, **changes: str | None) -> dict[str, str]:
        """Changes with the value None take a variable away."""
        given: Mapping[str, str | None] = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "x",
            "OSTINATO_MAX_RETRIES": "0",
            "PYTHONPATH": os.environ.get(
                "PYTHONPATH"
            ),  # the tree under test, where that is not the installed one
            **self.extra,
            **changes,
        }
        return {name: value for name, value in given.items() if value is not None}

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        environment: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Ended:
        """Run to the end; standard input is empty unless given."""
        ended = subprocess.run(
            [COMMAND, *arguments],
            cwd=self.work,
            env=self.environment() if environment is None else environment,
            input=stdin or b"",
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode())

    def shell(self, script: str, timeout_s: float = TIMEOUT_S) -> Ended:
        """Run a bash script in which `$CMD` is the command; the code is the one of the whole script."""
        ended = subprocess.run(
            ["bash", "-c", script],
            cwd=self.work,
            env=self.environment(CMD=COMMAND),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode())

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.work,
            env=self.environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )


def finish(process: subprocess.Popen[bytes], timeout_s: float = TIMEOUT_S) -> Ended:
    """Wait for a started command; kill it if it hangs."""
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the command hangs; it said {out!r} and {err!r}") from None
    return Ended(process.returncode, out, err.decode())


def wait_for(condition: Any, timeout_s: float = TIMEOUT_S) -> None:
    """Poll until the condition holds."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError("waited in vain")
        time.sleep(0.01)  # ruff: ignore[banned-api] - another process is polled


def prompts_of(body: Mapping[str, Any]) -> Sequence[str]:
    """The texts of the user messages in a request of the Messages wire."""
    texts: list[str] = []
    for message in body["messages"]:
        if message["role"] == "user":
            content: Any = message["content"]
            texts += (
                [content]
                if isinstance(content, str)
                else [part["text"] for part in content if "text" in part]
            )
    return texts
