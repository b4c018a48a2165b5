"""What holds for every tool that changes or reads files, tested with each of them."""

import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.tools.file_changers import CHANGERS, Changer
from tests.tools.tool_folder import RacedWorkspace, ToolFolder

from ostinato.sandbox.workspace import LocalWorkspace
from ostinato.testing.memory_files import MemoryFiles
from ostinato.testing.tool_contexts import tool_context
from ostinato.tool import Access, ToolOutcome
from ostinato.tools.existing_file import MAX_CHANGED_BYTES

every_changer = pytest.mark.parametrize("changer", CHANGERS, ids=lambda changer: changer.tool)


async def seen(folder: ToolFolder, changer: Changer, data: bytes | None = None) -> Path:
    path = folder.put(changer.file, changer.before.encode() if data is None else data)
    await folder.call("Read", file_path=changer.file)
    return path


async def changed(folder: ToolFolder, changer: Changer, path: str | None = None) -> None:
    await folder.text(changer.tool, **changer.call(path))


async def refused(folder: ToolFolder, changer: Changer, path: str | None = None) -> str:
    return await folder.refused(changer.tool, **changer.call(path))


# ------------------------------------------------------------------------------------------------------ the right to change


@every_changer
async def test_a_file_not_read_is_not_changed(folder: ToolFolder, changer: Changer):
    folder.put(changer.file, changer.before)
    assert "Read it first" in await refused(folder, changer)


@every_changer
async def test_a_file_changed_since_is_not_changed_even_with_its_times_and_size_kept(
    folder: ToolFolder, changer: Changer
):
    path = await seen(folder, changer)
    facts = path.stat()
    path.write_text(changer.before.replace("word", "WORD"))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert "again" in await refused(folder, changer)


@every_changer
@pytest.mark.parametrize("shift_s", [3600, -3600])
async def test_a_touched_but_equal_file_is_changed(folder: ToolFolder, changer: Changer, shift_s: int):
    path = await seen(folder, changer)
    time_s = path.stat().st_mtime + shift_s
    os.utime(path, (time_s, time_s))
    await changed(folder, changer)
    assert path.read_text() == changer.after


@every_changer
async def test_a_file_replaced_by_an_equal_one_is_changed(folder: ToolFolder, changer: Changer):
    path = await seen(folder, changer)
    path.unlink()
    path.write_text(changer.before)
    await changed(folder, changer)
    assert path.read_text() == changer.after


@every_changer
async def test_a_file_that_is_gone_is_not_made_again(folder: ToolFolder, changer: Changer):
    if changer.tool == "Write":
        return  # it makes files
    (await seen(folder, changer)).unlink()
    await refused(folder, changer)


@every_changer
async def test_a_change_at_the_last_moment_loses_nothing(tmp_path: Path, changer: Changer):
    folder = ToolFolder(tmp_path, RacedWorkspace(tmp_path, b"theirs"))
    await seen(folder, changer)
    outcome = await folder.call(changer.tool, **changer.call())
    assert outcome.is_error
    assert folder.bytes_of(changer.file) == b"theirs"


class BothLookFirst(LocalWorkspace, frozen=True):
    """Nobody writes before two have looked at the file and are about to write."""

    waiting: list[Path] = msgspec.field(default_factory=list[Path])
    both: anyio.Event = msgspec.field(default_factory=anyio.Event)

    async def replace_file(
        self,
        path: Path,
        data: bytes,
        *,
        expected: str | None = None,
        before: bytes | None = None,
        data_hash: str | None = None,
    ) -> str:
        self.waiting.append(path)
        if len(self.waiting) == 2:
            self.both.set()
        with anyio.fail_after(5):
            await self.both.wait()
        return await super().replace_file(path, data, expected=expected, before=before, data_hash=data_hash)


