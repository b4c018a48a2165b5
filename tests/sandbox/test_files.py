"""What cannot be written leaves what was there, also where a file has to be written in place."""

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostinato.sandbox.files import replace_regular_file
from ostinato.sandbox.regular_file import content_hash

OLD = b"what was there\n" * 100
ROOM = len(OLD) + 500


@contextmanager
def no_file_beyond(max_bytes: int) -> Generator[None, None, None]:
    """As on a disk that is full by then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "by its hash"])
@pytest.mark.parametrize("is_linked", [True, False], ids=["written in place", "replaced"])
def test_a_disk_that_is_full_halfway_leaves_the_old_content(
    tmp_path: Path, *, is_linked: bool, is_known: bool
):
    path = tmp_path.resolve() / "f"
    path.write_bytes(OLD)
    if is_linked:
        (tmp_path / "g").hardlink_to(path)
    names = sorted(tmp_path.iterdir())
    with no_file_beyond(ROOM), pytest.raises(OSError, match="large"):
        replace_regular_file(path, b"new" * 10_000, content_hash(OLD), OLD if is_known else None)
    assert path.read_bytes() == OLD
    assert sorted(tmp_path.iterdir()) == names
