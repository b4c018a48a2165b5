"""The examples run as they stand, each with a model that says what the example is about."""

import importlib.util
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from ostinato.testing import Reply, ScriptedModel, call, say
from ostinato.testing.script import Turn

EXAMPLES = Path(__file__).parents[2] / "examples"

SCRIPTS: Mapping[str, tuple[tuple[Turn, ...], str, str]] = {
    "tool_first": ((Reply(call("stock", "t1", item="pen")), Reply(say("Twelve."))), "12", "Twelve."),
    "tool_types": (
        (
            Reply(call("order", "t1", lines=[{"item": "pen", "count": 2}], shipping="fast")),
            Reply(say("Done.")),
        ),
        '"pieces":2,"shipping":"fast"',
        "Done.",
    ),
    "tool_context": ((Reply(call("chart", "t1", folder=".")), Reply(say("See."))), "1 files", "completed"),
}
"""What the model says, what the result of the call must hold, and what the example ends with."""


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_does_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("a")
    turns, held, ending = SCRIPTS[name]
    model = ScriptedModel(*turns)
    main = loaded(name).main
    assert (anyio.run(main, model) if inspect.iscoroutinefunction(main) else main(model)) == ending
    (result,) = model.requests[1].messages[-1].content
    assert not getattr(result, "is_error", True), result
    assert held in str(getattr(result, "content", ""))
