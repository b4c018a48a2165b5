"""What became of a child process: data only; `sandbox/process.py` starts and ends them."""

from pathlib import Path

import msgspec


class ProcessResult(msgspec.Struct, frozen=True):
    """A child that is gone, its tree with it if we ended it.

    `exit_code` is None when we killed it. `output` is head and tail of what it wrote with a marked gap; `stderr` is
    filled only when asked for apart. `spill_path` keeps the whole output when it was cut. Durations are in seconds of a
    monotonic clock.
    """

    exit_code: int | None
    output: str
    stderr: str
    total_bytes: int
    spill_path: Path | None
    timed_out: bool
    duration_s: float
