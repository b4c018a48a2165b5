"""What refusals mean: many vendors' words, one answer for the loop."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.providers.requests import facts

from ostinato.providers.classify import classify_anthropic, classify_openai
from ostinato.providers.exchange import HttpFailure

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def failure(status: int, body: Any, headers: dict[str, str] | None = None) -> HttpFailure:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpFailure("http://h/v1/x", status, headers or {}, raw, NOW)


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_body"}


def openai(message: str, **fields: Any) -> dict[str, Any]:
    return {
        "error": {"message": message, "type": "invalid_request_error", "param": None, "code": None} | fields
    }


@pytest.mark.parametrize(
    ("status", "body", "kind", "recover"),
    [
        (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "prompt_too_long", "compact"),
        (400, anthropic("invalid_request_error", "Prompt Is Too Long"), "prompt_too_long", "compact"),
        (400, anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again"), "output_overflow", "shrink_output"),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), "request_too_large", "compact"),
        (413, anthropic("invalid_request_error", "Prompt is too long"), "prompt_too_long", "compact"),
        (400, anthropic("invalid_request_error", "messages.3.content.0.image.source.base64: image exceeds 5 MB maximum: 6 MB"), "media_too_large", "strip_media"),
        (400, anthropic("invalid_request_error", "image dimensions exceed max allowed size for many-image requests: 2000 pixels"), "media_too_large", "strip_media"),
        (400, anthropic("invalid_request_error", "A maximum of 100 PDF pages may be provided."), "media_too_large", "strip_media"),
        (400, anthropic("invalid_request_error", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."), "invalid_history", "repair_history"),
        (400, anthropic("invalid_request_error", "messages.1.content.1: `tool_use` ids must be unique"), "invalid_history", "repair_history"),
        (400, anthropic("invalid_request_error", "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x"), "invalid_history", "repair_history"),
        (400, anthropic("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block"), "invalid_history", "repair_history"),
        (400, anthropic("invalid_request_error", "messages: text content blocks must be non-empty"), "invalid_history", "repair_history"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), "billing", "none"),
        (401, anthropic("authentication_error", "invalid x-api-key"), "authentication", "refresh_auth"),
        (403, anthropic("permission_error", "not allowed"), "permission", "none"),
        (403, anthropic("permission_error", "OAuth token has been revoked"), "authentication", "refresh_auth"),
        (404, anthropic("not_found_error", "model: claude-x"), "not_found", "fallback_model"),
        (429, anthropic("rate_limit_error", "input tokens per minute: prompt is too long for your limit"), "rate_limit", "none"),
        (529, anthropic("overloaded_error", "Overloaded"), "overloaded", "fallback_model"),
        (500, anthropic("api_error", "Internal server error"), "server", "none"),
        (504, anthropic("timeout_error", "timed out"), "timeout", "none"),
        (418, anthropic("invalid_request_error", "teapot"), "invalid_request", "none"),
        (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}, "prompt_too_long", "compact"),
        (400, {"error": {"code": 400, "message": "no", "type": "exceed_context_size_error"}}, "prompt_too_long", "compact"),
        (400, {"message": "Input is too long for requested model."}, "prompt_too_long", "compact"),
    ],
)  # fmt: skip
def test_anthropic_refusals(status: int, body: Any, kind: str, recover: str):
    error = classify_anthropic(failure(status, body), facts("anthropic"))
    assert (error.kind, error.recover) == (kind, recover)
    assert error.retry == (kind in {"rate_limit", "overloaded", "server", "timeout"})


@pytest.mark.parametrize(
    ("status", "body", "kind", "recover"),
    [
        (400, openai("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", code="context_length_exceeded"), "prompt_too_long", "compact"),
        (400, openai("odd words", code="context_length_exceeded"), "prompt_too_long", "compact"),
        (400, openai("Your input exceeds the context window of this model."), "prompt_too_long", "compact"),
        (400, openai("This model's maximum context length is 131072 tokens. However, you requested 65536 output tokens and your prompt contains 65537 input tokens"), "output_overflow", "shrink_output"),
        (400, openai("max_tokens is too large: 100000. This model supports at most 16384 completion tokens"), "output_overflow", "shrink_output"),
        (400, openai("The input token count (2000000) exceeds the maximum number of tokens allowed"), "prompt_too_long", "compact"),
        (400, {"error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, "prompt_too_long", "compact"),
        (400, openai("Please reduce the length of the messages or completion."), "prompt_too_long", "compact"),
        (400, openai("This endpoint's maximum context length is 32768 tokens"), "prompt_too_long", "compact"),
        (400, openai("the request exceeds the available context size"), "prompt_too_long", "compact"),
        (400, {"error": "Trying to keep the first 9000 tokens when context the overflows. The number of tokens is greater than the context length"}, "prompt_too_long", "compact"),
        (400, {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}, "prompt_too_long", "compact"),
        (400, openai("invalid params, context window exceeds limit"), "prompt_too_long", "compact"),
        (400, openai("Your request exceeded model token limit: 131072"), "prompt_too_long", "compact"),
        (400, openai("litellm.ContextWindowExceededError: …"), "prompt_too_long", "compact"),
        (400, openai("prompt token count of 200000 exceeds the limit of 128000"), "prompt_too_long", "compact"),
        (413, openai("prompt is too long for this model"), "prompt_too_long", "compact"),
        (413, b"<html><head><title>413 Request Entity Too Large</title></head></html>", "request_too_large", "compact"),
        (413, b"", "request_too_large", "compact"),
        (400, b"", "invalid_request", "none"),
        (400, openai("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."), "invalid_history", "repair_history"),
        (400, openai("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."), "invalid_history", "repair_history"),
        (400, openai("The reasoning_content in the thinking mode must be passed back"), "invalid_history", "repair_history"),
        (400, openai("Unsupported parameter: 'max_tokens'", code="unsupported_parameter"), "invalid_request", "none"),
        (401, openai("Incorrect API key provided", code="invalid_api_key"), "authentication", "refresh_auth"),
        (404, openai("The model `x` does not exist", code="model_not_found"), "not_found", "fallback_model"),
        (404, {"detail": "Not Found"}, "not_found", "none"),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, "invalid_request", "none"),
        (429, openai("You exceeded your current quota", code="insufficient_quota"), "billing", "none"),
        (429, openai("Rate limit reached for tokens per min. maximum context length"), "rate_limit", "none"),
        (503, openai("The engine is currently overloaded"), "overloaded", "fallback_model"),
        (503, b"<html><title>503 Service Unavailable</title></html>", "server", "none"),
        (502, b"bad gateway", "server", "none"),
        (500, b"\xff\xfe", "server", "none"),
        (400, [1, 2], "invalid_request", "none"),
        (400, "just text", "invalid_request", "none"),
        (400, {"error": None}, "invalid_request", "none"),
    ],
)  # fmt: skip
def test_openai_refusals(status: int, body: Any, kind: str, recover: str):
    error = classify_openai(failure(status, body), facts("openai"))
    assert (error.kind, error.recover) == (kind, recover)
    assert error.retry == (kind in {"rate_limit", "overloaded", "server", "timeout"})


def test_the_providers_words_code_and_request_id_come_along():
    error = classify_anthropic(
        failure(400, anthropic("invalid_request_error", "no such thing")), facts("anthropic")
    )
    assert "no such thing" in error.message
    assert "anthropic/model-1" in error.message
    assert (error.provider_code, error.request_id, error.status) == ("invalid_request_error", "req_body", 400)
    header = classify_openai(failure(500, b"", {"x-request-id": "req_head"}), facts("openai"))
    assert header.request_id == "req_head"


def test_long_words_are_cut_and_pages_are_named_by_their_title():
    assert len(classify_openai(failure(400, openai("x" * 10_000)), facts("openai")).message) < 1000
    page = b"<!doctype html><html><head><title>Sign\n in</title></head>" + b"x" * 5000
    assert "`Sign in`" in classify_openai(failure(502, page), facts("openai")).message


def test_a_refusal_nested_too_deep_to_read_is_a_refusal_still():
    error = classify_openai(failure(500, b'{"error":' + b"[" * 100_000), facts("openai"))
    assert (error.kind, error.status) == ("server", 500)


@pytest.mark.parametrize(
    ("classify", "provider", "variable"),
    [
        (classify_anthropic, "anthropic", "ANTHROPIC_API_KEY"),
        (classify_openai, "openai", "OPENAI_API_KEY"),
    ],
)
def test_hints_say_what_to_do(classify: Any, provider: str, variable: str):
    def hint(status: int, body: Any, headers: dict[str, str] | None = None) -> str:
        return classify(failure(status, body, headers), facts(provider)).hint

    assert variable in hint(401, b"")
    assert "name of the model" in hint(404, openai("the model x does not exist"))
    assert "base URL" in hint(404, b"<html><title>Not found</title></html>")
    assert "http://other" in hint(301, b"", {"location": "http://other"})


@pytest.mark.parametrize(("value", "retry"), [("true", True), ("false", False), ("maybe", True)])
def test_the_server_may_say_itself_whether_to_retry(value: str, retry: bool):
    error = classify_openai(failure(500, b"", {"x-should-retry": value}), facts("openai"))
    assert error.retry is retry


@pytest.mark.parametrize(
    ("status", "body", "kind", "recover"),
    [
        (400, openai("Image was too large", code="image_too_large"), "media_too_large", "strip_media"),
        (400, openai("You uploaded an unsupported image. Please make sure your image is valid."), "invalid_media", "strip_media"),
        (400, openai("no", code="invalid_image_format"), "invalid_media", "strip_media"),
        (404, openai("No endpoints found that support image input"), "invalid_media", "strip_media"),
        (400, openai("This model does not support image inputs."), "invalid_media", "strip_media"),
        (400, anthropic("invalid_request_error", "Could not process image"), "invalid_media", "strip_media"),
        (400, anthropic("invalid_request_error", "The PDF specified is password protected."), "invalid_media", "strip_media"),
        (400, openai("Invalid prompt: flagged as potentially violating our usage policy", code="invalid_prompt"), "refused", "none"),
        (400, openai("The response was filtered", code="content_filter"), "refused", "none"),
        (400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), "refused", "none"),
        (429, openai("You exceeded your current quota, please check your plan. Please retry in 30.5s."), "rate_limit", "none"),
        (503, [{"error": {"code": 503, "message": "try later", "status": "UNAVAILABLE"}}], "overloaded", "fallback_model"),
        (400, [{"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).", "status": "INVALID_ARGUMENT"}}], "prompt_too_long", "compact"),
        (429, openai("Too Many Requests"), "rate_limit", "none"),
        (400, openai("No tool output found for function call call_1."), "invalid_history", "repair_history"),
        (400, openai("Item 'rs_1' of type 'reasoning' was provided without its required following item."), "invalid_history", "repair_history"),
        (400, openai("The encrypted content gAAA could not be verified.", code="invalid_encrypted_content"), "invalid_history", "repair_history"),
        (400, openai("The requested model 'x' does not exist.", code="model_not_found"), "not_found", "fallback_model"),
        (401, openai("expired", code="token_expired"), "authentication", "refresh_auth"),
        (503, openai("slow", code="slow_down"), "overloaded", "fallback_model"),
        (520, b"<html><title>Web server is returning an unknown error</title></html>", "server", "none"),
        (403, b"<html><title>Attention Required! | Cloudflare</title></html>", "permission", "none"),
    ],
)  # fmt: skip
def test_refusals_of_any_vendor(status: int, body: Any, kind: str, recover: str):
    for classify in (classify_anthropic, classify_openai):
        error = classify(failure(status, body), facts("openai"))
        assert (error.kind, error.recover) == (kind, recover)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 520, 529])
def test_every_failure_that_leaves_something_to_do_says_what(status: int):
    page = b"<html><head><title>Gateway</title></head></html>"
    hints = {classify_openai(failure(status, body), facts("openai")).hint for body in (page, openai("no"))}
    assert all(hints)
    if status in {403, 500, 502, 503, 520}:
        assert any("proxy or gateway" in hint for hint in hints)


def test_a_path_that_only_knows_the_other_wire_says_so():
    missing = HttpFailure("http://h/v1/responses", 404, {}, b"", NOW)
    assert "openai-chat/" in classify_openai(missing, facts("openai")).hint


def test_the_servers_wish_comes_along_from_headers_and_words():
    limited = failure(429, openai("Please try again in 2.5s."))
    used_up = failure(
        429, openai("no"), {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7s"}
    )
    waits = [classify_openai(one, facts("openai")).retry_after_s for one in (limited, used_up)]
    assert waits == [2.5, 7.0]
