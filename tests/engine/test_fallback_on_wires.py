"""Over real connections: another model of another provider takes over, and a refused key is replaced, as the strict server
judges it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from tests.web.page_server import PageServer, answer

import ostinato
from ostinato.events import Event, Terminal
from ostinato.testing import Reply, StrictServer, call, fake_tool, say, terminal, think
from ostinato.testing.wire_turn import HttpError

NAMES = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-5", "chat": "openai/gpt-4.1"}


async def events_of(
    tmp_path: Path, first: StrictServer, second: StrictServer, **more: Any
) -> Sequence[Event]:
    """The first server speaks Anthropic's wire, the second OpenAI's."""
    environment = {
        "HOME": str(tmp_path),
        "ANTHROPIC_API_KEY": "old",
        "ANTHROPIC_BASE_URL": first.url,
        "OPENAI_API_KEY": "old",
        "OPENAI_BASE_URL": f"{second.url}/v1",
        "OSTINATO_MAX_RETRIES": "0",
    }
    tools = [fake_tool("Look")]
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "keep_session": False,
        "tools": tools,
        "environment": environment,
        "permission_mode": "bypassPermissions",
        **more,
    }
    return [event async for event in ostinato.query("go", **options)]


@pytest.mark.parametrize("fallback", ["openai", "chat"])
async def test_a_model_of_another_provider_goes_on_with_what_was_done(tmp_path: Path, fallback: str):
    thought = Reply(think("hm", signature="s"), call("Look", "t1"))
    with (
        StrictServer(thought, HttpError(529)) as first,
        StrictServer(Reply(say("done"))) as second,
    ):
        events = await events_of(
            tmp_path, first, second, model=NAMES["anthropic"], fallback_models=(NAMES[fallback],)
        )
        second.assert_clean()
    ended = events[-1]
    assert isinstance(ended, Terminal)
    assert ended.reason == "completed"
    assert "t1" in str(second.requests[0].body)
    assert "hm" not in str(second.requests[0].body).split()


@pytest.mark.parametrize("name", NAMES.values())
async def test_a_refused_key_is_replaced_on_every_wire(tmp_path: Path, name: str):
    async def newest() -> str:
        await anyio.lowlevel.checkpoint()
        return "new"

    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        events = await events_of(tmp_path, server, server, model=name, refresh_api_key=newest)
    ended = events[-1]
    assert isinstance(ended, Terminal)
    assert (ended.reason, len(server.requests)) == ("completed", 2)


@pytest.mark.parametrize("fallback", ["openai", "chat"])
async def test_the_new_key_of_one_server_is_never_sent_to_another(tmp_path: Path, fallback: str):
    async def newest() -> str:
        await anyio.lowlevel.checkpoint()
        return "new"

    with (
        StrictServer(HttpError(529), accepts_keys={"new"}) as first,
        StrictServer(Reply(say("done")), accepts_keys={"new"}) as second,
    ):
        events = await events_of(
            tmp_path,
            first,
            second,
            model=NAMES["anthropic"],
            fallback_models=(NAMES[fallback],),
            refresh_api_key=newest,
        )
    ended = events[-1]
    assert isinstance(ended, Terminal)
    assert (ended.reason, ended.error_kind) == ("model_error", "authentication")
    assert (len(first.requests), len(second.requests)) == (2, 1)


async def test_a_fallback_model_on_the_same_server_gets_the_new_key_too(tmp_path: Path):
    async def newest() -> str:
        await anyio.lowlevel.checkpoint()
        return "new"

    with StrictServer(HttpError(529), Reply(say("done")), accepts_keys={"new"}) as server:
        events = await events_of(
            tmp_path,
            server,
            server,
            model=NAMES["anthropic"],
            fallback_models=("anthropic/claude-other",),
            refresh_api_key=newest,
        )
    ended = events[-1]
    assert isinstance(ended, Terminal)
    assert (ended.reason, len(server.requests)) == ("completed", 4)


@pytest.mark.parametrize(
    ("name", "small"),
    [
        (NAMES["anthropic"], "anthropic/claude-haiku-4-5"),
        (NAMES["openai"], "openai/gpt-5-mini"),
        (NAMES["chat"], "openai/gpt-4.1-mini"),
    ],
)
async def test_the_small_model_on_the_same_server_gets_the_new_key_too(tmp_path: Path, name: str, small: str):
    async def newest() -> str:
        await anyio.lowlevel.checkpoint()
        return "new"

    page = answer(200, b"<h1>Prices</h1><p>A pen is 2 EUR.</p>", content_type="text/html")
    with PageServer({"/": [page]}) as pages:
        looks = Reply(call("WebFetch", "t1", url=f"{pages.url}/", prompt="What does a pen cost?"))
        turns = (looks, Reply(say("2 EUR")), Reply(say("done")))
        with StrictServer(*turns, accepts_keys={"new"}) as server:
            events = await events_of(
                tmp_path,
                server,
                server,
                model=name,
                small_model=small,
                tools=None,
                web_private_hosts=[f"127.0.0.1:{pages.port}"],
                refresh_api_key=newest,
            )
    assert terminal(events).reason == "completed"
    main, little = name.split("/")[1], small.split("/")[1]
    assert [request.body["model"] for request in server.requests] == [main, main, little, little, main]
    assert "2 EUR" in str(server.requests[-1].body)


async def test_a_host_that_fails_to_give_a_key_does_not_end_the_engine(tmp_path: Path):
    async def broken() -> str:
        await anyio.lowlevel.checkpoint()
        raise RuntimeError("no keychain")

    with StrictServer(Reply(say("done")), accepts_keys={"new"}) as server:
        events = await events_of(tmp_path, server, server, model=NAMES["anthropic"], refresh_api_key=broken)
    ended = events[-1]
    assert isinstance(ended, Terminal)
    assert (ended.reason, ended.error_kind) == ("model_error", "authentication")
