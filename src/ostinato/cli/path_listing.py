"""The files below the working folder, for completion: listed beside the editing, kept for a few seconds, bounded.

Ignore files hold. Whoever asks waits for the list; that they stop waiting does not stop it.
"""

from collections.abc import Callable
from typing import Final

import anyio
from anyio import to_thread

from ostinato.cli.path_matching import with_folders
from ostinato.ports import Workspace
from ostinato.tools.ripgrep import SearchFailed, run_ripgrep
from ostinato.visible_text import visible

FRESH_S: Final = 10.0
MAX_FILES: Final = 100_000


class PathListing:
    """`run` lists whenever somebody asks and the last list is old."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace
        self._paths: tuple[str, ...] = ()
        self._listed_s: float | None = None
        self._wanted = anyio.Event()
        self._listed = anyio.Event()

    async def paths(self) -> tuple[str, ...]:
        """Files and folders relative to the working folder; an old list at once, and a new one for the next who asks."""
        if self._listed_s is None or anyio.current_time() - self._listed_s > FRESH_S:
            self._wanted.set()
        if self._listed_s is None:
            await self._listed.wait()
        return self._paths

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            found = await run_ripgrep(("--files", "--sort=none"), self._workspace())
            if not isinstance(found, SearchFailed):
                self._paths = await to_thread.run_sync(_listed, found.output)
            self._listed_s = anyio.current_time()
            self._wanted = anyio.Event()
            self._listed.set()


def _listed(output: str) -> tuple[str, ...]:
    """Names that a terminal cannot show as they are would be completed to something else: they are left out."""
    names = (name.removeprefix("./") for name in output.split("\0")[:-1])
    files = [name for name in names if (name.isascii() and name.isprintable()) or visible(name) == name]
    return with_folders(files[:MAX_FILES])
