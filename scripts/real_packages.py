"""Three real packages as their authors ship them, each broken in two files, and an environment in which their tests run.

Source distributions come from the package index by name, version and digest, and are kept; what could not be had is said as
`Unreachable`, never half made.
"""

import hashlib
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

PATIENCE_S: Final = 300.0
"""For pip, which tries an index that does not answer several times."""

NEEDED: Final = (
    "pytest==9.0.2",
    "blinker==1.9.0",
    "click==8.3.1",
    "itsdangerous==2.2.0",
    "jinja2==3.1.6",
    "markupsafe==3.0.3",
    "werkzeug==3.1.5",
)
"""pytest, and what flask stands on."""


class Unreachable(Exception):
    """The index, or something on it, could not be had; the text says what and why."""


class Fault(msgspec.Struct, frozen=True):
    """A file of the package, the tests that see it broken, a pattern that finds the place, and what was put in place of what
    (each text stands once in its file).
    """

    path: str
    tests: str
    pattern: str
    edits: Sequence[tuple[str, str]]
    """(right, wrong)"""


class Package(msgspec.Struct, frozen=True):
    """`source` is the folder that Python imports from. `small` is undone by one Edit, `large` takes several edits of a file."""

    name: str
    version: str
    sha256: str
    source: str
    small: Fault
    large: Fault

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.tar.gz"

    def test_command(self, *faults: Fault) -> str:
        """The package's own tests of what is broken, as one line for a shell in its folder."""
        tests = " ".join(fault.tests for fault in faults)
        return f"python -m pytest -q -p no:cacheprovider -o pythonpath={self.source} {tests}"


PACKAGES: Final = (
    Package(
        "click",
        "8.5.1",
        "9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4",
        "src",
        Fault(
            "src/click/formatting.py",
            "tests/test_formatting.py",
            r"def measure_table",
            [("max(widths.get(idx, 0), term_len(col))", "min(widths.get(idx, 0), term_len(col))")],
        ),
        Fault(
            "src/click/types.py",
            "tests/test_types/test_IntRange.py tests/test_types/test_FloatRange.py",
            r"if self\.(min|max)_open else operator",
            [
                ("operator.le if self.min_open else operator.lt", "operator.lt if self.min_open else operator.le"),
                ("operator.ge if self.max_open else operator.gt", "operator.gt if self.max_open else operator.ge"),
            ],
        ),
    ),
    Package(
        "flask",
        "3.1.3",
        "0ef0e52b8a9cd932855379197dd8f94047b359ca0a78695144304cb45f87c9eb",
        "src",
        Fault(
            "src/flask/config.py",
            "tests/test_config.py",
            r"if trim_namespace",
            [("key = k[len(namespace) :]", "key = k[len(namespace) - 1 :]")],
        ),
        Fault(
            "src/flask/json/tag.py",
            "tests/test_json_tag.py",
            r"return (\{key\[|UUID\()",
            [
                ("return {key[:-2]: value[key]}", "return {key[:-1]: value[key]}"),
                ("return UUID(value)", "return UUID(value).hex"),
            ],
        ),
    ),
    Package(
        "boltons",
        "26.2.0",
        "d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
        ".",
        Fault(
            "boltons/strutils.py",
            "tests/test_strutils.py",
            r"return .*oxford else",
            [('delimiter if oxford else " "', '" " if oxford else delimiter')],
        ),
        Fault(
            "boltons/iterutils.py",
            "tests/test_iterutils.py",
            r"return (zip_longest\(\*tees|next\(.*default\))",
            [
                ("return zip_longest(*tees, fillvalue=fill)", "return zip_longest(*tees)"),
                ("return next(filter(key, iterable), default)", "return next(iter(iterable), default)"),
            ],
        ),
    ),
)  # fmt: skip
"""Pure Python, with their tests inside (rich ships none)."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    kept = environment.get("XDG_CACHE_HOME", "").strip()
    return (Path(kept) if kept else Path.home() / ".cache") / "ostinato-real-packages"


# ------------------------------------------------------------------------------------------------ sources


def unpacked(package: Package, cache: Path, into: Path) -> None:
    """The package as it was shipped, as the folder `into`, which must not be there. Raises Unreachable."""
    archive = cache / package.file_name
    if not archive.exists() or _digest(archive.read_bytes()) != package.sha256:
        _download(package, cache)
    scratch = into.with_name(f"{into.name}.unpacking")
    with tarfile.open(archive) as opened:
        opened.extractall(scratch, filter="data")
    (inner,) = scratch.iterdir()
    inner.rename(into)
    scratch.rmdir()


def _download(package: Package, cache: Path) -> None:
    """With pip, from the index that it is set up for. Raises ValueError for a file with another digest."""
    python = environment_folder(cache) / "python"
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        wanted = Path(folder, "wanted.txt")
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        only = ("--no-deps", "--no-binary", package.name)
        _pip(python, "download", *only, "--require-hashes", "--dest", folder, "-r", str(wanted))
        Path(folder, package.file_name).replace(cache / package.file_name)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ------------------------------------------------------------------------------------------------ environment


def environment_folder(cache: Path) -> Path:
    """`bin` of an environment in which the packages' tests run, made when it is not there. Raises Unreachable."""
    mark = _digest(" ".join((sys.version, *NEEDED)).encode())[:12]
    folder = cache / f"environment-{mark}"
    done = folder / "complete"
    if not done.exists():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        _pip(folder / "bin/python", "install", *NEEDED)
        done.touch()
    return folder / "bin"


def _pip(python: Path, *arguments: str) -> None:
    _run(str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments)


def _run(*command: str) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"`{shlex.join(command)}` took longer than {PATIENCE_S:.0f} s") from error
    if "DO NOT MATCH THE HASHES" in ended.stderr:
        raise ValueError(
            f"`{shlex.join(command)}` was given another file than the one pinned: {ended.stderr}"
        )
    if ended.returncode != 0:
        said = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")]
        raise Unreachable(f"`{shlex.join(command)}` failed: {' '.join(said) or ended.stderr[-300:]}")


# ------------------------------------------------------------------------------------------------ faults


def broken(folder: Path, *faults: Fault) -> None:
    """Put each fault into the package. Raises ValueError for a text that does not stand exactly once in its file."""
    for fault in faults:
        path = folder / fault.path
        text = path.read_text(encoding="utf-8")
        for right, wrong in fault.edits:
            if text.count(right) != 1 or wrong in text:
                raise ValueError(f"`{right}` is not what `{fault.path}` has once")
            text = text.replace(right, wrong)
        path.write_text(text, encoding="utf-8")


def digests(folder: Path) -> Mapping[str, str]:
    """Content and mode of every file, by its place; compiled bytecode is nobody's work."""
    return {
        str(path.relative_to(folder)): f"{path.stat().st_mode:o} {_digest(path.read_bytes())}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
