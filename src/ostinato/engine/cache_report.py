"""What the provider's prompt cache did for a conversation, as data: what the last reply read from it, when it was missed and why, and
what the next request costs with it and without it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ostinato.engine.cache_price import anew_usd, cached_usd
from ostinato.history import History
from ostinato.loop.cache_notice import SUBTYPE
from ostinato.messages import SystemMessage
from ostinato.ports import ModelFacts
from ostinato.records import ResponseEnded


class Missed(msgspec.Struct, frozen=True):
    """`text` says it to people; the rest as in the notice of that moment."""

    cause: str
    text: str
    expected_tokens: int
    read_tokens: int
    edits: tuple[str, ...] = ()


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
    edits = cast("Sequence[object]", data.get("edits"))
    named = tuple(map(str, edits)) if isinstance(edits, list | tuple) else ()
    return Missed(
        str(data.get("cause", "")),
        text,
        _number(data.get("expected_tokens")),
        _number(data.get("read_tokens")),
        named,
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
