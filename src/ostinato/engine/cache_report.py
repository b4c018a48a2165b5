"""What the provider's prompt cache did for a conversation, as data: what the last reply read from it, when it was missed and why, and
what the next request costs with it and without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ostinato.engine.cache_price import anew_usd, cached_usd
from ostinato.history import History
from ostinato.loop.cache_notice import SUBTYPE
from ostinato.messages import SystemMessage
from ostinato.ports import ModelFacts
from ostinato.records import ResponseEnded


class MissedFor(msgspec.Struct, frozen=True):
    """A cause, and what that was."""

    cause: str
    what: str = ""


class Missed(msgspec.Struct, frozen=True):
    """`text` says it to people; the rest as in the notice of that moment: `cause` and `what` are the first that was found, `also` whatever
    had changed at the same time.
    """

    cause: str
    text: str
    expected_tokens: int
    read_tokens: int
    edits: tuple[str, ...] = ()
    what: str = ""
    also: tuple[MissedFor, ...] = ()


class CacheReport(msgspec.Struct, frozen=True):
    """`read_tokens` and `written_tokens` are of the last reply, `sent_tokens` all of its input; None where no reply was counted. The
    prices are of the next request's input in US dollars, None where they are not known.
    """

    sent_tokens: int | None
    read_tokens: int | None
    written_tokens: int | None
    next_from_cache_usd: float | None
    next_anew_usd: float | None
    missed: tuple[Missed, ...] = ()


def cache_report(whole: History, used_tokens: int, model: ModelFacts) -> CacheReport:
    log = whole.log()
    ends = (one.usage for one in reversed(log) if isinstance(one, ResponseEnded))
    last = next((usage for usage in ends if usage.context_tokens), None)
    return CacheReport(
        None if last is None else last.context_tokens - last.output_tokens,
        None if last is None else last.cache_read_input_tokens,
        None if last is None else last.cache_creation_input_tokens,
        cached_usd(used_tokens, model),
        anew_usd(used_tokens, model),
        tuple(missed(log)),
    )


def missed(log: Sequence[object]) -> list[Missed]:
    """Oldest first."""
    told = [one for one in log if isinstance(one, SystemMessage) and one.subtype == SUBTYPE]
    return [_missed(one.text, one.data or {}) for one in told]


def _missed(text: str, data: Mapping[str, Any]) -> Missed:
    """A session's file may hold anything; what is no number counts as none."""
    first = _missed_for(data)
    return Missed(
        first.cause,
        text,
        _number(data.get("expected_tokens")),
        _number(data.get("read_tokens")),
        tuple(map(str, _listed(data.get("edits")))),
        first.what,
        tuple(_also(_listed(data.get("also")))),
    )


def _also(found: Sequence[object]) -> Iterator[MissedFor]:
    for one in found:
        if isinstance(one, Mapping) and "cause" in one:
            yield _missed_for(cast("Mapping[str, Any]", one))


def _missed_for(data: Mapping[str, Any]) -> MissedFor:
    return MissedFor(str(data.get("cause", "")), str(data.get("what", "")))


def _listed(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
