"""What a caller says of the way to a model reaches that model."""

from pathlib import Path
from typing import Any

import pytest
from tests.providers.wire_server import Answer, wire_server

from ostinato import Deadlines
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.query import query
from ostinato.errors import UsageError
from ostinato.state import QueryConfig
from ostinato.testing import ScriptedModel, terminal

ONCE = QueryConfig(max_retries=0)
SHORT_S = 0.05


@pytest.mark.process
async def test_the_deadlines_of_a_conversation_bound_its_model_calls(tmp_path: Path):
    with wire_server(Answer(hold=True)) as server:
        environment = {"HOME": str(tmp_path), "ANTHROPIC_BASE_URL": server.url}
        asked = query(
            "hi",
            cwd=tmp_path,
            model="opus",
            environment=environment,
            deadlines=Deadlines(first_byte_s=SHORT_S, whole_reply_s=SHORT_S),
            config=ONCE,
        )
        events = [event async for event in asked]
    assert terminal(events).error_kind == "timeout"


@pytest.mark.parametrize(
    "wrong", [Deadlines(idle_s=0), Deadlines(total_s=-1), Deadlines(connect_s=float("nan")), 5, None]
)
async def test_a_deadline_that_cannot_be_kept_is_refused(tmp_path: Path, wrong: Any):
    options = Options(cwd=tmp_path, model=ScriptedModel(), deadlines=wrong)
    with pytest.raises(UsageError) as caught:
        async with open_engine(options):
            pass
    assert caught.value.hint


async def test_what_is_said_of_the_chosen_model_is_not_believed_of_another(tmp_path: Path):
    said = {"context_window": 50_000, "max_output_tokens": 5_000}
    environment = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k"}
    options = Options(cwd=tmp_path, model="opus", model_overrides=said, environment=environment)
    async with open_engine(options) as engine:
        windows = [(await engine.set_model(name)).context_window for name in ("sonnet", "opus")]
    assert windows == [1_000_000, 50_000]
