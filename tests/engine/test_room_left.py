"""A result says how much room is left, once the conversation will soon be summarised by itself."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.engine.test_long_conversations import SMALL, looking_tool, options

from ostinato.engine.assemble import open_engine
from ostinato.engine.result import result_of_events
from ostinato.messages import Usage
from ostinato.testing import Reply, ScriptedModel, say

FACTS = replace(SMALL, context_window=200_000, max_output_tokens=32_000)
"""Summarised at 167,000 tokens; told from 147,000 on (DESIGN §8)."""


async def left_after(tmp_path: Path, read: int, wrote: int, *, auto_compact: bool = True) -> int | None:
    model = ScriptedModel(Reply(say("ok"), usage=Usage(read, wrote)), facts=FACTS)
    chosen = options(tmp_path, model, home=tmp_path / "home", tool=looking_tool(1))
    chosen = replace(chosen, config=replace(chosen.config, auto_compact=auto_compact))
    async with open_engine(chosen) as engine:
        told = result_of_events([event async for event in engine.submit_message("go")])
    return told.result.context_left_percent


@pytest.mark.parametrize(
    ("read", "wrote", "left"),
    [
        (1_000, 10, None),
        (146_000, 999, None),
        (146_000, 1_000, 11),
        (150_300, 0, 10),
        (166_999, 0, 0),
        (190_000, 0, 0),
    ],
)
async def test_it_is_told_from_the_warning_on_what_the_reply_read_and_wrote(
    tmp_path: Path, read: int, wrote: int, left: int | None
) -> None:
    assert await left_after(tmp_path, read, wrote) == left


async def test_where_nothing_is_summarised_by_itself_nothing_is_told(tmp_path: Path) -> None:
    assert await left_after(tmp_path, 160_000, 0, auto_compact=False) is None
