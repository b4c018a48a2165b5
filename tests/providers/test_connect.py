"""From name and environment to a model: the right wire, address and key, or a refusal that says what to set."""

import pytest
from tests.providers import anthropic_stream, openai_stream
from tests.providers.requests import read_all, request
from tests.providers.wire_server import Answer, wire_server

from ostinato.errors import ConfigurationError, ModelError
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.catalogue import DEFAULT_MODELS
from ostinato.providers.connect import model_from_environment
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel

ANTHROPIC_KEY = {"ANTHROPIC_API_KEY": "k"}
OPENAI_KEY = {"OPENAI_API_KEY": "k"}


@pytest.mark.parametrize(
    ("name", "environment", "adapter", "full_name"),
    [
        (None, ANTHROPIC_KEY, AnthropicModel, DEFAULT_MODELS["anthropic"]),
        (None, {"ANTHROPIC_AUTH_TOKEN": "t"}, AnthropicModel, DEFAULT_MODELS["anthropic"]),
        (None, OPENAI_KEY, OpenAIResponsesModel, DEFAULT_MODELS["openai"]),
        (None, OPENAI_KEY | ANTHROPIC_KEY, AnthropicModel, DEFAULT_MODELS["anthropic"]),
        ("gpt-5.5", OPENAI_KEY | ANTHROPIC_KEY, OpenAIResponsesModel, "openai/gpt-5.5"),
        ("openai-chat/gpt-5.5", OPENAI_KEY, OpenAIChatModel, "openai/gpt-5.5"),
        ("gpt-4.1", OPENAI_KEY, OpenAIChatModel, "openai/gpt-4.1"),
        ("openai/gpt-7-new", OPENAI_KEY, OpenAIResponsesModel, "openai/gpt-7-new"),
        ("openai-responses/gpt-4.1", OPENAI_KEY, OpenAIResponsesModel, "openai/gpt-4.1"),
        ("openai-responses/llama", OPENAI_KEY, OpenAIResponsesModel, "openai/llama"),
        ("openai/llama", {"OPENAI_BASE_URL": "http://127.0.0.1:8080"}, OpenAIChatModel, "openai/llama"),
        ("anthropic/llama", {"ANTHROPIC_BASE_URL": "http://h"}, AnthropicModel, "anthropic/llama"),
    ],
)
def test_name_and_keys_choose_the_wire(
    name: str | None, environment: dict[str, str], adapter: type, full_name: str
):
    model = model_from_environment(name, environment)
    assert isinstance(model, adapter)
    assert f"{model.facts.provider}/{model.facts.id}" == full_name


@pytest.mark.parametrize(
    ("name", "environment", "words"),
    [
        ("opus", {}, ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "--model local"]),
        ("opus", OPENAI_KEY, ["ANTHROPIC_API_KEY"]),
        ("opus", {"ANTHROPIC_API_KEY": " "}, ["ANTHROPIC_API_KEY"]),
        ("gpt-5.5", ANTHROPIC_KEY, ["OPENAI_API_KEY", "OPENAI_BASE_URL", "--model local"]),
        (None, {}, ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "--model local"]),
        (None, {"OPENAI_BASE_URL": "http://h"}, ["--model"]),
        ("opuss", ANTHROPIC_KEY, ["opus"]),
        ("gpt-5.5", {"OPENAI_BASE_URL": "h:1"}, ["http://"]),
        ("gpt-5.5", {"OPENAI_API_KEY": "k…"}, ["OPENAI_API_KEY"]),
        ("gpt-5.5", {"OPENAI_API_KEY": "k\nx: y"}, ["OPENAI_API_KEY"]),
    ],
)
def test_a_refusal_names_what_to_set(name: str | None, environment: dict[str, str], words: list[str]):
    with pytest.raises(ConfigurationError) as caught:
        model_from_environment(name, environment)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "base_url", "models", "adapter"),
    [
        ("gpt-5.5", "http://127.0.0.1:8080/v1", {}, OpenAIChatModel),
        ("openai/gpt-7-new", "https://gateway.example/openai.com", {}, OpenAIChatModel),
        ("gpt-5.5", "https://notopenai.com/v1", {}, OpenAIChatModel),
        ("gpt-5.5", "https://eu.api.OpenAI.com/v1", {}, OpenAIResponsesModel),
        ("openai-responses/gpt-5.5", "http://127.0.0.1:8080", {}, OpenAIResponsesModel),
        ("openai-responses/llama", "http://127.0.0.1:8080", {}, OpenAIResponsesModel),
        ("gpt-5.5", "http://127.0.0.1:8080", {"gpt-5.5": {"openai_wire": "responses"}}, OpenAIResponsesModel),
        ("openai-responses/gpt-5.5", "", {"openai/gpt-5.5": {"openai_wire": "chat"}}, OpenAIChatModel),
    ],
)
def test_a_server_of_ones_own_is_spoken_to_over_the_older_wire_unless_somebody_says_otherwise(
    name: str, base_url: str, models: dict[str, dict[str, str]], adapter: type
):
    model = model_from_environment(name, OPENAI_KEY | {"OPENAI_BASE_URL": base_url}, models=models)
    assert isinstance(model, adapter)


def test_overrides_reach_the_facts():
    assert (
        model_from_environment(
            "opus", ANTHROPIC_KEY, {"context_window": 50_000, "max_output_tokens": 5_000}
        ).facts.context_window
        == 50_000
    )


@pytest.mark.parametrize(
    ("environment", "header", "value"),
    [
        ({"ANTHROPIC_API_KEY": "k"}, "x-api-key", "k"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, "authorization", "Bearer t"),
        ({"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}, "authorization", "Bearer t"),
        ({"OPENAI_API_KEY": "k"}, "authorization", "Bearer k"),
        ({}, "authorization", None),
        ({}, "x-api-key", None),
    ],
)
async def test_keys_go_where_the_wire_wants_them(environment: dict[str, str], header: str, value: str | None):
    is_openai = "OPENAI_API_KEY" in environment
    stream = openai_stream.SIMPLE if is_openai else anthropic_stream.SIMPLE
    with wire_server(Answer([stream])) as server:
        urls = {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
        model = model_from_environment("gpt-5.5" if is_openai else "opus", environment | urls)
        await read_all(model, request())
        await model.aclose()
    assert server.received[0].headers.get(header) == value


async def test_the_certificates_that_are_named_must_be_there():
    model = model_from_environment("opus", ANTHROPIC_KEY | {"SSL_CERT_FILE": "/nowhere/ca.pem"})
    with pytest.raises(ConfigurationError) as caught:
        await read_all(model, request())
    assert "/nowhere/ca.pem" in caught.value.message
    assert "SSL_CERT_FILE" in caught.value.hint


@pytest.mark.parametrize("address", ["http://me:geheim@127.0.0.1:1?key=geheim", "{server}?key=geheim"])
async def test_what_is_secret_in_an_address_is_in_no_error(address: str):
    with wire_server(Answer(status=404)) as server:
        url = address.format(server=server.url.replace("//", "//me:geheim@"))
        model = model_from_environment("opus", {"ANTHROPIC_BASE_URL": url})
        with pytest.raises(ModelError) as caught:
            await read_all(model, request())
        await model.aclose()
    assert "127.0.0.1" in str(caught.value)
    assert "geheim" not in str(caught.value)
