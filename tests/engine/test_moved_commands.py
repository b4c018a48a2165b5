"""Which commands outlive their timeout: who says so, and what is better ended."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_background import Place
from tests.sandbox.test_process import survivors

from ostinato.engine.assemble import open_engine
from ostinato.engine.moved_commands import ENDED, may_move
from ostinato.processes import background_task_id
from ostinato.testing import Reply, ScriptedModel, call, say

ID = background_task_id("t1")


@pytest.mark.parametrize(
    "command",
    [
        "make -j4",
        "npm test && npm run build",
        "timeout 900 pytest | tail -5",
        "cd web; ./serve",
        "for x in a b; do build $x; done",
    ],
)
def test_work_goes_on(command: str):
    assert may_move(command)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300",
        "make; sleep 5",
        "git push",
        "vim notes.txt",
        "watch -n 1 ls",
        "cd x && /usr/bin/git clone y",
        "nohup git gc",
        "bash -c 'git fetch'",
        "if true; then git pull; fi",
        "$TOOL build",
        'eval "$x"',
        "make 'unfinished",
    ],
)
def test_waiting_git_and_what_cannot_be_read_are_ended(command: str):
    assert not may_move(command)


@pytest.mark.parametrize("name", sorted(ENDED))
def test_what_waits_for_keys_or_holds_locks_is_ended_however_it_is_called(name: str):
    for command in (
        name,
        f"/usr/bin/{name} -x file",
        f"make && {name} log",
        f"nice timeout 300 {name} log",
        f"bash -c '{name} log'",
    ):
        assert not may_move(command), command
    for command in (f"./{name}-all", f"make {name}", f"cat {name}.txt"):
        assert may_move(command), command


@pytest.mark.parametrize(
    "name",
    [
        "nano",
        "pico",
        "vi",
        "vim",
        "vimdiff",
        "nvim",
        "emacs",
        "ed",
        "less",
        "more",
        "top",
        "htop",
        "watch",
        "mc",
    ],
)
def test_the_usual_ones_are_known(name: str):
    assert name in ENDED


def slow_build() -> Reply:
    return Reply(call("Bash", "t1", command="sh ./build.sh", timeout=200))


async def conversation(tmp_path: Path, *replies: Reply, **more: Any) -> tuple[Place, ScriptedModel]:
    (tmp_path / "build.sh").write_text("echo begun; while ! test -e go; do sleep 0.01; done; echo built\n")
    place = Place(tmp_path)
    model = ScriptedModel(*replies)
    async with open_engine(place.options(model, **more)) as engine:
        async for _ in engine.submit_message("build"):
            pass
    return place, model


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
async def test_the_model_reads_on_with_the_id_that_it_was_told(tmp_path: Path):
    place, model = await conversation(
        tmp_path,
        slow_build(),
        Reply(call("Bash", "t2", command="touch go")),
        Reply(call("TaskOutput", "t3", task_id=ID, block=True)),
        Reply(say("built")),
    )
    assert ID in str(model.requests[1].messages)
    assert "begun" in str(model.requests[1].messages)
    assert "built" in str(model.requests[3].messages[-1])
    assert not survivors(place.marked)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
@pytest.mark.parametrize(
    "more",
    [
        {"background_on_timeout": False},
        {"disallowed_tools": ["TaskOutput"]},
        {"disallowed_tools": ["BashOutput"]},
    ],
    ids=["option", "no reader", "no reader by its older name"],
)
async def test_who_does_not_want_it_or_could_not_read_it_has_it_ended(tmp_path: Path, more: dict[str, Any]):
    place, model = await conversation(tmp_path, slow_build(), Reply(say("too slow")), **more)
    assert ID not in str(model.requests[1].messages)
    assert "begun" in str(model.requests[1].messages)
    assert not survivors(place.marked)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
async def test_the_environment_can_say_so_too(tmp_path: Path):
    place = Place(tmp_path)
    place.marked["OSTINATO_BACKGROUND_ON_TIMEOUT"] = "0"
    (tmp_path / "build.sh").write_text("echo begun; sleep 60\n")
    model = ScriptedModel(slow_build(), Reply(say("too slow")))
    async with open_engine(place.options(model)) as engine:
        async for _ in engine.submit_message("build"):
            pass
    assert ID not in str(model.requests[1].messages)
