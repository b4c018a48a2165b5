"""Where the kernel has no pidfd, looking again and again gives the same answers."""

import os
import subprocess
from collections.abc import Sequence

import anyio
import pytest

from ostinato.sandbox.exit_watch import PollingWatch

pytestmark = pytest.mark.process


def start(argv: Sequence[str], output: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=output)


async def test_polling_sees_output_then_exit():
    reader, writer = os.pipe()
    process = start(["sh", "-c", "echo hi; read x"], writer)
    os.close(writer)
    watch = PollingWatch(process, [reader])
    with anyio.fail_after(10):
        while reader not in await watch.wait(60):
            assert not watch.has_exited
        assert os.read(reader, 100) == b"hi\n"
        assert process.stdin is not None
        process.stdin.close()
        while not watch.has_exited:
            await watch.wait(60)
    assert process.returncode is not None
    watch.forget(reader)
    watch.close()
    os.close(reader)


async def test_polling_waits_no_longer_than_told():
    process = start(["sleep", "60"])
    try:
        watch = PollingWatch(process, [])
        with anyio.fail_after(5):
            assert await watch.wait(0.01) == []
        assert not watch.has_exited
    finally:
        process.kill()
        process.communicate()
