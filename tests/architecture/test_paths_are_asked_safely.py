"""Where paths of others are looked at, the methods of `Path` that raise for some of them are not used: `os.path` always answers."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"
FOLDERS = ("permissions", "tools", "sandbox", "config", "attachments", "engine")
RAISING = frozenset({"is_dir", "is_file", "exists", "is_symlink", "resolve", "samefile", "is_mount"})
HANDLED = frozenset({"permissions/repository_settings.py"})
"""There an error is an answer of its own: what cannot be looked at may name a program."""


def raising_calls(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args):
            continue
        is_entry = (
            isinstance(node.func.value, ast.Name) and node.func.value.id == "entry"
        )  # of a folder that was opened
        if node.func.attr in RAISING and not is_entry:
            yield f"{file.relative_to(SOURCE)}:{node.lineno}"


def test_no_path_of_others_is_asked_by_a_method_that_raises():
    files = [file for folder in FOLDERS for file in sorted((SOURCE / folder).rglob("*.py"))]
    found = [
        call for file in files if str(file.relative_to(SOURCE)) not in HANDLED for call in raising_calls(file)
    ]
    assert found == []


def test_the_search_finds_such_a_call():
    handled = SOURCE / "permissions" / "repository_settings.py"
    assert list(raising_calls(handled))
