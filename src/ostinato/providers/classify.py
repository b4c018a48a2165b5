"""What a provider's refusal means: one classifier for each wire, from status, headers and body to a `ModelError`.

The loop acts on `kind`, `retry` and `recover` only; every vendor's wording ends here. Texts are asked before the status,
because gateways keep the text and change the number.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from ostinato.errors import ModelError, ModelErrorKind, Recovery
from ostinato.ports import ModelFacts
from ostinato.providers.exchange import HttpFailure

MAX_QUOTED_CHARACTERS = 500


class Verdict(msgspec.Struct, frozen=True):
    """What may be done about a failure."""

    kind: ModelErrorKind
    retry: bool = False
    recover: Recovery = "none"


class Said(msgspec.Struct, frozen=True):
    """A refusal in the provider's own words."""

    text: str
    code: str = ""
    request_id: str = ""


TOO_LONG = Verdict("prompt_too_long", recover="compact")
OUTPUT_TOO_LARGE = Verdict("output_overflow", recover="shrink_output")
MEDIA = Verdict("media_too_large", recover="strip_media")
TOO_MANY_BYTES = Verdict("request_too_large", recover="compact")
HISTORY = Verdict("invalid_history", recover="repair_history")
OVERLOADED = Verdict("overloaded", retry=True, recover="fallback_model")
BILLING = Verdict("billing")
AUTHENTICATION = Verdict("authentication", recover="refresh_auth")
NOT_FOUND = Verdict("not_found")
RATE_LIMIT = Verdict("rate_limit", retry=True)
SERVER = Verdict("server", retry=True)
TIMEOUT = Verdict("timeout", retry=True)
INVALID = Verdict("invalid_request")


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


TEXTS: tuple[tuple[re.Pattern[str], Verdict], ...] = (
    (
        _pattern(
            r"input length and `?max_tokens`? exceed",
            r"maximum context length is [\d,]+ tokens.{0,80}requested.{0,200}(completion|output)",
            r"max_tokens.{0,40}(is too large|exceeds|must be less)",
            r"max_(completion|output)_tokens.{0,40}(too large|exceed)",
        ),
        OUTPUT_TOO_LARGE,
    ),
    (
        _pattern(
            r"image exceeds.{0,40}maximum",
            r"image dimensions exceed",
            r"images?.{0,40}(too large|exceeds? the)",
            r"maximum of \d+ pdf pages",
            r"pdf.{0,40}too (large|many)",
            r"too many images",
            r"could not process image",
        ),
        MEDIA,
    ),
    (
        _pattern(
            r"prompt is too long",
            r"input is too long",
            r"context[_ ]length[_ ]exceeded",
            r"exceed_context_size",
            r"exceeds? the context window",
            r"context window exceed",
            r"input token count.{0,40}exceeds? the maximum",
            r"prompt token count.{0,40}exceeds? the limit",
            r"maximum prompt length is",
            r"reduce the length of (the|your) (messages|prompt|input)",
            r"maximum context length",
            r"exceeds? the available context size",
            r"greater than the context length",
            r"too large for model with [\d,]+ maximum context length",
            r"exceeded model token limit",
            r"contextwindowexceeded",
            r"too many tokens",
        ),
        TOO_LONG,
    ),
    (
        _pattern(
            r"request_too_large",
            r"request exceeds the maximum (size|allowed)",
            r"(request )?entity too large",
            r"(payload|content|body) too large",
            r"maximum (request|body|payload) size",
        ),
        TOO_MANY_BYTES,
    ),
    (
        _pattern(
            r"tool_use`? ids? (were|was) found without",
            r"tool_use`? ids must be unique",
            r"unexpected `?tool_use_id",
            r"each `?tool_(use|result)`? block must have a corresponding",
            r"did not have response messages",
            r"must be (followed by|a response to a preceding message with)",
            r"duplicate value for 'tool_call_id'",
            r"roles must alternate",
            r"thinking`? or `?redacted_thinking`? blocks.{0,80}cannot be modified",
            r"expected `?(redacted_)?thinking",
            r"invalid `?signature`? in `?thinking",
            r"text content blocks must (be non-empty|contain non-whitespace)",
            r"must have non-empty content",
            r"missing.{0,20}reasoning_content",
            r"reasoning_content.{0,40}(missing|required|must be passed)",
        ),
        HISTORY,
    ),
    (
        _pattern(r"credit balance is too low", r"insufficient[_ ](quota|credits|balance|funds)", r"spend(ing)? limit"),
        BILLING,
    ),
    (_pattern(r"\btoken (has been )?revoked", r"oauth token has expired"), AUTHENTICATION),
)  # fmt: skip
"""Wordings of many vendors, in the order in which they are tried: the more particular first."""

