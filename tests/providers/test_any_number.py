"""Whatever number a server writes, where durations, counts, sizes and indexes belong: nothing overflows, its words survive."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.providers.requests import blocks_of, facts, stop_of

from ostinato.errors import LONGEST_RETRY_AFTER_S, ModelError
from ostinato.events import AnyModelEvent
from ostinato.loop.attempt_notices import with_reset_time
from ostinato.loop.retry_policy import pieces_of, wait_before_retry_s
from ostinato.messages import Text
from ostinato.model_window import learned_window
from ostinato.ports import QuerySource
from ostinato.providers.anthropic import AnthropicReply
from ostinato.providers.calls import CallIds
from ostinato.providers.classify import classify_anthropic, classify_openai
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.lenient_json import parse_object
from ostinato.providers.openai_chat import OpenAIChatReply
from ostinato.providers.openai_responses import OpenAIResponsesReply
from ostinato.providers.streaming import BatchReader, ReplyDecoder
from ostinato.providers.token_counts import MAX_TOKENS
from ostinato.providers.wished_wait import wished_wait_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
DIGITS = st.one_of(
    st.integers().map(str),
    st.floats().map(str),
    st.integers(1, 6000).map(lambda length: "9" * length),
    st.integers(1, 400).map(lambda power: f"1e{power}"),
    st.sampled_from(["nan", "-nan", "inf", "-inf", "0", "-0", "1e-400", "0.0", "", "٣", "1_000"]),
)
DATES = st.one_of(
    st.builds("Mon, 30 Nov {} 12:00:00 {}".format, DIGITS, st.sampled_from(["GMT", "+9999999999999", "-2359"])),
    st.builds("{}-11-30T12:00:00{}".format, st.sampled_from(["0001", "9999", "2026"]), st.sampled_from(["Z", "+23:59"])),
)  # fmt: skip
WISHES = st.one_of(
    DIGITS, DATES, st.builds("{}{}".format, DIGITS, st.sampled_from(["ms", "s", "m", "h", "d"]))
)
HEADERS = st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-requests", "x-ratelimit-reset"]),
    WISHES,
)
USED_UP = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining": "0"}


def failure(status: int, text: str, **headers: str) -> HttpFailure:
    body = json.dumps({"error": {"message": text, "type": "invalid_request_error"}}).encode()
    return HttpFailure("http://h/v1/x", status, headers, body, NOW)


@given(headers=HEADERS, words=WISHES)
@settings(deadline=None)
def test_a_wish_for_any_time_is_none_or_one_that_can_be_waited_for_and_told(
    headers: dict[str, str], words: str
):
    text = f"Slow down. Please try again in {words}."
    seconds = wished_wait_s(USED_UP | headers, NOW, text=text)
    assert seconds is None or 0 < seconds <= LONGEST_RETRY_AFTER_S
    refused = classify_openai(failure(429, text, **(USED_UP | headers)), facts("openai"))
    told = with_reset_time(refused, NOW)
    assert told.kind == "rate_limit"
    assert "Slow down." in told.message


@given(seconds=st.one_of(st.floats(), st.integers()), is_unattended=st.booleans())
def test_a_wish_of_any_model_can_be_waited_for_and_told(seconds: float, *, is_unattended: bool):
    error = ModelError("slow", kind="rate_limit", retry=True, retry_after_s=seconds)
    assert with_reset_time(error, NOW).message == "slow"
    main = QuerySource("main")
    wait_s = wait_before_retry_s(error, 1, main, max_retries=9, jitter=0.5, is_unattended=is_unattended)
    assert wait_s is None or sum(pieces_of(wait_s)) == pytest.approx(wait_s)


@pytest.mark.parametrize("nonsense", ["nan", "-1", "0", "soon", "", "inf"])
def test_nonsense_hides_no_other_wish(nonsense: str):
    assert wished_wait_s({"retry-after-ms": nonsense, "retry-after": "3"}, NOW) == 3
    reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "7"}
    assert wished_wait_s({"retry-after-ms": nonsense, "retry-after": nonsense} | reset, NOW) == 7
    others = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": nonsense}
    assert wished_wait_s(others | reset, NOW) == 7
    assert wished_wait_s(others, NOW, text="try again in 9s") == 9


@given(one=DIGITS, other=DIGITS)
@settings(deadline=None)
def test_sizes_of_any_kind_teach_a_window_or_nothing(one: str, other: str):
    known = facts("anthropic")
    for text in (
        f"prompt is too long: {one} tokens > {other} maximum",
        f"max_tokens: 5 > {one}, which is the maximum",
    ):
        error = classify_anthropic(failure(400, text), known)
        window = learned_window(error, known, sent_tokens=1000)
        assert window is None or 0 < window < known.context_window


def anthropic(number: str) -> bytes:
    usage = f'{{"input_tokens":{number},"output_tokens":{number},"cache_read_input_tokens":{number}}}'
    return b"".join(
        b"data: %s\n\n" % event.encode()
        for event in (
            f'{{"type":"message_start","message":{{"id":"m","usage":{usage}}}}}',
            f'{{"type":"content_block_start","index":{number},"content_block":{{"type":"text","text":""}}}}',
            f'{{"type":"content_block_delta","index":{number},"delta":{{"type":"text_delta","text":"hi"}}}}',
            f'{{"type":"content_block_stop","index":{number}}}',
            f'{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}',
            '{"type":"message_stop"}',
        )
    )


def chat(number: str) -> bytes:
    usage = f'{{"prompt_tokens":{number},"completion_tokens":{number},"prompt_tokens_details":{{"cached_tokens":{number}}}}}'
    return b"".join(
        b"data: %s\n\n" % event.encode()
        for event in (
            f'{{"id":"c","created":{number},"choices":[{{"index":{number},"delta":{{"content":"hi"}}}}]}}',
            f'{{"id":"c","choices":[{{"index":{number},"delta":{{}},"finish_reason":"stop"}}],"usage":{usage}}}',
        )
    )


def responses(number: str) -> bytes:
    usage = f'{{"input_tokens":{number},"output_tokens":{number},"input_tokens_details":{{"cached_tokens":{number}}}}}'
    place = f'"output_index":{number},"content_index":{number},"sequence_number":{number}'
    return b"".join(
        b"data: %s\n\n" % event.encode()
        for event in (
            '{"type":"response.created","response":{"id":"r"}}',
            f'{{"type":"response.output_item.added",{place},"item":{{"type":"message","id":"i"}}}}',
            f'{{"type":"response.output_text.delta",{place},"item_id":"i","delta":"hi"}}',
            f'{{"type":"response.output_item.done",{place},"item":{{"type":"message","id":"i"}}}}',
            f'{{"type":"response.completed","response":{{"id":"r","status":"completed","usage":{usage}}}}}',
        )
    )


DECODERS = {
    "anthropic": (anthropic, lambda: AnthropicReply(facts("anthropic"), CallIds(()))),
    "chat": (chat, lambda: OpenAIChatReply(facts("openai"), CallIds(()), 1000)),
    "responses": (responses, lambda: OpenAIResponsesReply(facts("openai"), CallIds(()))),
}


def read(decoder: ReplyDecoder, stream: bytes) -> list[AnyModelEvent]:
    reader, events = BatchReader(decoder), list[AnyModelEvent]()
    for chunk in (stream, None):
        reader.take(chunk, events)
    return events


@pytest.mark.parametrize("wire", DECODERS)
@given(number=st.one_of(DIGITS, DIGITS.map(json.dumps)))
@settings(deadline=None)
def test_counts_and_indexes_of_any_kind_give_a_reply_or_an_error_in_words(wire: str, number: str):
    stream, decoder = DECODERS[wire]
    failed, events = "", list[AnyModelEvent]()
    try:
        events = read(decoder(), stream(number))
    except ModelError as error:
        failed = error.kind
    if failed:
        assert failed in {"malformed_response", "stream_cut"}
        return
    usage = stop_of(events).usage
    assert all(0 <= count <= MAX_TOKENS for count in (usage.input_tokens, usage.output_tokens))
    assert 0 <= usage.cache_read_input_tokens <= MAX_TOKENS


@pytest.mark.parametrize("wire", DECODERS)
@pytest.mark.parametrize("number", ["-5", str(10**30), "1.5", '"many"', "null", "[]", "-1e300", "true"])
def test_a_number_that_cannot_be_costs_only_itself(wire: str, number: str):
    stream, decoder = DECODERS[wire]
    assert blocks_of(read(decoder(), stream(number))) == [Text("hi")]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "-Infinity", "9" * 5000])
def test_arguments_with_a_number_that_nothing_can_hold_are_not_run_with_another(number: str):
    assert parse_object(f'{{"timeout": {number}}}') is None
