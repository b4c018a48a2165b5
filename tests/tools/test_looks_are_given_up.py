"""Looking at a file may take for ever (a share that is gone); whoever waits for a tool's look can stop waiting, and so can an abort."""

import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.tools.file_changers import CHANGERS, Changer
from tests.tools.test_access_of_every_tool import TOOLS

from ostinato.testing import FakeWorkspace, tool_context
from ostinato.tool import LookAhead

MAX_WAIT_S = 2.0
"""What a thread waits that nobody gives up, so that a test fails and does not hang."""


class Share:
    """What looks at it off the loop's thread waits until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.is_back = threading.Event()
        self.was_waited_for = False
        self._loop_thread = threading.get_ident()

    def wait(self) -> None:
        if threading.get_ident() != self._loop_thread:
            self.reached.set()
            self.was_waited_for = not self.is_back.wait(MAX_WAIT_S)


class PathOnIt(type(Path())):
    share: Share

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        self.share.wait()
        return super().stat(follow_symlinks=follow_symlinks)


class WorkspaceOnIt(FakeWorkspace):
    def __init__(self, root: Path, share: Share) -> None:
        super().__init__(root)
        self._share = share

    def resolve(self, path: str) -> Path:
        found = PathOnIt(super().resolve(path))
        found.share = self._share
        return found


@pytest.mark.parametrize("changer", CHANGERS, ids=lambda changer: changer.tool)
async def test_a_look_at_what_gives_no_answer_is_given_up(tmp_path: Path, changer: Changer):
    (tmp_path / changer.file).write_text(changer.before)
    share = Share()
    around = tool_context(workspace=WorkspaceOnIt(tmp_path, share))
    look = TOOLS[changer.tool].cannot_succeed
    assert look is not None

    async def waits(look: LookAhead = look) -> None:
        await look(changer.call(), around)

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waits)
            while not share.reached.is_set():
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert not share.was_waited_for
    finally:
        share.is_back.set()
