"""Durations as people write them; what is none is refused."""

import pytest

from ostinato.cli.duration import duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5", 1.5),
        ("5m", 300),
        ("1h", 3_600),
        ("1h30m", 5_400),
        ("1H2M3S", 3_723),
        (" 2m ", 120),
    ],
)
def test_numbers_are_seconds_and_units_add_up(text: str, seconds: float):
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "0", "0m", "-1", "5 m", "m", "1m1h", "1d", "1e9", "999999999999", "inf", "nan", "٣"]
)
def test_what_is_no_duration_is_refused(text: str):
    with pytest.raises(ValueError, match="no duration"):
        duration_s(text)
