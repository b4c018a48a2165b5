"""The words of many vendors and what each means: tables of patterns, codes and statuses, and nothing else.

A wording belongs here and in a test; who reads the tables is `classify.py`.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from ostinato.errors import ModelErrorKind, Recovery


class Verdict(msgspec.Struct, frozen=True):
    """What may be done about a failure."""

    kind: ModelErrorKind
    retry: bool = False
    recover: Recovery = "none"


TOO_LONG = Verdict("prompt_too_long", recover="compact")
OUTPUT_TOO_LARGE = Verdict("output_overflow", recover="shrink_output")
MEDIA_TOO_LARGE = Verdict("media_too_large", recover="strip_media")
INVALID_MEDIA = Verdict("invalid_media", recover="strip_media")
TOO_MANY_BYTES = Verdict("request_too_large", recover="compact")
TOO_MANY_MEDIA_BYTES = Verdict("request_too_large", recover="strip_media")
SUSPECTED_OVERFLOW = Verdict("invalid_request", recover="compact")
HISTORY = Verdict("invalid_history", recover="repair_history")
OVERLOADED = Verdict("overloaded", retry=True, recover="fallback_model")
BILLING = Verdict("billing")
AUTHENTICATION = Verdict("authentication", recover="refresh_auth")
PERMISSION = Verdict("permission")
NOT_FOUND = Verdict("not_found")
NO_MODEL = Verdict("not_found", recover="fallback_model")
RATE_LIMIT = Verdict("rate_limit", retry=True)
SERVER = Verdict("server", retry=True)
TIMEOUT = Verdict("timeout", retry=True)
REFUSED = Verdict("refused")
INVALID = Verdict("invalid_request")


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


TEXTS: tuple[tuple[re.Pattern[str], Verdict], ...] = (
    (
        _pattern(
            r"input length and `?max_tokens`? exceed",
            r"maximum context length is [\d,]+ tokens.{0,80}requested.{0,200}(completion|output)",
            r"max_tokens.{0,40}(is too large|exceeds|must be less|> [\d,]+, which is the maximum)",
            r"max_(completion|output)_tokens.{0,40}(too large|exceed|above maximum)",
            r"supports at most [\d,]+ (completion|output) tokens",
            r"inputs` tokens \+ `max_new_tokens` must be",
        ),
        OUTPUT_TOO_LARGE,
    ),
    (
        _pattern(
            r"image exceeds.{0,40}maximum",
            r"image dimensions exceed",
            r"images?.{0,40}(too large|exceeds? the)",
            r"image(_file)?_too_large",
            r"maximum of \d+ (pdf pages|images)",
            r"pdf.{0,40}too (large|many)",
            r"too many (images|pdf pages)",
            r"at most \d+ images",
        ),
        MEDIA_TOO_LARGE,
    ),
    (
        _pattern(
            r"could not process (image|pdf|document)",
            r"(invalid|unsupported|corrupt(ed)?)[ _](base64[ _])?(image|pdf)",
            r"image[ _](parse_error|too_small|data you provided|file_not_found)",
            r"invalid_(base64_)?image|unsupported_image|empty_image_file|failed_to_download_image",
            r"image does not match the provided media type",
            r"pdf.{0,40}(password|encrypted|not valid|is invalid)",
            r"does not support (image|vision|file|pdf|document)",
            r"no endpoints found that support image",
            r"image (input|content) is not supported",
        ),
        INVALID_MEDIA,
    ),
    (
        _pattern(
            r"(prompt|request|input) is too long",
            r"prompt exceeds (the )?max",
            r"context[_ ]length[_ ]exceeded",
            r"exceed_context_size",
            r"max_prompt_tokens_exceeded",
            r"exceeds? (the |this model's )?(context window|context length|max(imum)? context)",
            r"context (window|size|length) (has been )?exceed",
            r"model_context_window_exceeded",
            r"input token count.{0,40}exceeds? the maximum",
            r"prompt token count.{0,40}exceeds? the limit",
            r"input tokens exceed the configured limit",
            r"input length \([\d,]+ tokens\) exceeds",
            r"must have less than [\d,]+ tokens",
            r"range of input length should be",
            r"maximum prompt length is",
            r"reduce the length of (the|your) (messages|prompt|input)",
            r"maximum context length",
            r"context length of only [\d,]+ tokens",
            r"exceeds? the available context size",
            r"greater than the context length",
            r"too large for model with [\d,]+ maximum context length",
            r"too large for.{0,80}max size: [\d,]+ tokens",
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
            r"each `?tool_(use|result)`? (block )?must have a (corresponding|single)",
            r"did not have response messages",
            r"must be (followed by|a response to a preceding message with)",
            r"duplicate value for 'tool_call_id'",
            r"no tool (output|call) found for function call",
            r"without its required (following item|'reasoning' item)",
            r"item with id '[^']*' not found",
            r"invalid_encrypted_content|encrypted content.{0,80}could not be (verified|decrypted)",
            r"roles must alternate",
            r"thinking`? or `?redacted_thinking`? blocks.{0,80}cannot be modified",
            r"expected `?(redacted_)?thinking",
            r"final block in an assistant message cannot be `?thinking",
            r"invalid `?signature`? in `?thinking",
            r"text content blocks must (be non-empty|contain non-whitespace)",
            r"must have non-empty content",
            r"missing.{0,20}reasoning_content",
            r"reasoning_content.{0,40}(missing|required|must be passed)",
        ),
        HISTORY,
    ),
    (
        _pattern(
            r"credit balance is too low",
            r"insufficient[_ ](quota|credits|balance|funds)",
            r"spend(ing)?[_ ]limit",
            r"billing_(hard_limit|not_active)",
        ),
        BILLING,
    ),
    (_pattern(r"\btoken (has been )?revoked", r"oauth token has expired", r"token_expired"), AUTHENTICATION),
    (
        _pattern(
            r"content[_ ](policy|filter|management policy)[_ ]?(violation|ed)?",
            r"invalid_prompt|flagged as potentially violating",
            r"(bio|misalignment)_policy",
            r"output blocked by content filtering",
            r"data_inspection_failed|prohibited_content",
        ),
        REFUSED,
    ),
)  # fmt: skip
"""Wordings of many vendors, in the order in which they are tried: the more particular first."""

CODES: Mapping[str, Verdict] = MappingProxyType({
    "overloaded_error": OVERLOADED,
    "overloaded": OVERLOADED,
    "server_is_overloaded": OVERLOADED,
    "UNAVAILABLE": OVERLOADED,
    "slow_down": OVERLOADED,
    "rate_limit_error": RATE_LIMIT,
    "rate_limit_exceeded": RATE_LIMIT,
    "RESOURCE_EXHAUSTED": RATE_LIMIT,
    "authentication_error": AUTHENTICATION,
    "invalid_api_key": AUTHENTICATION,
    "permission_error": PERMISSION,
    "billing_error": BILLING,
    "insufficient_quota": BILLING,
    "not_found_error": NOT_FOUND,
    "model_not_found": NO_MODEL,
    "invalid_request_error": INVALID,
    "timeout_error": TIMEOUT,
    "api_error": SERVER,
    "server_error": SERVER,
})
"""Error types and codes of all wires, asked when the text says nothing and the status is missing or vague."""

STATUSES: Mapping[int, Verdict] = MappingProxyType({
    401: AUTHENTICATION,
    402: BILLING,
    403: PERMISSION,
    404: NOT_FOUND,
    405: NOT_FOUND,
    408: TIMEOUT,
    409: SERVER,
    413: TOO_MANY_BYTES,
    422: INVALID,
    429: RATE_LIMIT,
    504: TIMEOUT,
    529: OVERLOADED,
})

OUTPUT_PARAMETERS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
