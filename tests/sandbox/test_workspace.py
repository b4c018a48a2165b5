"""What tools may rely on when they touch files: containment, identity, atomicity, no lost update."""

import os
import socket
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from ostinato.errors import StaleFile, UsageError
from ostinato.ports import Workspace
from ostinato.sandbox.files import content_hash, replace_regular_file
from ostinato.sandbox.workspace import LocalWorkspace


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    root = tmp_path / "abc"
    root.mkdir()
    return LocalWorkspace(cwd=root, roots=(root,))


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_it_is_a_workspace(workspace: LocalWorkspace):
    port: Workspace = workspace
    assert port.cwd == workspace.cwd


# ---------------------------------------------------------------------------------------------------------- containment


@pytest.mark.parametrize("path", ["f", "./f", "new/deep/f", "x/../f", "../abc/f", "..f", "a b\n"])
def test_paths_below_the_root_are_inside(workspace: LocalWorkspace, path: str):
    assert workspace.is_inside(workspace.resolve(path))


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../abc-evil/f",
        "{root}-evil/f",
        "{root}/../abc-evil/f",
        "./x/../../abc-evil/f",
        "/",
        "~",
        "/etc/passwd",
    ],
)
def test_paths_beside_the_root_are_outside(workspace: LocalWorkspace, path: str):
    assert not workspace.is_inside(workspace.resolve(path.format(root=workspace.cwd)))


def test_the_root_itself_is_inside(workspace: LocalWorkspace):
    assert workspace.is_inside(workspace.resolve("."))


def test_a_folder_link_that_leads_out_is_outside(workspace: LocalWorkspace, tmp_path: Path):
    (tmp_path / "OUT").mkdir()
    (workspace.cwd / "out").symlink_to(tmp_path / "OUT")
    resolved = workspace.resolve("out/new/x")
    assert resolved == tmp_path / "OUT/new/x"
    assert not workspace.is_inside(resolved)
    assert not workspace.is_inside(workspace.cwd / "out/new/x")


def test_a_link_within_the_root_is_inside(workspace: LocalWorkspace):
    (workspace.cwd / "real").mkdir()
    (workspace.cwd / "link").symlink_to("real")
    assert workspace.resolve("link/x") == workspace.cwd / "real/x"
    assert workspace.is_inside(workspace.resolve("link/x"))


