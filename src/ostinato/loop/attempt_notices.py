"""What the user is told while a model call is made again, goes on with another model, or stays in part: in words, and as data."""

from datetime import datetime, timedelta
from typing import Final

from ostinato.errors import ModelError
from ostinato.loop.retry_policy import LONGEST_WISH_S, UNATTENDED_RETRIES
from ostinato.messages import SystemMessage, notice_message
from ostinato.ports import ModelFacts

_AGAIN: Final = "; trying again in "


def retry_notice(
    uuid: str, error: ModelError, wait_s: float, *, attempt: int, max_retries: int | None
) -> SystemMessage:
    """`attempt` counts the tries from 1; the data counts retries, as clients of the field do. `max_retries` is None where nobody
    counts: the data then names the bound that holds for most failures.
    """
    of = "" if max_retries is None else f" of {max_retries + 1}"
    text = f"{error.message}{_AGAIN}{wait_s:.1f} s (attempt {attempt}{of})"
    data = {
        "attempt": attempt - 1,
        "max_retries": max(UNATTENDED_RETRIES, attempt - 1) if max_retries is None else max_retries,
        "retry_delay_ms": round(wait_s * 1000),
        "error_status": error.status,
        "error": error.kind,
    }
    return notice_message(uuid, "api_retry", text, level="warning", data=data)


def cause_of_wait(notice: SystemMessage) -> str | None:
    """Why the call that a `retry_notice` tells of is made again; None for any other notice."""
    return notice.text.rpartition(_AGAIN)[0] if notice.subtype == "api_retry" else None


def heartbeat_notice(uuid: str, error: ModelError, left_s: float) -> SystemMessage:
    """A long wait goes on."""
    text = f"{error.message}; still waiting, {left_s:.0f} s to go"
    data = {"retry_delay_ms": round(left_s * 1000), "error_status": error.status, "error": error.kind}
    return notice_message(uuid, "api_retry_heartbeat", text, data=data)


def fallback_notice(
    uuid: str, left: ModelFacts, taken: ModelFacts, why: str, skipped: tuple[str, ...]
) -> SystemMessage:
    passed_over = f" Passed over: {'; '.join(skipped)}." if skipped else ""
    text = f"`{left.id}` gave out ({why}); `{taken.id}` takes over for this query.{passed_over}"
    data = {"from_model": left.id, "to_model": taken.id, "reason": why, "skipped": list(skipped)}
    return notice_message(uuid, "model_fallback", text, level="warning", data=data)


def no_fallback_notice(uuid: str, left: ModelFacts, skipped: tuple[str, ...]) -> SystemMessage:
    text = f"`{left.id}` gave out, and no other model can take over: {'; '.join(skipped)}."
    data = {"from_model": left.id, "skipped": list(skipped)}
    return notice_message(uuid, "model_fallback_failed", text, level="warning", data=data)


def kept_notice(uuid: str, error: ModelError) -> SystemMessage:
    """The reply broke off after something was done that cannot be undone; how it goes on is another's to say."""
    text = f"{error.message}; what was done by then stays, and is not done again"
    data = {"error_status": error.status, "error": error.kind}
    return notice_message(uuid, "response_incomplete", text, level="warning", data=data)


def not_again_notice(uuid: str, error: ModelError) -> SystemMessage:
    """The reply broke off, and there is no money to ask again."""
    text = f"{error.message}; the budget leaves no room to ask again"
    data = {"error_status": error.status, "error": error.kind}
    return notice_message(uuid, "response_incomplete", text, level="warning", data=data)


def with_reset_time(error: ModelError, now: datetime) -> ModelError:
    """The error as it is shown: where the server wants a wait that is too long to sit through, with the moment it ends."""
    wish_s = error.retry_after_s or 0.0
    if wish_s <= LONGEST_WISH_S:
        return error
    moment = (now + timedelta(seconds=wish_s)).astimezone()
    told = f"the server asks to be left alone until {moment:%Y-%m-%d %H:%M:%S %Z} (for {_long(wish_s)})"
    return ModelError(
        error.message,
        kind=error.kind,
        status=error.status,
        retry=error.retry,
        retry_after_s=error.retry_after_s,
        recover=error.recover,
        provider_code=error.provider_code,
        request_id=error.request_id,
        hint=f"{told}; {error.hint}" if error.hint else told,
    ).sized(
        input_tokens=error.input_tokens,
        limit_tokens=error.limit_tokens,
        output_limit_tokens=error.output_limit_tokens,
    )


def _long(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
