"""The main job over real wires: a failing test in a real folder, an agent that repairs it, and a check of the folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.query import query
from ostinato.events import ToolEnd
from ostinato.testing import OnWire, Reply, StrictServer, call, say, terminal

SAMPLE = Path(__file__).parents[2] / "examples" / "sample_repository"
pytestmark = pytest.mark.process

REPAIR = (
    Reply(
        say("I run the test and read the code."),
        call("Bash", "toolu_1", command="python3 test_basket.py"),
        call("Read", "toolu_2", file_path="basket.py"),
    ),
    Reply(
        call(
            "Edit",
            "toolu_3",
            file_path="basket.py",
            old_string="return price + price * percent // 100",
            new_string="return price - price * percent // 100",
        )
    ),
    Reply(call("Bash", "toolu_4", command="python3 test_basket.py")),
    Reply(say("The test passes.")),
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "shop"))


def passes(shop: Path) -> bool:
    return subprocess.run([sys.executable, "test_basket.py"], cwd=shop, check=False).returncode == 0


def environment(wire: str, server: StrictServer, home: Path) -> dict[str, str]:
    found = {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    if wire == "anthropic":
        return {**found, "ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "x"}
    return {**found, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "x"}


MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-4.1"}


def test_the_sample_repository_is_broken_as_it_stands(shop: Path):
    assert not passes(shop)


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_the_sample_task_is_done_over_each_wire_on_one_connection(
    shop: Path, tmp_path: Path, wire: str
):
    with StrictServer(*REPAIR) as server:
        events = [
            event
            async for event in query(
                "repair the failing test",
                cwd=shop,
                model=MODELS[wire],
                permission_mode="acceptEdits",
                allowed_tools=("Bash(python3:*)",),
                environment=environment(wire, server, tmp_path),
            )
        ]
        connections, refused = server.connections, server.refused
    assert terminal(events).reason == "completed"
    assert [e.outcome for e in events if isinstance(e, ToolEnd)] == ["error", "ok", "ok", "ok"]
    assert (connections, list(refused)) == (1, [])
    assert passes(shop)


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_a_consumer_that_stops_reading_stops_the_server_within_one_channel(
    shop: Path, tmp_path: Path, wire: str
):
    long_text = "word " * 400_000
    turn = OnWire(Reply(say(long_text), piece_characters=50))
    with StrictServer(turn, send_buffer_bytes=16_384) as server:
        options = Options(
            cwd=shop, model=MODELS[wire], environment=environment(wire, server, tmp_path), keep_session=False
        )
        async with open_engine(options) as engine:
            events = engine.submit_message("talk")
            await anext(events)
            sent = await still(lambda: sum(server.bytes_sent))
            await events.aclose()
    assert 0 < sent < 3_000_000  # the whole reply is about 10 MB on the wire


async def still(figure: Callable[[], int]) -> int:
    """The figure once it has stopped growing for half a second."""
    last, unchanged = -1, 0
    with anyio.fail_after(20):
        while unchanged < 10:
            await anyio.sleep(0.05)
            now = figure()
            unchanged = unchanged + 1 if now == last else 0
            last = now
    return last