def test_a_root_that_is_itself_reached_through_a_link_works(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    workspace = LocalWorkspace(cwd=tmp_path / "link", roots=(tmp_path / "link",))
    assert workspace.is_inside(workspace.resolve("x"))


def test_a_link_loop_is_a_path_that_cannot_be_opened_not_a_crash(workspace: LocalWorkspace):
    (workspace.cwd / "a").symlink_to("b")
    (workspace.cwd / "b").symlink_to("a")
    assert workspace.is_inside(workspace.resolve("a"))


def test_home_is_expanded(workspace: LocalWorkspace):
    assert workspace.resolve("~/x") == Path(os.path.realpath(Path.home())) / "x"


def test_home_is_the_one_that_was_given_not_the_one_of_this_process(tmp_path: Path):
    workspace = LocalWorkspace(tmp_path, (tmp_path,), {}, home=tmp_path / "other")
    assert workspace.resolve("~/x") == tmp_path / "other/x"
    with pytest.raises(UsageError):
        LocalWorkspace(tmp_path, (tmp_path,), {}, home=None).resolve("~/x")


def test_a_file_whose_name_begins_with_a_tilde_can_be_named(workspace: LocalWorkspace):
    assert workspace.resolve("./~root") == workspace.cwd / "~root"


@pytest.mark.parametrize(
    "path", ["a\0b", "\0", "a\ud835b", "~no-such-user-here/x", "~root", "~root/x", "~+/x"]
)
def test_what_no_file_can_be_called_is_refused(workspace: LocalWorkspace, path: str):
    with pytest.raises(UsageError):
        workspace.resolve(path)


# -------------------------------------------------------------------------------------------------------------- reading


async def test_bytes_come_back_as_they_are(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\n\xff\x00")
    assert await workspace.read_bytes(path) == b"\xef\xbb\xbfa\r\nb\n\xff\x00"


async def test_a_range_is_read_without_the_rest(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"0123456789")
    assert await workspace.read_bytes(path, offset=3, max_bytes=4) == b"3456"
    assert await workspace.read_bytes(path, offset=8, max_bytes=4) == b"89"
    assert await workspace.read_bytes(path, offset=99) == b""
    assert await workspace.read_bytes(path, max_bytes=0) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_file_without_a_known_size_is_read_to_its_end(workspace: LocalWorkspace):
    assert b"Pid:" in await workspace.read_bytes(workspace.resolve("/proc/self/status"))


async def test_a_fifo_a_socket_a_device_and_a_folder_are_refused_at_once(workspace: LocalWorkspace):
    fifo, socket_path = workspace.cwd / "fifo", workspace.cwd / "s"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as server:
        # The name a socket may have is short: bind it from its folder.
        folder = os.open(workspace.cwd, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{folder}/s")
        finally:
            os.close(folder)
        for path in (fifo, socket_path, Path("/dev/zero"), workspace.cwd):
            with pytest.raises(UsageError):
                await workspace.read_bytes(path)
            with pytest.raises(UsageError):
                await workspace.replace_file(path, b"x")


async def test_a_link_to_a_fifo_is_refused_too(workspace: LocalWorkspace):
    os.mkfifo(workspace.cwd / "fifo")
    (workspace.cwd / "link").symlink_to("fifo")
    with pytest.raises(UsageError):
        await workspace.read_bytes(workspace.resolve("link"))


async def test_a_missing_file_is_the_systems_own_error(workspace: LocalWorkspace):
    with pytest.raises(FileNotFoundError):
        await workspace.read_bytes(workspace.cwd / "none")


# ------------------------------------------------------------------------------------------------------------ replacing


async def test_a_new_file_gets_its_folders_and_the_mode_the_umask_gives(workspace: LocalWorkspace):
    path = workspace.cwd / "new/deep/f"
    assert await workspace.replace_file(path, b"hi") == content_hash(b"hi")
    (workspace.cwd / "plain").touch()
    assert path.read_bytes() == b"hi"
    assert path.stat().st_mode == (workspace.cwd / "plain").stat().st_mode
    assert names(path.parent) == {"f"}


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4755])
async def test_the_mode_is_kept(workspace: LocalWorkspace, mode: int):
    path = workspace.cwd / "f"
    path.write_bytes(b"old")
    path.chmod(mode)
    await workspace.replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_may_only_be_read_is_not_replaced_although_its_folder_would_allow_it():
    nobody = 65534 if os.geteuid() == 0 else os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(b"old")
        path.chmod(0o444)
        if nobody != os.geteuid():
            os.chown(folder, nobody, nobody)
            os.chown(path, nobody, nobody)
        own = os.geteuid()
        os.seteuid(nobody)
        try:
            with pytest.raises(PermissionError):
                replace_regular_file(path, b"new")
        finally:
            os.seteuid(own)
        assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
async def test_the_owner_is_kept(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"old")
    os.chown(path, 12345, 54321)
    path.chmod(0o4755)
    await workspace.replace_file(path, b"new")
    facts = path.stat()
    assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (12345, 54321, 0o4755)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become somebody else")
@pytest.mark.parametrize("owner", [(0, 0), (12345, 0), (65534, 54321)], ids=["root", "a user", "a group"])
def test_a_file_of_somebody_else_stays_theirs(owner: tuple[int, int]):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "f")
        path.write_bytes(b"old")
        path.chmod(0o666)
        os.chown(path, *owner)
        Path(folder).chmod(0o777)
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(65534)
        os.seteuid(65534)
        try:
            replace_regular_file(path, b"new", content_hash(b"old"))
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)
        facts = path.stat()
        assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (*owner, 0o666)
        assert path.read_bytes() == b"new"
        assert os.listdir(folder) == ["f"]


