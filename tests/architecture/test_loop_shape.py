"""The heart stays simple: one endless loop, one flag that drives it, and nobody is called back."""

import ast
import inspect
from pathlib import Path

from msgspec.structs import fields

from ostinato.loop import query, query_loop
from ostinato.loop.deps import QueryParams

LOOP = Path(query_loop.__file__).parent
MAX_SCREEN_LINES = 35


def nodes() -> list[tuple[str, ast.AST]]:
    found: list[tuple[str, ast.AST]] = []
    for path in sorted(LOOP.rglob("*.py")):
        found.extend((path.name, node) for node in ast.walk(ast.parse(path.read_text())))
    return found


def test_there_is_one_endless_loop_and_it_fits_on_a_screen():
    endless = [
        name
        for name, node in nodes()
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value is True
    ]
    assert endless == ["query_loop.py"]
    assert len(inspect.getsource(query_loop.query_loop).splitlines()) <= MAX_SCREEN_LINES


def test_one_flag_drives_the_loop_and_one_place_sets_it():
    set_in = [
        name
        for name, node in nodes()
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and target.attr == "needs_follow_up"
    ]
    assert set_in == ["reply.py"]


def test_events_are_read_by_iterating_and_in_no_other_way():
    assert list(inspect.signature(query.query).parameters) == ["params", "deps"]
    told = [field.name for field in fields(QueryParams) if "Callable" in str(field.type)]
    assert told == []
    registries = {"add_listener", "add_handler", "subscribe", "on_event", "on_message", "on_text"}
    named = {node.name for _, node in nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)} | {
        node.arg for _, node in nodes() if isinstance(node, ast.arg)
    }
    assert named & registries == set()
