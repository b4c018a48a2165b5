"""What a connection fails with is told in words: no reader knows the names of the classes beneath."""

import anyio
import httpcore2
import pytest
from tests.providers.requests import failure_of, request
from tests.providers.wire_server import Answer, wire_server
from tests.providers.wires import WIRES

from ostinato.providers.http import CLASS_NAME, reading_error, sending_error

SILENT = (
    httpcore2.ConnectError,
    httpcore2.ConnectTimeout,
    httpcore2.PoolTimeout,
    httpcore2.ProxyError,
    httpcore2.ReadError,
    httpcore2.ReadTimeout,
    httpcore2.RemoteProtocolError,
    httpcore2.WriteError,
    httpcore2.WriteTimeout,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
)


@pytest.mark.parametrize("kind", SILENT)
@pytest.mark.parametrize("make", [sending_error, reading_error])
def test_a_fault_without_words_gets_some(kind: type[Exception], make: object):
    told = sending_error if make is sending_error else reading_error
    for error in (kind(), kind(anyio.BrokenResourceError()), kind("BrokenResourceError()")):
        message = told(error, "http://h").message
        assert not CLASS_NAME.search(message)
        assert kind.__name__ not in message
        assert message.rpartition(": ")[2].strip()


def test_what_a_fault_says_itself_is_kept():
    for said in ("[Errno 111] Connection refused", "Server disconnected without sending a response."):
        assert said in sending_error(httpcore2.ConnectError(said), "http://h").message
        assert said in reading_error(httpcore2.ReadError(said), "http://h").message


@pytest.mark.parametrize("wire", WIRES)
async def test_a_connection_that_breaks_is_told_in_words(wire: str):
    with wire_server(Answer([b"event: a\n"], cut=True)) as server:
        model = WIRES[wire].model(server.url)
        error = await failure_of(model, request())
        await model.aclose()
    assert not CLASS_NAME.search(error.message)
