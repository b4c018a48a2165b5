"""Every wire over a real connection: sent once, read to the end or closed, and every failure a typed error."""

import gc
import subprocess
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.providers import anthropic_stream, openai_stream, responses_stream
from tests.providers.requests import blocks_of, facts, failure_of, read_all, request
from tests.providers.wire_server import Answer, WireServer, wire_server

from ostinato.events import AnyModelEvent, BlockStop, TextDelta
from ostinato.messages import Text
from ostinato.ports import RequestMessage
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.deadlines import Deadlines
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel

AnyModel = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel
ADAPTERS = {"anthropic": AnthropicModel, "openai": OpenAIChatModel, "responses": OpenAIResponsesModel}
SIMPLE = {
    "anthropic": anthropic_stream.SIMPLE,
    "openai": openai_stream.SIMPLE,
    "responses": responses_stream.SIMPLE,
}
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "responses": "/v1/responses"}


class Wire:
    """One of the wires: its adapter and how its server talks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.simple = SIMPLE[name]

    def model(self, url: str, **settings: Any) -> AnyModel:
        known = facts("anthropic" if self.name == "anthropic" else "openai")
        return ADAPTERS[self.name](known, base_url=url, api_key="key-1", settings=HttpSettings(**settings))

    def text(self, piece: str) -> bytes:
        match self.name:
            case "anthropic":
                return anthropic_stream.sse(anthropic_stream.text(piece))
            case "openai":
                return openai_stream.chunk({"content": piece})
            case _:
                return responses_stream.sse(responses_stream.text(piece))

    @property
    def start(self) -> bytes:
        """Up to and with a first piece of text."""
        if self.name != "anthropic":
            return self.text("hi")
        return anthropic_stream.sse(
            anthropic_stream.START, anthropic_stream.opened_text(), anthropic_stream.text("hi")
        )


@pytest.fixture(params=["anthropic", "openai", "responses"])
def wire(request: pytest.FixtureRequest) -> Wire:
    return Wire(str(request.param))


async def wait_for(event: Any) -> bool:
    return await anyio.to_thread.run_sync(event.wait, 10.0)


async def test_three_calls_in_a_row_use_one_connection(wire: Wire):
    with wire_server(*[Answer([wire.simple])] * 3) as server:
        model = wire.model(server.url)
        for _ in range(3):
            assert blocks_of(await read_all(model, request())) == [Text("hi")]
        assert server.connections == 1
        await model.aclose()


async def test_who_stops_after_the_last_event_still_leaves_the_connection_behind(wire: Wire):
    # What follows the last event comes in chunks of its own, after the reader has lost interest.
    with wire_server(*[Answer([wire.simple, b": bye\n\n", b": bye\n\n"])] * 2) as server:
        model = wire.model(server.url)
        for _ in range(2):
            async with model.stream(request()) as batches:
                async for batch in batches:
                    if any(isinstance(event, BlockStop) for event in batch):
                        break
        assert server.connections == 1
        await model.aclose()


async def test_a_refused_call_leaves_the_connection_behind_too(wire: Wire):
    with wire_server(Answer([b"{}"], status=500), Answer([wire.simple])) as server:
        model = wire.model(server.url)
        assert (await failure_of(model, request())).kind == "server"
        await read_all(model, request())
        assert server.connections == 1
        await model.aclose()


async def test_one_batch_comes_for_each_chunk_of_the_network(wire: Wire):
    with wire_server(Answer([wire.start, wire.text("a") + wire.text("b")], cut=True)) as server:
        model = wire.model(server.url)
        got: list[Sequence[AnyModelEvent]] = []
        await failure_of(model, request(), into=got)
        assert [type(event) for event in got[-1]] in ([TextDelta, TextDelta], [TextDelta])
        await model.aclose()


@pytest.mark.parametrize("cut", [True, False], ids=["connection lost", "clean end"])
async def test_a_stream_that_breaks_is_a_cut_and_what_came_was_given_out(wire: Wire, cut: bool):
    with wire_server(Answer([wire.start], cut=cut), Answer([wire.simple])) as server:
        model = wire.model(server.url)
        got: list[Sequence[AnyModelEvent]] = []
        error = await failure_of(model, request(), into=got)
        assert (error.kind, error.retry) == ("stream_cut", True)
        assert [event.text for batch in got for event in batch if isinstance(event, TextDelta)] == ["hi"]
        # The next call is none the worse for it.
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()


async def test_what_comes_in_one_chunk_with_an_error_is_given_out_before_it(wire: Wire):
    error = (
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}\n\n'
    )
    with wire_server(Answer([wire.start + error])) as server:
        model = wire.model(server.url)
        got: list[Sequence[AnyModelEvent]] = []
        assert (await failure_of(model, request(), into=got)).kind == "overloaded"
        assert [event.text for batch in got for event in batch if isinstance(event, TextDelta)] == ["hi"]
        await model.aclose()


async def test_a_failure_in_the_middle_carries_the_id_that_the_head_gave(wire: Wire):
    headers = {"Content-Type": "text/event-stream", "Request-Id": "req_1"}
    error = b'event: error\ndata: {"type": "error", "error": {"message": "no"}}\n\n'
    answers = (Answer([wire.start], cut=True, headers=headers), Answer([wire.start, error], headers=headers))
    with wire_server(*answers) as server:
        model = wire.model(server.url)
        for _ in answers:
            failed = await failure_of(model, request())
            assert failed.request_id == "req_1"
            assert failed.hint
        await model.aclose()


async def test_leaving_in_the_middle_closes_the_connection(wire: Wire):
    with wire_server(Answer([wire.start], hold=True), Answer([wire.simple])) as server:
        model = wire.model(server.url)
        async with model.stream(request()) as batches:
            await anext(aiter(batches))
        assert await wait_for(server.is_left)
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        assert server.connections == 2
        await model.aclose()


async def test_cancelling_while_waiting_for_the_next_chunk_closes_the_connection(wire: Wire):
    with wire_server(Answer([wire.start], hold=True)) as server:
        model = wire.model(server.url)
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                async with model.stream(request()) as batches:
                    async for _ in batches:
                        tasks.cancel_scope.cancel()

            tasks.start_soon(read)
        assert await wait_for(server.is_left)
        await model.aclose()


async def test_a_consumer_that_stops_reading_stops_the_server(wire: Wire):
    total = 64 * 1024 * 1024
    chunk = wire.text("x" * 65_536)
    with wire_server(Answer([wire.start, *[chunk] * (total // len(chunk))])) as server:
        model = wire.model(server.url)
        async with model.stream(request()) as batches:
            await anext(aiter(batches))
            assert await wait_for(server.is_stalled)
            assert server.sent_bytes < total / 2
        await model.aclose()


async def test_a_server_that_goes_quiet_is_a_timeout(wire: Wire):
    with wire_server(Answer([wire.start], hold=True), Answer([], hold=True)) as server:
        model = wire.model(server.url, deadlines=Deadlines(first_byte_s=0.1, idle_s=0.1))
        for kind in ("stalled", "timeout"):
            error = await failure_of(model, request())
            assert (error.kind, error.retry) == (kind, True)
        await model.aclose()


async def test_an_address_where_nobody_listens_is_named(wire: Wire):
    with wire_server() as server:
        url = server.url
    model = wire.model(url)
    error = await failure_of(model, request())
    assert (error.kind, error.retry) == ("connection", True)
    assert url in error.message
    assert error.hint
    await model.aclose()


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html", b"<html><title>Welcome</title></html>", "malformed_response"),
        ("application/json", b'{"object": "list"}', "malformed_response"),
        ("application/json", b'{"error": {"type": "overloaded_error", "message": "busy"}}', "overloaded"),
        ("text/plain", b"", "malformed_response"),
    ],
)
async def test_an_answer_that_is_no_event_stream_is_named_for_what_it_is(
    wire: Wire, content_type: str, body: bytes, kind: str
):
    with wire_server(Answer([body] if body else [], headers={"Content-Type": content_type})) as server:
        model = wire.model(server.url)
        error = await failure_of(model, request())
        assert error.kind == kind
        if kind == "malformed_response":
            assert content_type in error.message
            assert error.hint
        await model.aclose()


@pytest.mark.parametrize(
    ("status", "kind", "retry"),
    [
        (400, "invalid_request", False),
        (401, "authentication", False),
        (402, "billing", False),
        (403, "permission", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (413, "request_too_large", False),
        (429, "rate_limit", True),
        (500, "server", True),
        (502, "server", True),
        (504, "timeout", True),
        (529, "overloaded", True),
        (302, "unknown", False),
    ],
)
async def test_every_status_has_its_kind_and_carries_what_the_server_wished(
    wire: Wire, status: int, kind: str, retry: bool
):
    headers = {
        "Content-Type": "application/json",
        "Retry-After": "7",
        "Request-Id": "req_1",
        "Location": "http://127.0.0.1:1/elsewhere",
    }
    body = b'{"error": {"message": "no", "type": ""}}'
    with wire_server(Answer([body], status=status, headers=headers)) as server:
        model = wire.model(server.url)
        error = await failure_of(model, request())
        assert (error.kind, error.retry, error.status) == (kind, retry, status)
        assert (error.retry_after_s, error.request_id) == (7.0, "req_1")
        assert len(server.received) == 1
        await model.aclose()


async def test_an_endless_error_page_is_read_only_so_far(wire: Wire):
    with wire_server(Answer([b"x" * 65_536] * 2000, status=500)) as server:
        model = wire.model(server.url)
        assert (await failure_of(model, request())).kind == "server"
        await model.aclose()
        assert await wait_for(server.is_left)
        assert server.sent_bytes < 65_536 * 1000


async def test_a_model_outlives_the_event_loop_it_was_first_used_on(wire: Wire):
    with wire_server(Answer([wire.simple]), Answer([wire.simple])) as server, warnings.catch_warnings():
        # The first loop ends with its connection still open: that is the case in question.
        warnings.simplefilter("ignore", ResourceWarning)
        model = wire.model(server.url)
        elsewhere = await anyio.to_thread.run_sync(anyio.run, read_all, model, request())
        assert blocks_of(await read_all(model, request())) == blocks_of(elsewhere)
        await model.aclose()
        gc.collect()


async def test_only_the_given_environment_counts(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    with wire_server(Answer([wire.simple])) as server:
        model = wire.model(server.url)
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()


async def test_what_is_asked_of_the_server(wire: Wire):
    with wire_server(Answer([wire.simple])) as server:
        model = wire.model(server.url, extra_headers={"X-Team": "blue"})
        await read_all(model, request())
        await model.aclose()
        (sent,) = server.received
    assert sent.path == PATHS[wire.name]
    assert sent.headers["accept-encoding"] == "identity"
    assert sent.headers["user-agent"].startswith("ostinato")
    assert sent.headers["x-team"] == "blue"
    is_anthropic = wire.name == "anthropic"
    key = ("x-api-key", "key-1") if is_anthropic else ("authorization", "Bearer key-1")
    assert sent.headers[key[0]] == key[1]
    assert sent.json["stream"] is True
    assert "chain" not in sent.body.decode()  # how queries nest is nobody's business out there


@pytest.mark.parametrize("value", ["a\nb", "ü…"])
async def test_a_header_that_cannot_be_sent_is_refused_without_a_retry(wire: Wire, value: str):
    with wire_server() as server:
        model = wire.model(server.url, extra_headers={"x-team": value})
        error = await failure_of(model, request())
        assert (error.kind, error.retry) == ("connection", False)
        await model.aclose()


async def test_a_proxy_is_used_and_an_exempt_host_is_not(wire: Wire):
    def environment(proxy: WireServer, **more: str) -> dict[str, str]:
        return {"HTTP_PROXY": proxy.url, **more}

    with wire_server(Answer([wire.simple])) as proxy, wire_server(Answer([wire.simple])) as server:
        model = wire.model("http://model.invalid", environment=environment(proxy))
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        assert proxy.received[0].path.startswith("http://model.invalid/")
        direct = wire.model(server.url, environment=environment(proxy, no_proxy="127.0.0.1"))
        await read_all(direct, request())
        assert (len(proxy.received), len(server.received)) == (1, 1)
        await model.aclose()
        await direct.aclose()


async def test_a_body_holds_valid_text_only(wire: Wire):
    with wire_server(Answer([wire.simple])) as server:
        model = wire.model(server.url)
        await read_all(model, request([RequestMessage("user", (Text("a\ud835b"),))]))
        await model.aclose()
    assert "a\ufffdb" in server.received[0].body.decode()


def test_importing_the_adapters_loads_no_http_library():
    program = (
        "import sys, ostinato.providers.anthropic, ostinato.providers.openai_chat, ostinato.providers.openai_responses, ostinato.providers.connect;"
        "sys.exit(any(name in sys.modules for name in ('httpx2', 'ssl', 'urllib.request')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