@every_changer
async def test_of_two_at_once_one_is_told_to_read_again(tmp_path: Path, changer: Changer):
    """Different texts, so that a lost update shows: what is said to be written is there, and nothing of the other."""
    root = ToolFolder(tmp_path).path
    folder = ToolFolder(root, BothLookFirst(root, (root,)))
    await seen(folder, changer)
    outcomes: dict[str, ToolOutcome] = {}

    async def change(new: str) -> None:
        outcomes[new] = await folder.call(changer.tool, **changer.call(new=new))

    async with anyio.create_task_group() as group:
        for new in ("a first", "a second"):
            group.start_soon(change, new)
    ((written, _),) = ((new, outcome) for new, outcome in outcomes.items() if not outcome.is_error)
    ((_, refused),) = ((new, outcome) for new, outcome in outcomes.items() if outcome.is_error)
    assert "again" in str(refused.content)
    assert folder.bytes_of(changer.file).decode() == changer.after_with(written)
    assert os.listdir(folder.path) == [changer.file]


@every_changer
async def test_the_next_change_needs_no_new_read(folder: ToolFolder, changer: Changer):
    await seen(folder, changer)
    await changed(folder, changer)
    path = folder.path / changer.file
    path.write_text(changer.after)  # equal
    back = await folder.call("Write", file_path=changer.file, content=changer.before)
    assert not back.is_error
    assert path.read_text() == changer.before


# ---------------------------------------------------------------------------------------------------- what a file stays


@every_changer
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
async def test_mark_and_line_ends_stay(folder: ToolFolder, changer: Changer, bom: bytes, end: str):
    await seen(folder, changer, bom + changer.before.replace("\n", end).encode())
    await changed(folder, changer)
    assert folder.bytes_of(changer.file) == bom + changer.after.replace("\n", end).encode()


@every_changer
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
async def test_wide_encodings_stay(folder: ToolFolder, changer: Changer, encoding: str):
    await seen(folder, changer, f"\ufeff{changer.before}".encode(encoding))
    await changed(folder, changer)
    assert folder.bytes_of(changer.file) == f"\ufeff{changer.after}".encode(encoding)


@every_changer
async def test_stray_bytes_stay(folder: ToolFolder, changer: Changer):
    if changer.tool == "Write":
        return  # every byte is new
    stray = b"l\xc3\xa4st\xff\xfe"
    await seen(folder, changer, changer.before.encode().replace(b"last", stray))
    await changed(folder, changer)
    assert folder.bytes_of(changer.file) == changer.after.encode().replace(b"last", stray)


@every_changer
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
async def test_the_mode_stays(folder: ToolFolder, changer: Changer, mode: int):
    path = await seen(folder, changer)
    path.chmod(mode)
    await changed(folder, changer)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@every_changer
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_the_owner_stays(folder: ToolFolder, changer: Changer):
    path = await seen(folder, changer)
    os.chown(path, 12345, 54321)
    await changed(folder, changer)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@every_changer
async def test_a_link_stays_a_link(folder: ToolFolder, changer: Changer):
    real = folder.put(f"real/{changer.file}", changer.before)
    link = folder.path / changer.file
    link.symlink_to(real)
    await folder.call("Read", file_path=changer.file)
    await changed(folder, changer)
    assert link.is_symlink()
    assert real.read_text() == changer.after
    assert os.listdir(real.parent) == [changer.file]


@every_changer
async def test_hard_links_stay_together(folder: ToolFolder, changer: Changer):
    path = await seen(folder, changer)
    other = folder.path / "other"
    other.hardlink_to(path)
    await changed(folder, changer)
    assert other.read_text() == changer.after
    assert other.samefile(path)


@every_changer
async def test_nothing_is_left_beside_it_and_readers_keep_what_they_opened(
    folder: ToolFolder, changer: Changer
):
    path = await seen(folder, changer)
    with path.open() as reader:
        await changed(folder, changer)
        assert reader.read() == changer.before
    assert os.listdir(folder.path) == [changer.file]


@every_changer
async def test_a_failed_change_leaves_nothing_either(folder: ToolFolder, changer: Changer):
    path = await seen(folder, changer)
    path.write_text("theirs")
    await refused(folder, changer)
    assert os.listdir(folder.path) == [changer.file]


@every_changer
def test_a_change_is_said_to_write_its_file_and_no_more(folder: ToolFolder, changer: Changer):
    tool = folder.tool(changer.tool)
    assert tool.access(changer.call("x/../f"), folder.workspace) == Access(writes=(folder.path / "f",))
    assert not tool.is_read_only(changer.call())


