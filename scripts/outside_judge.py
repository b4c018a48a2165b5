"""An outside judge of how ostinato meets a failing server: `llmock` breaks the server and says whether the client reacted well.

Only faults that strike before the first complete block are judged as pairs: after it, what was done may have to stay, which the
judge cannot know.
"""

import argparse
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import anyio
import httpx2
from anyio import to_thread

import ostinato
from ostinato.events import Terminal
from ostinato.testing import answers, fake_tool

Fault = dict[str, Any]

START_S: Final = 30.0
PLAY_S: Final = 300.0
SERVERS: Final = 8

WIRES: Final = {
    "anthropic": "anthropic/claude-sonnet-4-5",
    "chat": "openai/gpt-4.1",
    "responses": "openai/gpt-5",
}


def failing(status: int, **more: Any) -> Fault:
    return {"type": "fail", "status": status, **more}


def streaming(kind: str, after_chunks: int) -> Fault:
    """The stall outlasts our idle limit, which is set to one second for the judge."""
    fault: Fault = {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks}
    return {**fault, "stall_seconds": 4} if kind == "stall" else fault


PASSING: Final[tuple[Fault, ...]] = (
    *(failing(status) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
    failing(429, retry_after=0.6),
    failing(503, retry_after=1.2),
    *(
        streaming(kind, after_chunks)
        for kind in ("disconnect", "truncate", "malformed", "stall")
        for after_chunks in (0, 1, 2)
    ),
    {"type": "slow_first_token", "seconds": 0.4},
    {"type": "delay", "seconds": 0.4},
)
"""What a client must survive."""

LASTING: Final[tuple[Fault, ...]] = (
    *(failing(status) for status in (400, 401, 403, 404, 413, 422)),
    failing(400, code="context_length_exceeded", message="This model's maximum context length was exceeded."),
    {"type": "tool_fault", "kind": "malformed_arguments"},
    {"type": "tool_fault", "kind": "unknown_tool"},
    {"type": "reply", "text": "part", "finish_reason": "max_tokens"},
    {"type": "reply", "text": "no", "finish_reason": "refusal"},
)
"""What a client must not try again, or must answer in another way than by trying again."""

OUTAGE: Final = failing(503, times=None)


@dataclass(frozen=True, slots=True)
class Judged:
    """`passed` is the judge's word; `terminal` is how our query ended; `report` is what the judge wrote."""

    wire: str
    faults: tuple[Fault, ...]
    passed: bool
    terminal: Terminal | None
    report: str

    @property
    def is_good(self) -> bool:
        """The judge is content, and what only passes by was survived."""
        must_end_well = all(fault in PASSING for fault in self.faults)
        reason = None if self.terminal is None else self.terminal.reason
        return self.passed and reason is not None and (not must_end_well or reason == "completed")


@contextmanager
def judge_server() -> Generator[str]:
    """A judge of its own process on this machine; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "llmock.cli", "serve", "--host", "127.0.0.1", "--port", port]
    url = f"http://127.0.0.1:{port}"
    quiet = [*command, "--log-level", "error"]
    with subprocess.Popen(quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_until_up(url, server)
            yield url
        finally:
            server.terminate()


def _wait_until_up(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + START_S
    while True:
        try:
            httpx2.get(f"{url}/_llmock/verdict")
        except httpx2.TransportError:
            if time.monotonic() > deadline_s:
                raise
            with suppress(subprocess.TimeoutExpired):
                server.wait(0.05)
        else:
            return


async def judged(url: str, wire: str, faults: Sequence[Fault], *, max_retries: str = "") -> Judged:
    """One query against these faults, and the verdict."""
    async with httpx2.AsyncClient(base_url=f"{url}/_llmock", timeout=20) as judge:
        await judge.post("/reset")
        await judge.post("/scenario", json={"behaviors": list(faults)})
        terminal: Terminal | None = None
        with anyio.move_on_after(PLAY_S):
            terminal = await _played(url, wire, max_retries)
        verdict = (await judge.get("/verdict")).json()
        report = (await judge.get("/verdict", params={"format": "text"})).text
    return Judged(wire, tuple(faults), bool(verdict["passed"]), terminal, report)


async def _played(url: str, wire: str, max_retries: str) -> Terminal | None:
    environment = {
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": f"{url}/anthropic",
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OSTINATO_IDLE_TIMEOUT_S": "1",
        "OSTINATO_MAX_RETRIES": max_retries,
    }
    last = None
    with tempfile.TemporaryDirectory() as folder:
        async for event in ostinato.query(
            "go",
            cwd=folder,
            model=WIRES[wire],
            tools=[fake_tool("Look", answers("42"), is_read_only=True)],
            environment={**environment, "HOME": folder},
            permission_mode="bypassPermissions",
            keep_session=False,
            max_turns=6,
        ):
            last = event
    return last if isinstance(last, Terminal) else None


def report_code(url: str) -> int:
    """What the judge's own command says of everything since its last reset."""
    return subprocess.run(
        [sys.executable, "-m", "llmock.cli", "report", "--url", url], capture_output=True, check=False
    ).returncode


def random_pairs(count: int, seed: int) -> list[tuple[str, tuple[Fault, ...]]]:
    dice = random.Random(seed)
    return [(dice.choice(list(WIRES)), (dice.choice(PASSING), dice.choice(PASSING))) for _ in range(count)]


async def all_judged(cases: Sequence[tuple[str, tuple[Fault, ...]]], urls: Sequence[str]) -> list[Judged]:
    """Every case, as many at once as there are judges."""
    waiting, found = list(reversed(cases)), list[Judged]()

    async def work(url: str) -> None:
        while waiting:
            wire, faults = waiting.pop()
            found.append(await judged(url, wire, faults))
            print("." if found[-1].is_good else "F", end="", flush=True)

    async with anyio.create_task_group() as tasks:
        for url in urls:
            tasks.start_soon(work, url)
    return found


async def _main(pairs: int, seed: int, urls: Sequence[str]) -> int:
    singles = [(wire, (fault,)) for wire in WIRES for fault in (*PASSING, *LASTING, OUTAGE)]
    found = await all_judged([*singles, *random_pairs(pairs, seed)], urls)
    bad = [one for one in found if not one.is_good]
    print(
        f"\n{len(found) - len(bad)} of {len(found)} cases are good ({len(singles)} single faults, {pairs} pairs)"
    )
    for one in bad:
        print(f"\n{one.wire} {list(one.faults)}: {one.terminal and one.terminal.reason}\n{one.report}")
    codes = [await to_thread.run_sync(partial(report_code, url)) for url in urls]
    print(f"`llmock report` at the end: exit codes {codes}")
    return 1 if bad or any(codes) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with ExitStack() as stack:
        urls = [stack.enter_context(judge_server()) for _ in range(SERVERS)]
        return anyio.run(_main, given.pairs, given.seed, urls)


if __name__ == "__main__":
    sys.exit(main())