CODES: Mapping[str, Verdict] = MappingProxyType({
    "overloaded_error": OVERLOADED,
    "overloaded": OVERLOADED,
    "rate_limit_error": RATE_LIMIT,
    "rate_limit_exceeded": RATE_LIMIT,
    "authentication_error": AUTHENTICATION,
    "invalid_api_key": AUTHENTICATION,
    "permission_error": Verdict("permission"),
    "billing_error": BILLING,
    "insufficient_quota": BILLING,
    "not_found_error": NOT_FOUND,
    "model_not_found": NOT_FOUND,
    "invalid_request_error": INVALID,
    "timeout_error": TIMEOUT,
    "api_error": SERVER,
    "server_error": SERVER,
})
"""Error types and codes of both wires, asked when the text says nothing and the status is missing or vague."""

STATUSES: Mapping[int, Verdict] = MappingProxyType({
    401: AUTHENTICATION,
    402: BILLING,
    403: Verdict("permission"),
    404: NOT_FOUND,
    405: NOT_FOUND,
    408: TIMEOUT,
    409: Verdict("server", retry=True),
    413: TOO_MANY_BYTES,
    422: INVALID,
    429: RATE_LIMIT,
    504: TIMEOUT,
    529: OVERLOADED,
})


def classify_anthropic(failure: HttpFailure, facts: ModelFacts) -> ModelError:
    """An answer of the Messages API that is no reply."""
    return _model_error(failure, _said(failure.body, failure.headers), facts, "ANTHROPIC_API_KEY")


def classify_anthropic_event(error: bytes, facts: ModelFacts, *, request_id: str) -> ModelError:
    """The error object of an `error` event in a stream that had begun well: the same words, without a status."""
    return _event_error(error, facts, request_id)


def classify_openai(failure: HttpFailure, facts: ModelFacts) -> ModelError:
    """An answer of a Chat Completions server that is no reply."""
    return _model_error(failure, _said(failure.body, failure.headers), facts, "OPENAI_API_KEY")


def classify_openai_event(error: bytes, facts: ModelFacts, *, request_id: str) -> ModelError:
    """An error object in a stream that had begun well."""
    return _event_error(error, facts, request_id)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """The server's wish in seconds: milliseconds, seconds or a date. None if absent, in the past or no time at all."""
    wish, factor = headers.get("retry-after-ms"), 0.001
    if wish is None:
        wish, factor = headers.get("retry-after"), 1.0
    if wish is None:
        return None
    try:
        seconds = float(wish) * factor
    except ValueError:
        seconds = _seconds_until(wish, now)
    # NaN compares false: it is no time either.
    return seconds if 0 < seconds < float("inf") else None


def _seconds_until(date: str, now: datetime) -> float:
    from email.utils import parsedate_to_datetime  # ruff: ignore[import-outside-top-level] - slow to load, rarely needed

    try:
        moment = parsedate_to_datetime(date)
        return (moment - now).total_seconds()
    except (ValueError, TypeError):  # TypeError: a date without a zone
        return -1.0


def _model_error(failure: HttpFailure, said: Said, facts: ModelFacts, key_variable: str) -> ModelError:
    verdict = _verdict(failure.status, said, has_body=bool(failure.body.strip()))
    should_retry = failure.headers.get("x-should-retry")
    if should_retry in {"true", "false"}:
        verdict = replace(verdict, retry=should_retry == "true")
    words = said.text or _without_words(failure)
    return ModelError(
        f"`{facts.provider}/{facts.id}`: status {failure.status}: {words}",
        kind=verdict.kind,
        status=failure.status,
        retry=verdict.retry,
        retry_after_s=retry_after_s(failure.headers, failure.received_at),
        recover=verdict.recover,
        provider_code=said.code,
        request_id=said.request_id,
        hint=_hint(verdict, failure, said, key_variable),
    )


