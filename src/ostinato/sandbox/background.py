"""Commands that run beside the conversation: started at once, heard by a thread each, ended with their trees.

They need no event loop: what they print is kept while nobody looks, and their end is known when somebody asks.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ostinato.errors import UsageError
from ostinato.processes import BackgroundFacts, BackgroundOutput, background_task_id
from ostinato.sandbox.run_group import RunGroup
from ostinato.told_from_threads import told_from_threads

if TYPE_CHECKING:
    from ostinato.sandbox.background_process import BackgroundProcess
    from ostinato.sandbox.output import Begun
    from ostinato.sandbox.start import Child

MAX_RUNNING: Final = 16
MAX_REMEMBERED: Final = 64
"""With those that have ended; the oldest of them are forgotten first, their output files stay."""

GRACE_S: Final = 1.0
"""Between SIGTERM and SIGKILL, and then for the last output to be taken."""

FIRST_LOOK_S: Final = 0.005
SLOWEST_LOOK_S: Final = 0.05


class BackgroundProcesses:
    """Implements the `Background` port. `group` is shared with the commands that are waited for; `is_apart` gives it process ids of
    its own, where that is allowed.

    `on_end` hears of each command that ended by itself, in the event loop in which it was started.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        spill_dir: Path | None,
        on_end: Callable[[BackgroundFacts], None] | None = None,
        *,
        is_apart: bool = False,
    ) -> None:
        self.group = RunGroup(is_apart=is_apart)
        self._env = env
        self._spill_dir = spill_dir
        self._by_id: dict[str, BackgroundProcess] = {}
        self._on_end = on_end
        self._is_closed = False

    def start(self, command: str, *, folder: Path, call_id: str) -> BackgroundFacts:
        from ostinato.sandbox.background_process import BackgroundProcess  # ruff: ignore[import-outside-top-level] - loads with a first command
        from ostinato.sandbox.output_log import OutputLog  # ruff: ignore[import-outside-top-level] - as above
        from ostinato.sandbox.start import start_child  # ruff: ignore[import-outside-top-level] - as above

        task_id = self._free_id(call_id)
        child = start_child(
            ("bash", "-c", command), cwd=folder, env=self._env, group=self.group, is_apart=True
        )
        log = OutputLog.in_folder(self._spill_dir)
        return self._follow(BackgroundProcess(task_id, command, child, log, self._tell_end()))

    def take_over(
        self,
        command: str,
        child: "Child",
        take_output: "Callable[[], Begun]",
        *,
        call_id: str,
        started_s: float,
    ) -> BackgroundFacts:
        """A command of the group that was waited for until now. Raises UsageError, with nothing changed, when too many run already."""
        from ostinato.sandbox.background_process import BackgroundProcess  # ruff: ignore[import-outside-top-level] - as above
        from ostinato.sandbox.output_log import OutputLog  # ruff: ignore[import-outside-top-level] - as above

        task_id = self._free_id(call_id)
        log = OutputLog(take_output())
        return self._follow(
            BackgroundProcess(task_id, command, child, log, self._tell_end(), started_s=started_s)
        )

    def _free_id(self, call_id: str) -> str:
        if self._is_closed:
            raise UsageError("the conversation has ended: nothing more is started in the background")
        running = [task_id for task_id, one in self._by_id.items() if one.state == "running"]
        if len(running) >= MAX_RUNNING:
            raise UsageError(
                f"{len(running)} commands run in the background already, and no more are allowed",
                hint=f"stop one that is not needed: {', '.join(running)}",
            )
        task_id = background_task_id(call_id)
        if task_id in self._by_id:
            raise UsageError(f"there is a background command `{task_id}` already", hint="call again")
        return task_id

    def _follow(self, process: "BackgroundProcess") -> BackgroundFacts:
        self._by_id[process.task_id] = process
        self._forget_oldest()
        process.follow()
        return process.facts()

    def all(self) -> Sequence[BackgroundFacts]:
        return [process.facts() for process in self._by_id.values()]

    def read(self, task_id: str, *, offset: int | None, max_bytes: int) -> BackgroundOutput:
        return self._get(task_id).read(offset, max_bytes)

    async def wait(self, task_id: str, up_to_s: float) -> None:
        await _until_ended((self._get(task_id),), up_to_s)

    async def stop(self, task_id: str) -> BackgroundFacts:
        process = self._get(task_id)
        if process.state == "running":
            try:
                process.terminate()
                await _until_ended((process,), GRACE_S)
            finally:
                process.kill()
            with anyio.move_on_after(GRACE_S, shield=True):
                await _until_ended((process,), GRACE_S)
        process.is_end_known = process.state != "running"
        return process.facts()

    async def aclose(self) -> None:
        self._is_closed = True
        running = [process for process in self._by_id.values() if process.state == "running"]
        for process in running:
            process.is_stopped = True
        try:
            await self.group.end()
        finally:
            for process in running:
                process.kill_group()
        if not self._by_id:
            return
        with anyio.move_on_after(GRACE_S, shield=True):
            while any(process.is_followed for process in self._by_id.values()):  # ruff: ignore[async-busy-wait] - threads tell no event
                await anyio.sleep(FIRST_LOOK_S)

    def _tell_end(self) -> Callable[[BackgroundFacts], None] | None:
        """To be called in another thread."""
        return None if self._on_end is None else told_from_threads(self._on_end)

    def _get(self, task_id: str) -> "BackgroundProcess":
        found = self._by_id.get(task_id)
        if found is not None:
            return found
        known = ", ".join(self._by_id) or "none"
        raise UsageError(
            f"there is no background command `{task_id}`",
            hint=f"there are now: {known}; those of an earlier run of the conversation ended with it",
        )

    def _forget_oldest(self) -> None:
        ended = [
            task_id for task_id, one in self._by_id.items() if one.state != "running" and not one.is_followed
        ]
        for task_id in ended[: max(0, len(self._by_id) - MAX_REMEMBERED)]:
            del self._by_id[task_id]


async def _until_ended(processes: "Sequence[BackgroundProcess]", up_to_s: float) -> None:
    until_s, pause_s = time.monotonic() + up_to_s, FIRST_LOOK_S
    while any(process.state == "running" for process in processes):
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return
        await anyio.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, SLOWEST_LOOK_S)
