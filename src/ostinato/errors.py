"""Every error a caller can meet, in one tree. Each says what happened and to which thing; `hint` says what to do about it.

OstinatoError
├── UsageError            a wrong flag, an empty prompt, an unreadable folder: nothing was started
├── ConfigurationError    no key, unknown model, broken settings: nothing was sent
├── ModelError            a model call failed; `kind`, `retry` and `recover` say what may be done
├── IllegalHistory        a request would break its provider's grammar (strict mode)
├── JournalError          a session file cannot be written or read
├── LocalModelError       the local model cannot be had or run
└── StaleFile             a file changed since it was read; it was left as it is
"""

from collections.abc import Callable
from typing import Literal

ModelErrorKind = Literal[
    "authentication",
    "permission",
    "billing",
    "not_found",
    "rate_limit",
    "overloaded",
    "server",
    "timeout",
    "stalled",
    "connection",
    "stream_cut",
    "prompt_too_long",
    "request_too_large",
    "media_too_large",
    "invalid_media",
    "output_overflow",
    "invalid_history",
    "invalid_request",
    "refused",
    "malformed_response",
    "unknown",
]
"""What went wrong, independent of the provider's own words.

`timeout`: no answer came, or not all of it, in time; `stalled`: the reply had begun and then nothing more came. `refused`:
the provider will not answer this prompt. `media_too_large` and `invalid_media` are about images and documents.
"""

Recovery = Literal[
    "none",
    "compact",
    "strip_media",
    "shrink_output",
    "repair_history",
    "fallback_model",
    "refresh_auth",
    "send_changed",
]
"""The one thing the loop may try before it gives the error up to the caller. `send_changed`: the same request, at once; the
adapter has given up what was refused, so another one leaves."""


class OstinatoError(Exception):
    """Something ostinato can explain: `message` says what and which, `hint` what to do (may be empty)."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class UsageError(OstinatoError):
    """The call itself was wrong; nothing was started."""


class ConfigurationError(OstinatoError):
    """A key, model, address or settings file is missing or wrong; nothing was sent."""


class IllegalHistory(OstinatoError):
    """The messages break the provider's grammar; `problems` names each break."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("the history is not legal: " + "; ".join(problems))
        self.problems = problems


class JournalError(OstinatoError):
    """A session file cannot be written or read; the run must not go on as if it were kept."""


class LocalModelError(OstinatoError):
    """The local model or its runtime is missing or failed."""


class StaleFile(OstinatoError):
    """A file is not what was read before; nothing was written."""


LONGEST_RETRY_AFTER_S = 366 * 86400.0
"""A server may write any number; what is billed by the year comes back within this one, and it can be added to any date."""


class ModelError(OstinatoError):
    """A model call failed.

    `status` is the HTTP status if there was one. `retry_after_s` is the server's own wish in seconds, at most
    `LONGEST_RETRY_AFTER_S`; what is no time from now on is None.
    `retry` says whether the same request may be sent again; `recover` names the loop's way out.
    `provider_code` and `request_id` are the provider's, for support. What a refusal says of sizes stands in
    `input_tokens` (how long the prompt was), `limit_tokens` (the model's window) and `output_limit_tokens` (the longest
    output it gives); None where it does not say.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ModelErrorKind,
        status: int | None = None,
        retry: bool = False,
        retry_after_s: float | None = None,
        recover: Recovery = "none",
        provider_code: str = "",
        request_id: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: ModelErrorKind = kind
        self.status = status
        self.retry = retry
        self.retry_after_s = _usable_wait(retry_after_s)
        self.recover: Recovery = recover
        self.provider_code = provider_code
        self.request_id = request_id
        self.input_tokens: int | None = None
        self.limit_tokens: int | None = None
        self.output_limit_tokens: int | None = None

    def reworded(self, change: Callable[[str], str]) -> "ModelError":
        """The same error with every text of it, the server's own included, changed by `change`."""
        self.message, self.hint = change(self.message), change(self.hint)
        self.provider_code, self.request_id = change(self.provider_code), change(self.request_id)
        self.args = (self.message,)
        return self

    def sized(
        self, *, input_tokens: int | None, limit_tokens: int | None, output_limit_tokens: int | None
    ) -> "ModelError":
        """The same error, now with the sizes in tokens that the refusal named."""
        self.input_tokens = input_tokens
        self.limit_tokens = limit_tokens
        self.output_limit_tokens = output_limit_tokens
        return self


def _usable_wait(seconds: float | None) -> float | None:
    # NaN compares false: it is no time either.
    return min(seconds, LONGEST_RETRY_AFTER_S) if seconds is not None and seconds > 0 else None
