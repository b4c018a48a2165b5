"""A prompt that was too long: in every vendor's words, with the numbers they name, and without words."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.providers.requests import facts

from ostinato.errors import ModelError
from ostinato.providers.classify import classify_openai, classify_openai_event
from ostinato.providers.exchange import HttpFailure

FACTS = facts("openai")  # believed to have a window of 200,000
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def refused(words: Any, *, status: int = 400, sent: bytes = b"", **changes: Any) -> ModelError:
    body = words if isinstance(words, bytes) else json.dumps(words).encode()
    failure = HttpFailure("http://h/v1/x", status, {}, body, NOW, sent)
    return classify_openai(failure, replace(FACTS, **changes))


def said(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"} | fields}


PROMPTS: list[tuple[Any, int | None, int | None]] = [
    (said("prompt is too long: 210000 tokens > 200000 maximum"), 210_000, 200_000),
    (said("input is too long for requested model"), None, None),
    (said("This model's maximum context length is 128000 tokens. However, your messages resulted in 130,000 tokens."), 130_000, 128_000),
    (said("This model's maximum context length is 131072 tokens. However, you requested 65536 output tokens and your prompt contains at least 140000 input tokens, for a total of"), 140_000, 131_072),
    (said("This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (9000 in the messages, 1000 in the completion)."), 9_000, 8_192),
    (said("This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (38000 of text input, 2000 in the output)."), 38_000, 32_768),
    (said("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", code="context_length_exceeded"), 300_000, 272_000),
    (said("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."), 1_200_000, 1_048_576),
    (said("The input token count exceeds the maximum number of tokens allowed 1048576"), None, None),
    (said("prompt token count of 140000 exceeds the limit of 128000", code="model_max_prompt_tokens_exceeded"), 140_000, 128_000),
    ({"error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, 140_000, 131_072),
    (said("request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it"), 9_000, 4_096),
    ({"error": {"message": "no", "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}}, 9_000, 4_096),
    (said("Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)"), 150_000, 131_072),
    ({"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}, 40_000, 32_768),
    (said("Input length (40000 tokens) exceeds the maximum allowed length (32768 tokens)."), 40_000, 32_768),
    ({"error": "`inputs` must have less than 4096 tokens. Given: 5000"}, 5_000, 4_096),
    (said("Range of input length should be [1, 30720]"), None, 30_720),
    (said("Request body too large for gpt-4o model. Max size: 8000 tokens."), None, 8_000),
    (said("The number of tokens to keep is greater than the context length. The model is loaded with context length of only 4096 tokens"), None, 4_096),
    (said("Your input exceeds the context window of this model. Please adjust your input and try again."), None, None),
    (said("Prompt exceeds max length"), None, None),
    (said("invalid params, context window exceeds limit"), None, None),
    (said("Please reduce the length of the messages or completion."), None, None),
    (said("Context size has been exceeded."), None, None),
    (said("litellm.ContextWindowExceededError: odd words"), None, None),
]  # fmt: skip
"""What was said, how long the prompt was by it, and how large the window is by it."""


@pytest.mark.parametrize(("words", "input_tokens", "limit_tokens"), PROMPTS)
def test_a_prompt_that_is_too_long_is_known_by_any_wording_and_its_numbers_are_read(
    words: Any, input_tokens: int | None, limit_tokens: int | None
):
    for status in (400, 413, 422, 500):
        error = refused(words, status=status)
        assert (error.kind, error.recover) == ("prompt_too_long", "compact")
        assert (error.input_tokens, error.limit_tokens) == (input_tokens, limit_tokens)
        assert error.hint
    assert refused(words, status=429).kind == "rate_limit"


@pytest.mark.parametrize(
    ("words", "recover", "input_tokens", "limit_tokens", "output_limit_tokens"),
    [
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease", "shrink_output", 190_000, 200_000, None),
        ("This model's maximum context length is 131072 tokens. However, you requested 65536 output tokens and your prompt contains 65537 input tokens", "shrink_output", 65_537, 131_072, None),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (7000 in the messages, 2000 in the completion).", "shrink_output", 7_000, 8_192, None),
        ("max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude", "shrink_output", None, None, 64_000),
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.", "shrink_output", None, None, 16_384),
        ("Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 128000, but got 900000 instead.", "shrink_output", None, None, 128_000),
        ("max_tokens must be less than or equal to `8192`", "shrink_output", None, None, 8_192),
        ("max_tokens is too large", "compact", None, None, None),
    ],
)  # fmt: skip
def test_an_output_that_does_not_fit_is_made_smaller_if_it_is_known_how_much(
    words: str,
    recover: str,
    input_tokens: int | None,
    limit_tokens: int | None,
    output_limit_tokens: int | None,
):
    error = refused(said(words))
    assert (error.kind, error.recover) == ("output_overflow", recover)
    assert (error.input_tokens, error.limit_tokens) == (input_tokens, limit_tokens)
    assert error.output_limit_tokens == output_limit_tokens


def test_an_error_inside_a_stream_names_its_numbers_too():
    error = classify_openai_event(
        json.dumps({
            "code": "context_length_exceeded",
            "message": "prompt is too long: 9 tokens > 8 maximum",
        }).encode(),
        FACTS,
        request_id="r",
    )
    assert (error.kind, error.input_tokens, error.limit_tokens) == ("prompt_too_long", 9, 8)


def test_a_users_own_patterns_count_and_a_pattern_that_is_none_is_looked_for_as_it_stands():
    words = said("ERR-77: zu lang (9 > 8)")
    assert refused(words).kind == "invalid_request"
    for pattern in (r"err-\d+: zu lang", "zu lang (9 > 8)", "lang ("):
        assert refused(words, overflow_patterns=("other", pattern)).kind == "prompt_too_long"


# ------------------------------------------------------------------------------------------------ too many bytes, or of what

TEXT = b'{"input":"' + b"some words of a prompt " * 100 + b'"}'
PICTURE = b'{"image_url":"data:image/png;base64,' + b"iVBORw0KGgo" * 1000 + b'"}'
TOO_LARGE_PAGE = b"<html><head><title>413 Request Entity Too Large</title></head></html>"


@pytest.mark.parametrize(
    ("words", "sent", "kind", "recover"),
    [
        (said("prompt is too long: 9 tokens > 8 maximum"), PICTURE, "prompt_too_long", "compact"),
        (said("image exceeds 5 MB maximum"), TEXT, "media_too_large", "strip_media"),
        (TOO_LARGE_PAGE, TEXT, "request_too_large", "compact"),
        (TOO_LARGE_PAGE, PICTURE, "request_too_large", "strip_media"),
        (b"", TEXT, "request_too_large", "compact"),
        (b"", PICTURE, "request_too_large", "strip_media"),
    ],
)
def test_too_large_is_read_by_its_words_first_and_then_by_what_was_sent(
    words: Any, sent: bytes, kind: str, recover: str
):
    error = refused(words, status=413, sent=sent)
    assert (error.kind, error.recover) == (kind, recover)
    assert error.hint


def test_a_refusal_without_a_reason_is_suspected_when_the_prompt_fills_the_window():
    full, half = b"some words " * 80_000, b"some words " * 20_000
    assert refused(said("bad"), sent=full).recover == "compact"
    assert refused(said("bad"), sent=half).recover == "none"
    assert refused(said("bad"), sent=PICTURE * 100).recover == "none"  # pictures do not weigh by their bytes
    assert refused(said("bad"), sent=full, status=403).recover == "none"
    assert (refused(b"", sent=half).recover, refused(b"{}", sent=half).recover) == ("none", "none")
    most = b"some words " * 40_000
    assert (refused(b"", sent=most).recover, refused(b"{}", sent=most).recover) == ("compact", "compact")
    assert refused(said("bad"), sent=most).recover == "none"
    assert (refused(b"").recover, refused(b"", sent=most, status=422).recover) == ("none", "none")


@pytest.mark.parametrize("words", [b"", b" ", b"{}", b"null", b"[]"])
def test_a_refusal_without_words_does_not_send_its_reader_to_them(words: Any):
    error = refused(words)
    assert "above" not in error.hint
    assert error.hint
    assert "above" in refused(said("bad")).hint
