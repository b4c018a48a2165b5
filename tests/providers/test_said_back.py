"""A server that says a secret back to us: no error holds it, so no terminal, session file, log or JSON can."""

from typing import Any

import msgspec
import pytest
from tests.providers import anthropic_stream, responses_stream
from tests.providers.requests import facts, failure_of, request
from tests.providers.wire_server import Answer, wire_server

from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpSettings
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel

ADAPTERS = {"anthropic": AnthropicModel, "openai": OpenAIChatModel, "responses": OpenAIResponsesModel}
SECRETS = {
    "the key": "key-1-of-this-run",
    "a header": "tok-CUSTOM-HDR-99887766",
    "a password of the environment": "passw0rd-of-env",
    "a password of the proxy": "gwpassw0rd",
    "another key": "sk-proj-ANOTHER-abcdefghijklmnop",
}
PLACES = ["message", "code", "request id", "page", "middle", "refusal under a good status"]


def _answer(place: str, wire: str, said: str) -> Answer:
    error: dict[str, Any] = {"type": "x", "message": "no", "code": "y"}
    event_stream = {"content-type": "text/event-stream", "request-id": said}
    json = {"content-type": "application/json", "request-id": said}
    match place:
        case "message" | "code":
            body = {"type": "error", "error": {**error, place: f"invalid key {said}, sent by you"}}
            return Answer([msgspec.json.encode(body)], 401, json)
        case "request id":
            return Answer([msgspec.json.encode({"error": error, "request_id": said})], 400, json)
        case "page":
            return Answer(
                [f"<html><title>who is {said}</title></html>".encode()], 500, {"content-type": "text/html"}
            )
        case "middle":
            return Answer([_error_event(wire, {**error, "message": f"invalid {said}"})], 200, event_stream)
        case _:
            body = {"error": {**error, "message": f"invalid {said}"}}
            return Answer([msgspec.json.encode(body)], 200, json)


def _error_event(wire: str, error: dict[str, Any]) -> bytes:
    match wire:
        case "anthropic":
            return anthropic_stream.sse({"type": "error", "error": error})
        case "openai":
            return b"data: %s\n\n" % msgspec.json.encode({"error": error})
        case _:
            return responses_stream.sse({"type": "error", **error})


@pytest.mark.parametrize("said", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wire", ADAPTERS)
async def test_no_error_holds_a_secret_that_the_server_says_back(wire: str, place: str, said: str) -> None:
    settings = HttpSettings(
        {
            "DB_PASSWORD": "passw0rd-of-env",
            "all_proxy": "http://user:gwpassw0rd@127.0.0.1:9",
            "no_proxy": "*",
        },
        {"x-gateway": "Token tok-CUSTOM-HDR-99887766"},
    )
    with wire_server(_answer(place, wire, said)) as server:
        known = facts("anthropic" if wire == "anthropic" else "openai")
        model = ADAPTERS[wire](known, base_url=server.url, api_key="key-1-of-this-run", settings=settings)
        error = await failure_of(model, request())
        await model.aclose()
    texts = (str(error), repr(error), error.hint, error.provider_code, error.request_id, str(error.args))
    assert [text for text in texts if said in text] == []


async def test_ordinary_words_of_a_refusal_stay_as_they_are() -> None:
    words = "application/json of 2023-06-01 is not what max_tokens wants"
    with wire_server(Answer([msgspec.json.encode({"error": {"message": words}})], 400)) as server:
        model = AnthropicModel(facts("anthropic"), base_url=server.url, api_key="key-1-of-this-run")
        assert words in str(await failure_of(model, request()))
        await model.aclose()
