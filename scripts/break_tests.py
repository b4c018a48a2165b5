"""Proof that the tests of the seed map can fail: each stored patch breaks one mechanism, and its test must turn red.

The patches go into copies of the source in a temporary folder; this tree is never touched. A row fails the proof if its test
is red without the patch, green with it, or red for another reason: the patch does not apply, the tests cannot be
collected, a name is missing, or the test hangs where the map does not say that it must.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.reduction import DupFd
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAP = Path("tests") / "seed_map" / "map.toml"
PATCHES = Path("tests") / "seed_map" / "patches"
PAGE = Path("docs") / "seed-map.md"

WORKERS = 2
HANG_S = 8
"""A patch that makes its test wait for ever is red after this long; the tests themselves take milliseconds."""

WRONG_REASONS = ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError")


# ------------------------------------------------------------------------------------------------ the map


@dataclass(frozen=True, slots=True)
class Proof:
    """One breaking patch, the rows it proves, and the tests that must turn red."""

    rows: tuple[str, ...]
    where: str
    tests: tuple[str, ...]
    patch: str
    breaks: str
    hangs: bool


@dataclass(frozen=True, slots=True)
class SeedMap:
    """`names` and `states` are by row (`S1`…); a state is `done`, `partly` or `open`; `notes` says what differs."""

    names: dict[str, str]
    proofs: tuple[Proof, ...]
    states: dict[str, str]
    notes: dict[str, str]


def read_map(root: Path = ROOT) -> SeedMap:
    """Raises KeyError or ValueError if a row is named that does not exist, or has a proof and is open."""
    raw = tomllib.loads((root / MAP).read_text())
    names: dict[str, str] = raw["names"]
    proofs = tuple(_proof(entry) for entry in raw["proof"])
    proved = {row for proof in proofs for row in proof.rows}
    states = {row: "done" if row in proved else "open" for row in names}
    states.update(dict.fromkeys(raw["partly"], "partly"))
    notes: dict[str, str] = {**raw["notes"], **raw["partly"]}
    unknown = sorted((proved | set(notes)) - set(names))
    if unknown:
        raise ValueError(f"the map has no row `{unknown[0]}`")
    return SeedMap(names, proofs, states, notes)


def _proof(entry: dict[str, Any]) -> Proof:
    tests = tuple(entry["tests"])
    where = str(entry["where"])
    return Proof(
        tuple(entry["rows"]),
        where,
        tests,
        str(entry["patch"]),
        str(entry["breaks"]),
        bool(entry.get("hangs")),
    )


# ------------------------------------------------------------------------------------------------ the page

HEAD = """# Seed map

<!-- written by scripts/break-tests --write-page from tests/seed_map/map.toml; do not edit -->

Each row is a mechanism that the engine owes its field. A row is *done* when a test proves it and a stored patch, which breaks
just that mechanism, turns that test red. `scripts/break-tests` applies every patch to a copy of the source and shows it. A row
is *partly* done when something of it exists and something is missing; the list at the end says what.

{done} rows are done, {partly} partly, {open} open. Files are under `src/ostinato/`, tests under `tests/`, patches under
`tests/seed_map/patches/`.

One departure runs through the table. The seeds have a generator all the way down. Here `query()` is an async generator, but the
loop inside is a coroutine that awaits `emit`, because tools need a task group around the stream and no scope may span a `yield`
(PEP 789). What the generator was there for is proved by other means, at S17, S19 and S130 to S133.

| row | mechanism | state | where | test that proves it | patch that breaks it |
| --- | --- | --- | --- | --- | --- |
"""


def page(seed_map: SeedMap) -> str:
    """docs/seed-map.md, whole."""
    count = {state: list(seed_map.states.values()).count(state) for state in ("done", "partly", "open")}
    lines = [HEAD.format(**count)]
    for row, name in seed_map.names.items():
        proofs = [proof for proof in seed_map.proofs if row in proof.rows]
        cells = (
            row,
            name,
            seed_map.states[row],
            _joined(f"`{proof.where}`" for proof in proofs),
            _joined(f"`{test.removeprefix('tests/')}`" for proof in proofs for test in proof.tests),
            _joined(f"`{proof.patch}`: {proof.breaks}" for proof in proofs),
        )
        lines.append("| " + " | ".join(cells) + " |\n")
    lines.append("\n## What differs, and what is missing\n\n")
    lines.extend(f"- **{row}** {note}\n" for row, note in _in_order(seed_map))
    return "".join(lines)


def _joined(parts: Iterable[str]) -> str:
    return "<br>".join(dict.fromkeys(parts))


def _in_order(seed_map: SeedMap) -> list[tuple[str, str]]:
    return [(row, seed_map.notes[row]) for row in seed_map.names if row in seed_map.notes]


# ------------------------------------------------------------------------------------------------ copies of the source


def copied_tree(folder: Path) -> Path:
    """Source and tests as they are here now, changes that are not committed included."""
    for name in ("src", "tests", "scripts", "docs", "examples"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, folder / name)
    return folder


def environment(tree: Path, *, write_bytecode: bool = False) -> dict[str, str]:
    """The process's own, but with the copy's source before the installed package."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    own["PYTHONPATH"] = str(tree / "src")
    own["PYTHONDONTWRITEBYTECODE"] = "" if write_bytecode else "1"
    return own


