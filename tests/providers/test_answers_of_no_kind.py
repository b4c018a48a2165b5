"""A reply is known by what it holds, not by what the server calls it; what is no reply is named, and never dumped."""

from collections.abc import Mapping

import pytest
from tests.providers.openai_stream import SIMPLE, USAGE
from tests.providers.requests import blocks_of, facts, failure_of, read_all, request, stop_of
from tests.providers.wire_server import EVENT_STREAM, Answer, wire_server
from tests.providers.wires import WIRES

from ostinato.messages import Text
from ostinato.providers.deadlines import Deadlines
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel

every_wire = pytest.mark.parametrize("wire", WIRES)
VAGUE: list[Mapping[str, str]] = [
    {"Content-Type": "text/plain"},
    {"Content-Type": "text/plain; charset=utf-8"},
    {"Content-Type": "application/octet-stream"},
    {"Content-Type": ""},
    {},
]


@every_wire
@pytest.mark.parametrize("headers", VAGUE)
async def test_a_stream_under_a_vague_name_or_none_is_read(wire: str, headers: Mapping[str, str]):
    stream = WIRES[wire].text(["he", "llo"])
    with wire_server(Answer([stream[:1], stream[1:20], stream[20:]], headers=headers)) as server:
        model = WIRES[wire].model(server.url)
        assert blocks_of(await read_all(model, request())) == [Text("hello")]
        await model.aclose()


@every_wire
@pytest.mark.parametrize("headers", [*VAGUE, EVENT_STREAM])
@pytest.mark.parametrize(
    "body", [b"It works!", b"<html><title>Hi</title></html>", b"a\n\nb\n\n", b"database\n"]
)
async def test_an_answer_that_is_no_stream_is_no_cut_reply(
    wire: str, headers: Mapping[str, str], body: bytes
):
    with wire_server(Answer([body[:1], body[1:]], headers=headers)) as server:
        model = WIRES[wire].model(server.url)
        error = await failure_of(model, request())
        assert (error.kind, error.retry) == ("malformed_response", False)
        assert "``" not in error.message
        await model.aclose()


@every_wire
@pytest.mark.parametrize("headers", [EVENT_STREAM, {}])
async def test_silence_and_half_an_event_are_a_cut_reply(wire: str, headers: Mapping[str, str]):
    for chunks in ([], [b"\n\n"], [b": ping\n\n"], [b"d"], [b"event: mess"], [b"\xef\xbb\xbfid: 1"]):
        with wire_server(Answer(chunks, headers=headers)) as server:
            model = WIRES[wire].model(server.url)
            error = await failure_of(model, request())
            assert (error.kind, error.retry) == ("stream_cut", True)
            await model.aclose()


@every_wire
async def test_a_stream_that_the_server_calls_a_page_is_not_shown_raw(wire: str):
    stream = WIRES[wire].text(["hello"])
    with wire_server(Answer([stream], headers={"Content-Type": "text/html"})) as server:
        model = WIRES[wire].model(server.url)
        error = await failure_of(model, request())
        assert error.kind == "malformed_response"
        assert "data:" not in error.message
        await model.aclose()


# ------------------------------------------------------------------ Chat: a finish reason is the end

FINISHED = WIRES["chat"].text(["hi"]).removesuffix(b"data: [DONE]\n\n")
NOTHING_MORE = {
    "silence": Answer([FINISHED], hold=True),
    "the end": Answer([FINISHED]),
    "a broken connection": Answer([FINISHED], cut=True),
    "half an event": Answer([FINISHED, b"data: {"], cut=True),
}


@pytest.mark.parametrize("answer", NOTHING_MORE.values(), ids=NOTHING_MORE.keys())
async def test_a_reply_with_its_finish_reason_is_whole_whatever_follows(answer: Answer):
    with wire_server(answer) as server:
        model = OpenAIChatModel(
            facts("openai"), base_url=server.url, settings=HttpSettings(deadlines=Deadlines(idle_s=0.3))
        )
        assert blocks_of(await read_all(model, request())) == [Text("hi")]
        await model.aclose()


async def test_counts_that_come_at_once_are_taken_along():
    end = SIMPLE.index(b'"finish_reason": "stop"')
    with wire_server(Answer([SIMPLE[:end], SIMPLE[end:]])) as server:
        model = OpenAIChatModel(facts("openai"), base_url=server.url)
        assert stop_of(await read_all(model, request())).usage.output_tokens == USAGE["completion_tokens"]
        await model.aclose()
