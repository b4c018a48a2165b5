"""What became of a child process: data only; `sandbox/` starts and ends them."""

from pathlib import Path
from typing import Literal

import msgspec

BackgroundState = Literal["running", "exited", "stopped"]


class BackgroundFacts(msgspec.Struct, frozen=True):
    """A command in the background, as it is now. `exit_code` is None while it runs, and when it was stopped.

    `output_path` is the file that holds its output, None where it is not kept. `is_end_known`: the model has read of its end.
    """

    task_id: str
    command: str
    state: BackgroundState
    exit_code: int | None
    total_bytes: int
    output_path: Path | None
    duration_s: float
    is_end_known: bool = False


class ProcessResult(msgspec.Struct, frozen=True):
    """A child that is gone, its tree with it if we ended it; with `moved` it goes on in the background, and this is how far it was.

    `exit_code` is None when we killed it. `output` is head and tail of what it wrote with a marked gap; `stderr` is
    filled only when asked for apart. `spill_path` keeps the whole output when it was cut, or its first `spilled_bytes`. Durations are in seconds of a
    monotonic clock. `folder_note` says, of a shell, what became of the folder in which commands start.
    """

    exit_code: int | None
    output: str
    stderr: str
    total_bytes: int
    spill_path: Path | None
    timed_out: bool
    duration_s: float
    folder_note: str = ""
    spilled_bytes: int = 0
    moved: BackgroundFacts | None = None


class BackgroundOutput(msgspec.Struct, frozen=True):
    """Its output from byte `start` to byte `end`. `lost_bytes` before that were asked for and not kept.

    `unfinished_line` is what follows it without a line end yet: a progress bar as it looks now, a question.
    """

    text: str
    start: int
    end: int
    lost_bytes: int
    facts: BackgroundFacts
    unfinished_line: str = ""


def background_task_id(call_id: str) -> str:
    """What the command that this call starts is called; a replay and a resumed conversation come to the same."""
    import hashlib  # ruff: ignore[import-outside-top-level] - not needed on the way to a first request

    return f"bash_{hashlib.sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:8]}"
