"""What the code imports is what the package declares: nothing works only because a development tool brought it along."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "ostinato"
HOST_ONLY = frozenset({"trio"})
"""Imported where it is the running event loop, so that it is there already."""

DISTRIBUTIONS = {"PIL": "pillow", "markdown_it": "markdown_it_py"}
"""Imported under another name than they are installed by."""


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines: list[str] = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        lines += extra
    return {re.split(r"[^a-zA-Z0-9_.-]", line)[0].replace("-", "_") for line in lines}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.split(".")[0]


def test_every_import_is_of_this_package_the_standard_library_or_a_declared_dependency():
    known = declared() | HOST_ONLY | sys.stdlib_module_names | {"ostinato"}
    undeclared = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in SOURCE.rglob("*.py")
        for name in imported(file)
        if DISTRIBUTIONS.get(name, name) not in known
    }
    assert not undeclared