def imported_from(tree: Path) -> Path:
    """Where the package comes from when it is imported in this copy."""
    command = [sys.executable, "-c", "import ostinato; print(ostinato.__file__)"]
    ended = subprocess.run(
        command, cwd=tree, env=environment(tree), capture_output=True, text=True, check=True
    )
    return Path(ended.stdout.strip())


def apply_patch(patch: Path, tree: Path, *, only_check: bool = False) -> str:
    """Why the patch does not apply, or nothing. It may have moved by any number of lines; one line of context must stand."""
    command = ["git", "apply", "-C1", "--recount", *(["--check"] if only_check else []), str(patch)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    apart = {**own, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    ended = subprocess.run(command, cwd=tree, env=apart, capture_output=True, text=True, check=False)
    return "" if ended.returncode == 0 else ended.stderr.strip().splitlines()[0]


def touched_files(patch: Path) -> tuple[Path, ...]:
    return tuple(Path(name) for name in re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.MULTILINE))


# ------------------------------------------------------------------------------------------------ running tests


@dataclass(frozen=True, slots=True)
class Ran:
    """`failures` is node id to reason; `return_code` is pytest's."""

    return_code: int
    failures: dict[str, str]
    output: str


def run_tests(tests: Sequence[str], tree: Path, *, stop_early: bool, write_bytecode: bool = False) -> Ran:
    arguments = ["-q", "--tb=no", "-rfE", f"--timeout={HANG_S}", *(["-x"] if stop_early else []), *tests]
    env = {**environment(tree, write_bytecode=write_bytecode), "COLUMNS": "300"}
    with tempfile.TemporaryFile("w+") as output:
        process = FORKS.Process(target=pytest_here, args=(arguments, tree, env, DupFd(output.fileno())))
        process.start()
        process.join(1 + 20 * HANG_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            return Ran(-1, {}, "pytest itself did not end")
        output.seek(0)
        text = output.read()
    found = re.findall(r"^(?:FAILED|ERROR) (\S+::[^\n]*?)(?: - (.*))?$", text, re.MULTILINE)
    return Ran(process.exitcode, dict(found), text)


FORKS = get_context("forkserver")
"""Each run is a fork of a process that has imported what the tests stand on: half of a run would be that, 180 times."""
FORKS.set_forkserver_preload(["pytest", "anyio.pytest_plugin", "hypothesis", "msgspec", "trio"])


def pytest_here(arguments: list[str], tree: Path, env: dict[str, str], output: Any) -> None:
    """In a fork: become what `python -m pytest` would be there."""
    file = output.detach()
    for stream in (1, 2):
        os.dup2(file, stream)
    os.chdir(tree)
    os.environ.clear()
    os.environ.update(env)
    sys.dont_write_bytecode = bool(env["PYTHONDONTWRITEBYTECODE"])
    sys.path[:0] = [str(tree), env["PYTHONPATH"]]
    plugins = [word for name in ("randomly", "cacheprovider", "xdist") for word in ("-p", f"no:{name}")]
    may_be_imported = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
    code = pytest.main([*plugins, *may_be_imported, *arguments])
    sys.stdout.flush()
    os._exit(int(code))


def _is_of(node: str, test: str) -> bool:
    return node == test or node.startswith(f"{test}[")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` says how the test failed, or what is wrong with the proof."""

    proof: Proof
    is_red: bool
    why: str


def verdict(proof: Proof, tree: Path) -> Verdict:
    """Break the copy, run the tests, mend the copy."""
    patch = ROOT / PATCHES / proof.patch
    kept = {path: (path.read_bytes(), path.stat()) for path in (tree / name for name in touched_files(patch))}
    if problem := apply_patch(patch, tree):
        return Verdict(proof, False, f"the patch does not apply: {problem}")
    try:
        ran = run_tests(proof.tests, tree, stop_early=len(proof.tests) == 1)
    finally:
        for path, (data, stat) in kept.items():
            path.write_bytes(data)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return judged(proof, ran)


def judged(proof: Proof, ran: Ran) -> Verdict:
    if ran.return_code == 0:
        return Verdict(proof, False, "the test stays green")
    if ran.return_code != 1:
        last = ran.output.strip().splitlines()[-1:] or ["no output"]
        return Verdict(
            proof, False, f"the tests did not run (pytest ended with {ran.return_code}): {last[0]}"
        )
    green = [test for test in proof.tests if not any(_is_of(node, test) for node in ran.failures)]
    if green:
        return Verdict(proof, False, f"`{green[0]}` stays green")
    reason = next(iter(ran.failures.values())) or "failed"
    is_hung = "Timeout" in ran.output
    if is_hung and not proof.hangs:
        return Verdict(proof, False, "the test hangs; the map does not say that it must")
    if reason.startswith(WRONG_REASONS):
        return Verdict(proof, False, f"red for another reason: {reason}")
    return Verdict(proof, True, "waits for ever, as it must" if is_hung else reason)


def red_without_patch(proofs: Sequence[Proof], tree: Path) -> dict[str, str]:
    """Tests of these proofs that are not green on the untouched copy, with the reason."""
    tests = sorted({test for proof in proofs for test in proof.tests})
    ran = run_tests(tests, tree, stop_early=False, write_bytecode=True)
    if ran.return_code in {0, 1}:
        return ran.failures
    return {test: ran.output.strip()[-600:] for test in tests}


# ------------------------------------------------------------------------------------------------ the command


def tell(text: str) -> None:
    print(text, flush=True)


def show(result: Verdict) -> None:
    colour = "red  " if result.is_red else "WRONG"
    tell(f"{colour}  {' '.join(result.proof.rows):<12} {result.proof.patch:<34} {result.why[:150]}")


def break_all(proofs: Sequence[Proof], scratch: Path) -> list[Verdict]:
    """Every verdict, two at a time, each worker in a copy of its own."""
    first = copied_tree(scratch / "tree-0")
    if not imported_from(first).is_relative_to(first):
        raise SystemExit(f"the copy would not be what runs: ostinato comes from {imported_from(first)}")
    bad = red_without_patch(proofs, first)
    sound = [p for p in proofs if not any(_is_of(node, test) for node in bad for test in p.tests)]
    results = [Verdict(p, False, f"red without the patch: {bad}") for p in proofs if p not in sound]
    for result in results:
        show(result)
    trees: SimpleQueue[Path] = SimpleQueue()
    trees.put(first)
    for number in range(1, WORKERS):
        trees.put(Path(shutil.copytree(first, scratch / f"tree-{number}")))

    def one(proof: Proof) -> Verdict:
        tree = trees.get()
        try:
            return verdict(proof, tree)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(WORKERS) as pool:
        for result in pool.map(one, sound):
            show(result)
            results.append(result)
    return results


def chosen(seed_map: SeedMap, rows: Sequence[str]) -> list[Proof]:
    """The proofs of these rows, all of them if none is named. Ends the command for a row without a proof."""
    for row in rows:
        if row not in seed_map.names:
            raise SystemExit(f"there is no row `{row}`; rows are S1 to S{len(seed_map.names)}")
        if not any(row in proof.rows for proof in seed_map.proofs):
            raise SystemExit(f"row `{row}` is {seed_map.states[row]}: it has no patch yet")
    return [proof for proof in seed_map.proofs if not rows or set(rows) & set(proof.rows)]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/break-tests", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="S1, S2, …; all if none is named")
    parser.add_argument(
        "--write-page", action="store_true", help="write docs/seed-map.md and do nothing else"
    )
    given = parser.parse_args()
    seed_map = read_map()
    if given.write_page:
        (ROOT / PAGE).write_text(page(seed_map))
        return 0
    proofs = chosen(seed_map, given.rows)
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="ostinato-break-"))
    try:
        results = break_all(proofs, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    red = [result for result in results if result.is_red]
    rows = {row for result in red for row in result.proof.rows}
    tell(
        f"\n{len(red)} of {len(proofs)} patches turn their test red; {len(rows)} rows; {time.monotonic() - began:.0f} s"
    )
    for result in results:
        if not result.is_red:
            tell(f"not proved: {' '.join(result.proof.rows)}: {result.why}")
    return 0 if len(red) == len(proofs) else 1


if __name__ == "__main__":
    sys.exit(main())
