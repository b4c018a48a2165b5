"""Process ids of their own: who wants it otherwise has it otherwise, and the model is told where it may be so."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.sandbox.process_status import lacking_right
from ostinato.testing import Reply, ScriptedModel, call, say

ALLOWED = pytest.mark.skipif(bool(lacking_right()), reason="no pid namespaces for this user here")


async def conversation(tmp_path: Path, command: str, variables: dict[str, str], **more: Any) -> str:
    """Everything that the model was sent."""
    model = ScriptedModel(Reply(call("Bash", "t1", command=command)), Reply(say("done")))
    options = Options(
        cwd=tmp_path,
        model=model,
        permission_mode="bypassPermissions",
        environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), **variables},
        **more,
    )
    async with open_engine(options) as engine:
        async for _ in engine.submit_message("go"):
            pass
    return str(model.requests[1])


@pytest.mark.process
@ALLOWED
@pytest.mark.parametrize(
    ("variables", "more", "is_apart"),
    [
        ({}, {}, True),
        ({"OSTINATO_PID_NAMESPACE": "0"}, {}, False),
        ({}, {"pid_namespace": False}, False),
        ({}, {"settings": json.dumps({"pidNamespace": False})}, False),
        ({}, {"settings": json.dumps({"pidNamespace": True})}, True),
    ],
    ids=["default", "variable", "option", "setting", "setting that says nothing new"],
)
async def test_it_is_so_unless_somebody_wants_it_otherwise(
    tmp_path: Path, variables: dict[str, str], more: dict[str, Any], is_apart: bool
):
    sent = await conversation(tmp_path, "readlink /proc/self/ns/pid", variables, **more)
    assert (os.readlink("/proc/self/ns/pid") not in sent) == is_apart
    assert ("commands see and signal only" in sent) == is_apart


@ALLOWED
@pytest.mark.parametrize(
    "more", [{"tools": ()}, {"disallowed_tools": ("Bash",)}], ids=["no tools", "denied whole"]
)
async def test_who_has_no_shell_is_told_nothing_of_process_ids(tmp_path: Path, more: dict[str, Any]):
    sent = await conversation(tmp_path, "true", {}, **more)
    assert "commands see and signal only" not in sent