async def test_extended_attributes_are_kept(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("no extended attributes on this file system")
    await workspace.replace_file(path, b"new")
    assert os.getxattr(path, "user.note") == b"mine"


async def test_a_link_stays_a_link_and_its_target_is_replaced(workspace: LocalWorkspace):
    real, link = workspace.cwd / "real", workspace.cwd / "link"
    real.write_bytes(b"old")
    real.chmod(0o755)
    link.symlink_to("real")
    await workspace.replace_file(workspace.resolve("link"), b"new")
    assert link.is_symlink()
    assert os.readlink(link) == "real"
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o755
    assert names(workspace.cwd) == {"real", "link"}


async def test_a_link_to_nothing_gets_its_target(workspace: LocalWorkspace):
    link = workspace.cwd / "link"
    link.symlink_to("folder/real")
    await workspace.replace_file(workspace.resolve("link"), b"new")
    assert link.is_symlink()
    assert (workspace.cwd / "folder/real").read_bytes() == b"new"


async def test_hard_links_stay_together(workspace: LocalWorkspace):
    one, other = workspace.cwd / "one", workspace.cwd / "other"
    one.write_bytes(b"a longer old text")
    other.hardlink_to(one)
    await workspace.replace_file(one, b"new", expected=content_hash(b"a longer old text"))
    assert other.read_bytes() == b"new"
    assert one.stat().st_ino == other.stat().st_ino


async def test_readers_of_the_old_file_keep_the_old_bytes(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        await workspace.replace_file(path, b"new")
        assert reader.read() == b"old"


@pytest.mark.parametrize("is_linked", [False, True])
async def test_a_file_changed_since_it_was_read_is_left_alone(workspace: LocalWorkspace, *, is_linked: bool):
    path = workspace.cwd / "f"
    path.write_bytes(b"read")
    if is_linked:
        (workspace.cwd / "g").hardlink_to(path)
    before = names(workspace.cwd)
    facts = path.stat()
    path.write_bytes(b"else")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(StaleFile):
        await workspace.replace_file(path, b"new", expected=content_hash(b"read"))
    assert path.read_bytes() == b"else"
    assert names(workspace.cwd) == before


async def test_a_file_that_was_only_touched_is_replaced(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"same")
    os.utime(path, (1, 1))
    await workspace.replace_file(path, b"new", expected=content_hash(b"same"))
    assert path.read_bytes() == b"new"


async def test_a_file_that_is_gone_is_stale_and_not_made_again(workspace: LocalWorkspace):
    with pytest.raises(StaleFile):
        await workspace.replace_file(workspace.cwd / "folder/f", b"new", expected=content_hash(b"old"))
    assert names(workspace.cwd) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="walks by descriptors of folders")
@pytest.mark.parametrize("swapped", ["a", "a/b", "a/b/f"])
async def test_a_link_put_on_the_way_since_the_path_was_looked_up_is_not_followed(
    workspace: LocalWorkspace, tmp_path: Path, swapped: str
):
    (workspace.cwd / "a/b").mkdir(parents=True)
    (workspace.cwd / "a/b/f").write_bytes(b"mine")
    outside = tmp_path / "outside"
    (outside / "b/b").mkdir(parents=True)
    for name in ("f", "b/f", "b/b/f"):
        (outside / name).write_bytes(b"secret")
    path = workspace.resolve("a/b/f")
    target = {"a": outside, "a/b": outside / "b", "a/b/f": outside / "f"}[swapped]
    (workspace.cwd / swapped).rename(workspace.cwd / "aside")
    (workspace.cwd / swapped).symlink_to(target)
    before = {path: path.read_bytes() for path in outside.rglob("f")}
    with pytest.raises(UsageError):
        await workspace.read_bytes(path)
    for expected in (None, content_hash(b"secret")):
        with pytest.raises(UsageError):
            await workspace.replace_file(path, b"x", expected=expected)
    if swapped != "a/b/f":
        with pytest.raises(UsageError):
            await workspace.replace_file(path.parent / "new/g", b"x")
    assert {path: path.read_bytes() for path in outside.rglob("f")} == before
    assert not list(outside.rglob("new"))


async def test_a_file_that_turns_up_where_none_was_is_not_overwritten(workspace: LocalWorkspace):
    path = workspace.cwd / "f"
    path.write_bytes(b"theirs")
    with pytest.raises(StaleFile):
        await workspace.replace_file(path, b"new", expected="")
    assert path.read_bytes() == b"theirs"
    assert names(workspace.cwd) == {"f"}
    path.unlink()
    await workspace.replace_file(path, b"new", expected="")
    assert path.read_bytes() == b"new"


async def test_a_failed_replacement_leaves_no_draft(workspace: LocalWorkspace):
    (workspace.cwd / "file").write_bytes(b"")
    with pytest.raises(OSError, match="Not a directory"):
        await workspace.replace_file(workspace.cwd / "file/below", b"x")
    assert names(workspace.cwd) == {"file"}


# ------------------------------------------------------------------------------------------------------------ processes


@pytest.mark.process
async def test_commands_run_in_its_folder_unattended_and_keep_long_output(
    workspace: LocalWorkspace, tmp_path: Path
):
    spilling = LocalWorkspace(
        cwd=workspace.cwd, roots=workspace.roots, environment={"A": "b"}, spill_dir=tmp_path / "spill"
    )
    result = await spilling.run(["/bin/sh", "-c", "pwd; echo $A$HOME"], timeout_s=10)
    assert result.output == f"{workspace.cwd}\nb\n"
    assert result.spill_path is None
    long = await spilling.run(["/bin/sh", "-c", "/usr/bin/seq 100000"], timeout_s=10, max_output_bytes=1000)
    assert long.spill_path is not None
    assert long.spill_path.read_bytes() == b"".join(b"%d\n" % n for n in range(1, 100001))
