"""A search knows what it cannot tell: doubts that never end would make it look a hundred times for nothing."""

import os
import sys
import uuid
from pathlib import Path

import pytest

from ostinato.sandbox.process_tree import KERNEL_THREAD, ProcessTree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are searched in /proc")


def kernel_threads() -> set[int]:
    """None are visible in most containers."""
    found: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[6]) & KERNEL_THREAD:
            found.add(int(name))
    return found


def test_a_search_of_everything_since_boot_has_no_doubt_about_the_kernels_own_threads():
    before = kernel_threads()
    if not before:
        pytest.skip("no thread of the kernel is visible here")
    search = ProcessTree(leader=0, token=uuid.uuid4().hex, family=1).search()
    still_there = before & kernel_threads()
    assert not search.unclear & still_there
    assert not {entry.pid for entry in search.members} & still_there
