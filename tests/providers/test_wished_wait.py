"""How long a server wants to be left alone, in every form, and never made up."""

from datetime import UTC, datetime, timedelta

import pytest

from ostinato.providers.wished_wait import wished_wait_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
EPOCH_S = int(NOW.timestamp())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30"}, None),
        ({"retry-after": "99999"}, 99999.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "abc"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_in_milliseconds_seconds_and_as_a_date(headers: dict[str, str], seconds: float | None):
    assert wished_wait_s(headers, NOW) == seconds


def used_up(name: str, reset: str, **more: str) -> dict[str, str]:
    return {name.format("remaining"): "0", name.format("reset"): reset} | more


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (used_up("anthropic-ratelimit-tokens-{}", (NOW + timedelta(seconds=90)).isoformat()), 90.0),
        (used_up("anthropic-ratelimit-requests-{}", "2026-11-30T12:00:07Z"), 7.0),
        (used_up("x-ratelimit-{}-requests", "6m0s"), 360.0),
        (used_up("x-ratelimit-{}-tokens", "1m30.5s"), 90.5),
        (used_up("x-ratelimit-{}-tokens", "20ms"), 0.02),
        (used_up("x-ratelimit-{}", str(EPOCH_S + 12)), 12.0),
        (used_up("x-ratelimit-{}", str((EPOCH_S + 12) * 1000)), 12.0),
        (used_up("x-ratelimit-{}", "45"), 45.0),
        (
            {
                "anthropic-ratelimit-unified-status": "rejected",
                "anthropic-ratelimit-unified-reset": str(EPOCH_S + 3600),
            },
            3600.0,
        ),
        # what is not used up is not waited for, of several the last one counts, and Retry-After knows best
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "9s"}, None),
        ({"x-ratelimit-reset-requests": "9s"}, None),
        (used_up("x-ratelimit-{}-requests", "2s") | used_up("x-ratelimit-{}-tokens", "9s"), 9.0),
        (used_up("x-ratelimit-{}-requests", "2s", **{"retry-after": "1"}), 1.0),
        (used_up("x-ratelimit-{}-requests", "soon"), None),
        (used_up("x-ratelimit-{}-requests", "2026-11-30T12:00:07"), None),
        (used_up("x-ratelimit-{}-requests", "0s"), None),
    ],
)
def test_else_the_reset_of_what_is_used_up(headers: dict[str, str], seconds: float | None):
    assert wished_wait_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.2s. Visit the page.", 1.2),
        ("Please try again in 6m0s.", 360.0),
        ("Please retry in 20ms", 0.02),
        ("please retry after 30 seconds", 30.0),
        ("try again in a moment", None),
        ("try again later", None),
    ],
)
def test_else_what_the_words_say(text: str, seconds: float | None):
    waits = [wished_wait_s(headers, NOW, text=text) for headers in ({}, {"retry-after": "3"})]
    assert waits == [seconds, 3.0]
