"""A record's time is always that of its own moment, whatever was stamped before it."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from ostinato.journal.timestamp import Timestamp

ZONES = (UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-8)))
MOMENTS = st.datetimes(timezones=st.sampled_from(ZONES)).filter(lambda moment: 2 < moment.year < 9_998)


@given(st.lists(MOMENTS, min_size=1, max_size=5), st.lists(st.integers(0, 1_999_999), max_size=5))
def test_a_stamp_is_the_moment_in_utc_to_the_millisecond(moments: list[datetime], steps_us: list[int]):
    stamp, last = Timestamp(), moments[-1]
    burst = [last + timedelta(microseconds=step) for step in steps_us]
    for moment in (*moments, *burst, *reversed(burst)):
        utc = moment.astimezone(UTC)
        assert stamp.of(moment) == utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")
