"""The gates of the stages that shorten a conversation: switched by settings, taken once, each for its stage alone."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.attachments.images import png

from ostinato import Options
from ostinato.engine.assemble import open_engine
from ostinato.events import Event
from ostinato.messages import Image, Text, Usage
from ostinato.normalise.normaliser import MEDIA_DROPPED
from ostinato.records import Fold, ReplaceResult, Snip, StripMedia
from ostinato.testing import SCRIPTED_FACTS, Reply, ScriptedModel, call, fake_tool, say
from ostinato.tool import Tool, ToolContext, ToolOutcome

WINDOW = replace(SCRIPTED_FACTS, context_window=60_000, max_output_tokens=4_000)
TEXT = "".join(f"line {n}, which is rather long and says nothing\n" for n in range(400))
ROUNDS = 24

MADE_BY = {"snip": Snip, "microcompact": ReplaceResult, "collapse": Fold}
DEFAULTS = {"snip": True, "microcompact": True, "collapse": False}
ALONE = {name: dict.fromkeys(DEFAULTS, False) | {name: True} for name in DEFAULTS}


def reading(meanwhile: Callable[[], object]) -> Tool:
    async def read(_input: Mapping[str, Any], _context: ToolContext) -> str:
        meanwhile()
        return TEXT

    return fake_tool("Read", read)


async def kinds_of_edits(tmp_path: Path, gates: Mapping[str, bool], *, flipped: object = None) -> set[str]:
    """Which stages shortened a conversation that reads few files over and over, with these gates in the user's settings."""
    settings = tmp_path / ".ostinato" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"features": gates, "autoCompactEnabled": False}))

    def meanwhile() -> None:
        if flipped is not None:
            settings.write_text(json.dumps(flipped))

    reads = [Reply(call("Read", f"t{n}", file_path=f"/{n % 3}"), usage=Usage()) for n in range(ROUNDS)]
    given = Options(
        cwd=tmp_path,
        model=ScriptedModel(*reads, Reply(say("done"), usage=Usage()), facts=WINDOW),
        tools=[reading(meanwhile)],
        allowed_tools=["Read"],
        environment={"HOME": str(tmp_path)},
        setting_sources=("user",),
        keep_session=False,
    )
    async with open_engine(given) as engine:
        _events: list[Event] = [event async for event in engine.submit_message("go")]
        log = engine.history.log()
    return {name for name, kind in MADE_BY.items() if any(isinstance(record, kind) for record in log)}


@pytest.mark.parametrize("name", DEFAULTS)
async def test_the_stage_whose_gate_is_open_works_and_no_other(tmp_path: Path, name: str):
    assert await kinds_of_edits(tmp_path, ALONE[name]) == {name}


async def test_with_all_gates_shut_nothing_is_shortened(tmp_path: Path):
    assert await kinds_of_edits(tmp_path, dict.fromkeys(DEFAULTS, False)) == set()


async def test_what_no_setting_speaks_of_is_as_it_is_built_in(tmp_path: Path):
    assert await kinds_of_edits(tmp_path, {}) <= {name for name, is_open in DEFAULTS.items() if is_open}
    assert await kinds_of_edits(tmp_path, {}) != set()


@pytest.mark.parametrize("name", DEFAULTS)
async def test_a_gate_that_is_shut_while_a_query_runs_counts_from_the_next_conversation(
    tmp_path: Path, name: str
):
    shut = {"features": dict.fromkeys(DEFAULTS, False)}
    assert await kinds_of_edits(tmp_path, ALONE[name], flipped=shut) == {name}


async def test_of_too_many_images_the_oldest_go_by_a_record_and_the_request_says_so(tmp_path: Path):
    image = Image("image/png", b64encode(png()).decode())

    async def look(given: Mapping[str, Any], _context: ToolContext) -> ToolOutcome:
        return ToolOutcome((Text(f"page {given['page']}"), *[image] * 10))

    looks = [Reply(call("Look", f"t{n}", page=n), usage=Usage()) for n in range(12)]
    model = ScriptedModel(*looks, Reply(say("done")), facts=replace(WINDOW, context_window=1_000_000))
    given = Options(
        cwd=tmp_path,
        model=model,
        tools=[fake_tool("Look", look)],
        allowed_tools=["Look"],
        environment={"HOME": str(tmp_path)},
        keep_session=False,
    )
    async with open_engine(given) as engine:
        [_ async for _ in engine.submit_message("go")]
        edits = [one for one in engine.history.log() if isinstance(one, StripMedia)]
    assert len(edits) == 3
    before, after = (request.messages for request in model.requests[10:12])
    assert MEDIA_DROPPED not in str(before)
    assert str(after).count(MEDIA_DROPPED) == 30
