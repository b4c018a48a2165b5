"""A server that refuses parameters one after the other: each is given up once and for good, and no request is sent twice alike."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.providers.requests import facts, failure_of, read_all, request

from ostinato.errors import ModelError
from ostinato.messages import Text
from ostinato.ports import RequestMessage
from ostinato.ports import Thinking as ThinkingWish
from ostinato.providers.anthropic import AnthropicModel
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.given_up import GivenUp
from ostinato.providers.openai_chat import OpenAIChatModel
from ostinato.providers.openai_responses import OpenAIResponsesModel
from ostinato.providers.refused_parameters import adjusted, refused_parameter
from ostinato.testing import HttpError, Reply, StrictServer, WireRules, say

NOW = datetime(2026, 11, 30, tzinfo=UTC)
AnyModel = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel
ASKED: dict[str, Any] = {"temperature": 0.5, "thinking": ThinkingWish(5_000), "max_output_tokens": 6_000}
WISHED = request(**ASKED)
TALKATIVE = request([RequestMessage("user", (Text("and now?"),))], **ASKED)


def refuses(*names: str) -> Any:
    """A script that refuses the first of these parameters that a request still has, as the service words it."""

    def script(body: dict[str, Any], number: int) -> Reply | HttpError:
        for name in names:
            if name in body:
                error = {
                    "message": f"Unsupported parameter: '{name}'",
                    "code": "unsupported_parameter",
                    "param": name,
                }
                return HttpError(400, {"error": {"type": "invalid_request_error", **error}})
        return Reply(say("hi"))

    return script


async def sent_until_it_works(model: AnyModel, server: StrictServer) -> list[set[str]]:
    """The parameters of each request until one is answered; the retries are those that the errors allow."""
    for _ in range(10):
        try:
            await read_all(model, WISHED)
            break
        except ModelError as error:
            if not error.retry:
                raise
    return [set(sent.body) for sent in server.requests]


def chat(url: str) -> OpenAIChatModel:
    return OpenAIChatModel(facts("openai", thinking_form="effort"), base_url=url)


async def test_each_refused_parameter_is_given_up_and_stays_so():
    with StrictServer(
        script=refuses("temperature", "max_tokens", "stream_options", "reasoning_effort")
    ) as server:
        model = chat(server.url)
        bodies = await sent_until_it_works(model, server)
        assert len(bodies) == 5
        assert not {"temperature", "max_tokens", "stream_options", "reasoning_effort"} & bodies[-1]
        assert "max_completion_tokens" in bodies[-1]
        await read_all(model, TALKATIVE)
        assert len(server.requests) == 6
        await model.aclose()


async def test_the_real_rules_of_a_reasoning_model_are_found_out():
    rules = WireRules(takes_temperature=False, output_parameter="max_completion_tokens")
    with StrictServer(Reply(say("hi")), rules=rules) as server:
        model = chat(server.url)
        assert len(await sent_until_it_works(model, server)) == 3
        await model.aclose()


@pytest.mark.parametrize(
    ("names", "adapter", "form"),
    [
        (("include", "prompt_cache_key", "parallel_tool_calls", "reasoning"), OpenAIResponsesModel, "effort"),
        (("thinking", "temperature"), AnthropicModel, "adaptive"),
    ],
)
async def test_every_wire_can_do_without(names: tuple[str, ...], adapter: type[AnyModel], form: Any):
    known = facts("anthropic" if adapter is AnthropicModel else "openai", thinking_form=form)
    with StrictServer(script=refuses(*names)) as server:
        model = adapter(known, base_url=server.url)
        bodies = await sent_until_it_works(model, server)
        assert len(bodies) == len(names) + 1
        assert not set(names) & bodies[-1]
        await model.aclose()


async def test_an_account_that_gets_no_summaries_keeps_its_effort():
    message = "Your organization must be verified to generate reasoning summaries."
    error = {"message": message, "code": "unsupported_value", "param": "reasoning.summary"}
    with StrictServer(HttpError(400, {"error": error}), Reply(say("hi"))) as server:
        model = OpenAIResponsesModel(facts("openai", thinking_form="effort"), base_url=server.url)
        assert len(await sent_until_it_works(model, server)) == 2
        await model.aclose()
        assert server.requests[-1].body["reasoning"] == {"effort": "medium"}


def test_requests_that_were_under_way_together_are_all_sent_again():
    """They are refused for the same parameter; the first refusal gives it up, and the others left before that."""
    given_up = GivenUp(frozenset({"stream_options"}))
    refusal = msgspec.json.encode({"error": {"message": "Unsupported parameter: 'stream_options'"}})
    bodies = [b'{"stream_options":{"include_usage":true},"messages":[]}'] * 3 + [b'{"messages":[]}']
    errors = [
        adjusted(ModelError("no", kind="invalid_request"), failure, given_up)
        for failure in (HttpFailure("http://h", 400, {}, refusal, NOW, body) for body in bodies)
    ]
    assert [(error.recover, error.retry) for error in errors] == [("send_changed", True)] * 3 + [
        ("none", False)
    ]


@pytest.mark.parametrize("names", [("tools",), ("max_tokens", "max_completion_tokens"), ("store",)])
async def test_what_carries_meaning_or_was_given_up_already_is_an_error_that_stays(names: tuple[str, ...]):
    adapter: type[AnyModel] = OpenAIResponsesModel if names == ("store",) else OpenAIChatModel
    with StrictServer(script=refuses(*names)) as server:
        model = adapter(facts("openai"), base_url=server.url)
        errors = [await failure_of(model, WISHED) for _ in range(3)]
        await model.aclose()
    assert not errors[-1].retry
    assert [error.retry for error in errors].count(True) == len(names) - 1


@pytest.mark.parametrize(
    ("status", "error", "name"),
    [
        (400, {"message": "no", "code": "unsupported_value", "param": "temperature"}, "temperature"),
        (
            400,
            {"message": "Unsupported value: 'temperature' does not support 0.5 with this model."},
            "temperature",
        ),
        (400, {"message": "Unrecognized request argument supplied: stream_options"}, "stream_options"),
        (400, {"message": "stream_options: Extra inputs are not permitted"}, "stream_options"),
        (400, {"message": "`temperature` is deprecated for this model."}, "temperature"),
        (422, {"message": "Unknown field: prompt_cache_key"}, "prompt_cache_key"),
        (400, {"message": "Unsupported parameter: 'reasoning.effort'"}, "reasoning.effort"),
        (400, {"message": "messages: roles must alternate", "param": "messages"}, ""),
        (400, {"message": "no such thing"}, ""),
        (500, {"message": "Unsupported parameter: 'temperature'"}, ""),
    ],
)
def test_the_refused_parameter_is_known_by_code_or_words(status: int, error: dict[str, str], name: str):
    body = msgspec.json.encode({"error": error})
    assert refused_parameter(HttpFailure("http://h", status, {}, body, NOW)) == name