@every_changer
async def test_a_diff_is_shown(folder: ToolFolder, changer: Changer):
    await seen(folder, changer)
    outcome = await folder.call(changer.tool, **changer.call())
    assert outcome.display is not None
    assert outcome.display["path"] == changer.file
    assert "old word" in outcome.display["diff"]


# -------------------------------------------------------------------------------------------------- what is no text file


@every_changer
@pytest.mark.parametrize(
    ("data", "why"),
    [(b"abc\0def", "binary"), (b"PK\x03\x04rest", "zip"), (b"\xff\xfea\0b", "broken utf-16")],
)
async def test_what_is_no_text_is_refused_by_kind(
    folder: ToolFolder, changer: Changer, data: bytes, why: str
):
    path = folder.put(changer.file, data)
    await folder.call("Read", file_path=changer.file)
    if folder.seen(changer.file) is None:  # Read refused it; as if a mention had shown it
        folder.saw(path)
    assert why in (await refused(folder, changer)).lower()


@every_changer
async def test_a_file_too_large_to_be_changed_is_refused(folder: ToolFolder, changer: Changer):
    path = folder.put(changer.file, b"")
    os.truncate(path, MAX_CHANGED_BYTES + 1)
    folder.saw(path)
    outcome = await folder.call(changer.tool, **changer.call())
    assert outcome.is_error
    assert "larger" in str(outcome.content)


def reading_calls(path: str) -> dict[str, dict[str, Any]]:
    calls = {changer.tool: changer.call(path) for changer in CHANGERS}
    return calls | {
        "Read": {"file_path": path},
        "Grep": {"pattern": "a", "path": path},
        "Glob": {"pattern": "*", "path": path},
    }


def bind_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the address of a socket has room for 108 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(path.name)
    finally:
        os.chdir(here)


KINDS = ["FIFO", "socket", "device", "view", "link to a FIFO"]


@pytest.mark.parametrize("tool", reading_calls(""))
@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_no_regular_file_is_refused_at_once(folder: ToolFolder, tool: str, kind: str):
    path = folder.path / "special.ipynb"
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            bind_socket(path)
        case "device":
            path = Path("/dev/zero")
        case "view":
            path = Path("/proc/self/environ")
        case _:
            os.mkfifo(folder.path / "FIFO")
            path.symlink_to("FIFO")
    if tool == "NotebookEdit" and path.suffix != ".ipynb":
        path = folder.path / "link.ipynb"
        path.symlink_to("/dev/zero" if kind == "device" else "/proc/self/environ")
    begun = time.monotonic()
    text = await folder.refused(tool, **reading_calls(str(path))[tool])
    assert time.monotonic() - begun < 1.0
    assert kind.rpartition(" ")[2] in text or tool in {"Grep", "Glob", "NotebookEdit"}


@pytest.mark.parametrize("tool", ["Read", *(changer.tool for changer in CHANGERS)])
async def test_a_folder_is_no_file(folder: ToolFolder, tool: str):
    (folder.path / "d.ipynb").mkdir()
    assert "folder" in await folder.refused(tool, **reading_calls("d.ipynb")[tool])


@every_changer
@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become somebody else")
async def test_a_file_that_may_only_be_read_is_not_replaced(folder: ToolFolder, changer: Changer):
    path = await seen(folder, changer)
    folder.path.chmod(0o777)
    for above in folder.path.parents[:-2]:
        above.chmod(above.stat().st_mode | 0o055)
    path.chmod(0o444)
    os.seteuid(65534)
    try:
        outcome = await folder.call(changer.tool, **changer.call())
    finally:
        os.seteuid(0)
    assert outcome.is_error
    assert path.read_text() == changer.before


@every_changer
async def test_each_conversation_needs_its_own_read(folder: ToolFolder, changer: Changer):
    await seen(folder, changer)
    other = tool_context(workspace=folder.workspace, files=MemoryFiles())
    outcome = await folder.tool(changer.tool).call(changer.call(), other)
    assert isinstance(outcome, ToolOutcome)
    assert outcome.is_error
