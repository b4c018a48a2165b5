"""Whatever is killed, and whoever writes at the same time: a file holds its old text or its new one, and no update is lost."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from anyio import to_thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tools.file_changers import CHANGERS, Changer
from tests.tools.tool_folder import ToolFolder

from ostinato.errors import StaleFile
from ostinato.sandbox.files import read_regular_file, replace_regular_file
from ostinato.sandbox.regular_file import content_hash
from ostinato.testing.fake_workspace import FakeWorkspace

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("OSTINATO_TEST_KILLS", "2"))
"""Of each tool; more for a long run."""


def has_nameless_files(folder: Path) -> bool:
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        return False
    return True


def killed_once(folder: Path, changer: Changer, chance: random.Random) -> None:
    argv = (sys.executable, "-m", "tests.tools.changing_child", str(folder), changer.tool)
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        took_s = 0.0
        for _ in range(chance.randint(2, 12)):
            begun_s = time.monotonic()
            assert child.stdout.readline() == b"changed\n"
            took_s = time.monotonic() - begun_s
        # At any moment of the next change, which takes about as long as the last one.
        until_s = time.monotonic() + chance.uniform(0, took_s)
        while time.monotonic() < until_s:
            pass
        child.send_signal(signal.SIGKILL)


def drafts_beside(path: Path) -> list[Path]:
    return [entry for entry in path.parent.iterdir() if entry != path]


@pytest.mark.process
@pytest.mark.timeout(60 + 5 * KILLS)
@pytest.mark.parametrize("changer", CHANGERS, ids=lambda changer: changer.tool)
def test_a_killed_change_leaves_the_old_text_or_the_new_one(tmp_path: Path, changer: Changer):
    """A file without a name takes the new text. Only while names are exchanged it has one: what a kill then leaves is whole, is one,
    and goes with the next change; while the text is written nothing can be left.
    """
    chance = random.Random(7)
    before = changer.before + "\n" * 200_000  # a write that takes its time
    texts = {before, before.replace("an old", "a new"), changer.after}
    path = tmp_path / changer.file
    left = 0
    for _ in range(KILLS):
        path.write_text(before)
        path.chmod(0o640)
        killed_once(tmp_path, changer, chance)
        assert path.read_text() in texts
        assert path.stat().st_mode & 0o777 == 0o640
        drafts = drafts_beside(path)
        assert len(drafts) <= 1
        for draft in drafts:
            assert draft.name.startswith(".ostinato-")
            assert not has_nameless_files(tmp_path) or draft.read_text() in texts
        left += len(drafts)
    print(f"{changer.tool}: {KILLS} kills, {left} drafts left")
    assert left <= max(1, KILLS // 20)
    (tmp_path / f".ostinato-{'0' * 32}.tmp").touch()  # the moment is short; as if one kill had met it
    replace_regular_file(path, b"next")
    assert os.listdir(tmp_path) == [changer.file]


def add_lines(path: Path, name: str, count: int) -> None:
    """Each line is added to what was read; who comes too late reads again."""
    added = 0
    while added < count:
        data = read_regular_file(path)
        try:
            replace_regular_file(path, data + f"{name}{added}\n".encode(), content_hash(data))
        except StaleFile:
            continue
        added += 1


async def test_no_update_is_lost_among_many_writers(folder: ToolFolder):
    path = folder.path / "f"
    path.write_bytes(b"")
    async with anyio.create_task_group() as group:
        for name in "abcd":
            group.start_soon(to_thread.run_sync, partial(add_lines, path, name, 25))
    lines = path.read_text().split()
    assert sorted(lines) == sorted(f"{name}{number}" for name in "abcd" for number in range(25))
    assert os.listdir(path.parent) == ["f"]


# ------------------------------------------------------------------------------------------------------------------ fuzz

PIECES = st.sampled_from([
    b"ab",
    b"b",
    b"\r\n",
    b"\n",
    b"\r",
    b"\xc3\xa4",
    b"\xe4",
    b"\xff",
    b" ",
    b"\t",
    b"\xe2\x80\xa8",
    b"\\1",
    b"$&",
])
BYTES = st.lists(PIECES, max_size=30).map(b"".join)
NEW = st.text(alphabet="ab\n\r $&\\1ä\u2028{}%", max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    data=BYTES,
    new=NEW,
    start=st.integers(0, 40),
    length=st.integers(1, 6),
    tool=st.sampled_from(["Edit", "MultiEdit"]),
)
def test_random_bytes_under_random_edits_differ_exactly_where_asked(
    data: bytes, new: str, start: int, length: int, tool: str
):
    """Every place of the old text, and only those: what is before, between and behind them is the same bytes."""

    async def scenario() -> None:
        with TemporaryDirectory() as name:
            folder = ToolFolder(Path(name), FakeWorkspace(Path(name)))
            folder.put("f", data)
            if (await folder.call("Read", file_path="f")).is_error:
                return
            # ASCII without line ends stands for itself in every encoding that has no mark.
            old = data[start : start + length].decode("ascii", "ignore").translate({10: None, 13: None})
            step = {"old_string": old, "new_string": new, "replace_all": True}
            given = step if tool == "Edit" else {"edits": [step]}
            outcome = await folder.call(tool, file_path="f", **given)
            after = folder.bytes_of("f")
            if outcome.is_error:
                assert after == data
                return
            parts = data.split(old.encode())
            assert matches(after, parts, new)

    anyio.run(scenario)


TEXTS = st.lists(
    st.sampled_from([
        "ab",
        "b",
        "\r\n",
        "\n",
        "\r",
        "ä",
        "漢",
        "🙂",
        " ",
        "\u2028",
        "\x0c",
        "\\1",
        "$&",
        "{x}",
    ]),
    max_size=20,
).map("".join)
CODES = st.sampled_from([
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\0\0"),
    ("utf-32-be", b"\0\0\xfe\xff"),
])


@settings(deadline=None, max_examples=60)
@given(
    text=TEXTS,
    new=st.text(alphabet="ab $&\\1ä漢🙂\u2028{}%", max_size=8),
    code=CODES,
    start=st.integers(0, 30),
    length=st.integers(1, 6),
    tool=st.sampled_from(["Edit", "MultiEdit"]),
)
def test_in_every_encoding_a_random_edit_gives_exactly_the_text_with_its_places_replaced(
    text: str, new: str, code: tuple[str, bytes], start: int, length: int, tool: str
):
    async def scenario() -> None:
        with TemporaryDirectory() as name:
            folder = ToolFolder(Path(name), FakeWorkspace(Path(name)))
            encoding, mark = code
            data = mark + text.encode(encoding)
            folder.put("f", data)
            assert not (await folder.call("Read", file_path="f")).is_error
            old = text[start : start + length].translate({10: None, 13: None})
            step = {"old_string": old, "new_string": new, "replace_all": True}
            given = step if tool == "Edit" else {"edits": [step]}
            is_meant = old in text and old not in {"", new}
            outcome = await folder.call(tool, file_path="f", **given)
            assert outcome.is_error is not is_meant
            expected = text.replace(old, new) if is_meant else text
            assert folder.bytes_of("f") == mark + expected.encode(encoding)

    anyio.run(scenario)


def matches(after: bytes, parts: list[bytes], new: str) -> bool:
    """Whether `after` is the parts with the new text between them, its line ends and encoding left open."""
    allowed = {
        re.escape(text.encode(encoding))
        for encoding in ("utf-8", "cp1252", "latin-1")
        for text in with_any_ends(new)
        if is_sayable(text, encoding)
    }
    between = b"(?:" + b"|".join(sorted(allowed, reverse=True)) + b")"
    return re.fullmatch(between.join(re.escape(part) for part in parts), after, re.DOTALL) is not None


def with_any_ends(text: str) -> set[str]:
    plain = text.replace("\r\n", "\n")
    return {text} | {
        base.replace("\n", end) for base in (plain, plain.replace("\r", "\n")) for end in ("\n", "\r\n", "\r")
    }


def is_sayable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
