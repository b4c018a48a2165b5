"""What a provider's refusal means: one classifier for each wire, from status, headers and body to a `ModelError`.

The loop acts on `kind`, `retry` and `recover` only; every vendor's wording ends here. Texts are asked before the status,
because gateways keep the text and change the number.
"""

import re

from msgspec.structs import replace

from ostinato.errors import ModelError
from ostinato.ports import ModelFacts
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.hints import hint_for, hint_for_event
from ostinato.providers.overflow import Sizes, fills_window, media_bytes, sizes_in
from ostinato.providers.refusal_words import Said, said_in
from ostinato.providers.verdicts import (
    BILLING,
    CODES,
    INVALID,
    NO_MODEL,
    OUTPUT_PARAMETERS,
    OUTPUT_TOO_LARGE,
    OVERLOADED,
    RATE_LIMIT,
    SERVER,
    STATUSES,
    SUSPECTED_OVERFLOW,
    TEXTS,
    TOO_LONG,
    TOO_MANY_BYTES,
    TOO_MANY_MEDIA_BYTES,
    Verdict,
)
from ostinato.providers.wished_wait import wished_wait_s

BY_LENGTH = frozenset({"prompt_too_long", "output_overflow"})


def classify_anthropic(failure: HttpFailure, facts: ModelFacts) -> ModelError:
    """An answer of the Messages API that is no reply."""
    return _model_error(failure, facts, "ANTHROPIC_API_KEY")


def classify_anthropic_event(error: bytes, facts: ModelFacts, *, request_id: str) -> ModelError:
    """The error object of an `error` event in a stream that had begun well: the same words, without a status."""
    return _event_error(error, facts, request_id, "ANTHROPIC_API_KEY")


def classify_openai(failure: HttpFailure, facts: ModelFacts) -> ModelError:
    """An answer of a Chat Completions or Responses server that is no reply."""
    return _model_error(failure, facts, "OPENAI_API_KEY")


def classify_openai_event(error: bytes, facts: ModelFacts, *, request_id: str) -> ModelError:
    """An error object in a stream that had begun well."""
    return _event_error(error, facts, request_id, "OPENAI_API_KEY")


def _model_error(failure: HttpFailure, facts: ModelFacts, key_variable: str) -> ModelError:
    said = said_in(failure.body, failure.headers)
    verdict = _verdict(failure, said, facts)
    sizes = _sizes(verdict, failure.body)
    verdict = _by_size(verdict, sizes)
    should_retry = failure.headers.get("x-should-retry")
    if should_retry in {"true", "false"}:
        verdict = replace(verdict, retry=should_retry == "true")
    words = said.text or _without_words(failure)
    return ModelError(
        f"`{facts.provider}/{facts.id}`: status {failure.status}: {words}",
        kind=verdict.kind,
        status=failure.status,
        retry=verdict.retry,
        retry_after_s=wished_wait_s(failure.headers, failure.received_at, text=said.text),
        recover=verdict.recover,
        provider_code=said.code,
        request_id=said.request_id,
        hint=hint_for(verdict.kind, failure, said, key_variable, model=facts.id),
    ).sized(
        input_tokens=sizes.input_tokens,
        limit_tokens=sizes.limit_tokens,
        output_limit_tokens=sizes.output_limit_tokens,
    )


def _event_error(body: bytes, facts: ModelFacts, request_id: str, key_variable: str) -> ModelError:
    said = said_in(body, {"request-id": request_id})
    verdict = _by_text(said, facts) or CODES.get(said.code, SERVER)
    sizes = _sizes(verdict, body)
    verdict = _by_size(verdict, sizes)
    return ModelError(
        f"`{facts.provider}/{facts.id}`: error in the middle of the reply: {said.text or said.code or 'no words'}",
        kind=verdict.kind,
        retry=verdict.retry,
        recover=verdict.recover,
        provider_code=said.code,
        request_id=said.request_id,
        hint=hint_for_event(verdict.kind, said, key_variable),
    ).sized(
        input_tokens=sizes.input_tokens,
        limit_tokens=sizes.limit_tokens,
        output_limit_tokens=sizes.output_limit_tokens,
    )


def _verdict(failure: HttpFailure, said: Said, facts: ModelFacts) -> Verdict:
    status = failure.status
    # A rate limit speaks of tokens too, and is never an overflow.
    if status == 429:
        return BILLING if _by_text(said, facts) is BILLING else RATE_LIMIT
    verdict = _by_text(said, facts) or _by_status(status, said)
    if verdict is INVALID and said.param in OUTPUT_PARAMETERS and "above" in said.code:
        return OUTPUT_TOO_LARGE
    if verdict is TOO_MANY_BYTES and media_bytes(failure.sent) * 2 > len(failure.sent):
        return TOO_MANY_MEDIA_BYTES
    # Some say that a prompt is too long without a word, some in words that nobody knows.
    is_silent = not said.text
    if verdict is INVALID and status == 400 and fills_window(failure.sent, facts, is_silent=is_silent):
        return SUSPECTED_OVERFLOW
    return verdict


def _by_status(status: int, said: Said) -> Verdict:
    if status == 503 and _is_overload(said):
        return OVERLOADED
    if said.code == "model_not_found" or (said.code == "not_found_error" and said.text.startswith("model")):
        return NO_MODEL
    if status in STATUSES:
        return STATUSES[status]
    verdict = CODES.get(said.code, INVALID if status >= 400 else Verdict("unknown"))
    # Nobody's request makes a server fail, whatever the server calls it.
    return SERVER if status >= 500 and verdict is INVALID else verdict


def _by_text(said: Said, facts: ModelFacts) -> Verdict | None:
    words = f"{said.code} {said.text}"
    if any(_matches(pattern, words) for pattern in facts.overflow_patterns):
        return TOO_LONG
    return next((verdict for pattern, verdict in TEXTS if pattern.search(words)), None)


def _matches(pattern: str, words: str) -> bool:
    """Whether a user's pattern fits: as it stands, or as a regular expression if it is one."""
    if pattern.lower() in words.lower():
        return True
    try:
        return re.search(pattern, words, re.IGNORECASE) is not None
    except re.error:
        return False


def _sizes(verdict: Verdict, body: bytes) -> Sizes:
    return sizes_in(body.decode("utf-8", "replace")) if verdict.kind in BY_LENGTH else Sizes()


def _by_size(verdict: Verdict, sizes: Sizes) -> Verdict:
    """A shorter output helps only while the prompt alone fits, and only if it is known how much shorter."""
    if verdict is not OUTPUT_TOO_LARGE:
        return verdict
    if sizes.input_tokens and sizes.limit_tokens and sizes.input_tokens >= sizes.limit_tokens:
        return TOO_LONG
    if sizes.limit_tokens is None and sizes.output_limit_tokens is None:
        return replace(verdict, recover="compact")
    return verdict


def _is_overload(said: Said) -> bool:
    return "overload" in f"{said.code} {said.text}".lower() or "capacity" in said.text.lower()


def _without_words(failure: HttpFailure) -> str:
    return "an empty answer" if not failure.body.strip() else "an answer without words"