def _event_error(body: bytes, facts: ModelFacts, request_id: str) -> ModelError:
    said = _said(body, {"request-id": request_id})
    verdict = _by_text(said) or CODES.get(said.code, SERVER)
    return ModelError(
        f"`{facts.provider}/{facts.id}`: error in the middle of the reply: {said.text or said.code or 'no words'}",
        kind=verdict.kind,
        retry=verdict.retry,
        recover=verdict.recover,
        provider_code=said.code,
        request_id=said.request_id,
    )


def _verdict(status: int, said: Said, *, has_body: bool) -> Verdict:
    # A rate limit speaks of tokens too, and is never an overflow.
    if status == 429:
        return BILLING if _by_text(said) is BILLING else RATE_LIMIT
    if verdict := _by_text(said):
        return verdict
    if status == 400 and not has_body:
        return Verdict("invalid_request", recover="compact")  # how Cerebras says that the prompt is too long
    if status == 503 and _is_overload(said):
        return OVERLOADED
    if status in STATUSES:
        return STATUSES[status]
    if said.code in CODES:
        return CODES[said.code]
    if status >= 500:
        return SERVER
    return INVALID if status >= 400 else Verdict("unknown")


def _by_text(said: Said) -> Verdict | None:
    words = f"{said.code} {said.text}"
    return next((verdict for pattern, verdict in TEXTS if pattern.search(words)), None)


def _is_overload(said: Said) -> bool:
    return "overload" in f"{said.code} {said.text}".lower() or "capacity" in said.text.lower()


def _hint(verdict: Verdict, failure: HttpFailure, said: Said, key_variable: str) -> str:
    if 300 <= failure.status < 400:
        return f"the server redirects to `{failure.headers.get('location', '')}`: set the base URL to that address"
    match verdict.kind:
        case "authentication":
            return f"check the key in `{key_variable}`"
        case "not_found" if "model" in f"{said.code} {said.text}".lower():
            return "check the name of the model, and that your key may use it"
        case "not_found":
            return f"nothing answers at `{failure.url}`: check the base URL"
        case "billing":
            return "the provider wants a payment or a higher limit before it goes on"
        case _:
            return ""


def _said(body: bytes, headers: Mapping[str, str]) -> Said:
    """The words of a refusal in any of the shapes that are about: nested or flat, an object or a string, a page or nothing."""
    header_id = headers.get("request-id") or headers.get("x-request-id") or ""
    try:
        decoded: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Said(_page_text(body), "", header_id)
    fields = _fields(decoded)
    inner = fields.get("error", fields)
    if isinstance(inner, str):
        return Said(_shortened(inner), "", header_id)
    details = _fields(inner) or fields
    text = _first_text(details, ("message", "detail", "msg")) or _first_text(
        fields, ("message", "detail", "msg")
    )
    if isinstance(decoded, str):
        text = decoded
    kind, code = _first_text(details, ("type",)), _first_text(details, ("code",))
    request_id = _first_text(fields, ("request_id",)) or header_id
    return Said(_shortened(text or (body.decode("utf-8", "replace") if fields else "")), code if code and not code.isdigit() else kind, request_id)  # fmt: skip


def _fields(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these fields that is there, as text; numbers are codes too, lists hold details."""
    for name in names:
        value: object = fields.get(name)
        if value is not None and value != "":
            return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return ""


def _page_text(body: bytes) -> str:
    """The title of a web page, or plain text as it is."""
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith("<"):
        return _shortened(text)
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return f"a web page titled `{_shortened(title[1])}`" if title else "a web page"


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_QUOTED_CHARACTERS else flat[:MAX_QUOTED_CHARACTERS] + "…"


def _without_words(failure: HttpFailure) -> str:
    return "an empty answer" if not failure.body.strip() else "an answer without words"
