"""How a window is divided, for the smallest and the largest models alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.ports import ModelFacts
from ostinato.window_limits import (
    auto_compact_tokens,
    collapse_commit_tokens,
    collapse_staging_tokens,
    hard_limit_tokens,
    reserved_output_tokens,
    warning_tokens,
)

windows = st.integers(4_000, 2_000_000)
outputs = st.integers(1, 200_000)


def facts(window: int, output: int) -> ModelFacts:
    return ModelFacts("p", "m", window, output)


@given(windows, outputs)
def test_what_is_sent_at_the_limit_leaves_room_for_the_reply(window: int, output: int):
    model = facts(window, output)
    hard, reserved = hard_limit_tokens(model), reserved_output_tokens(model)
    assert hard + reserved <= window
    assert 0 < reserved <= output
    assert hard >= 0.75 * window


@given(windows, windows, outputs)
def test_a_larger_window_takes_no_less(one: int, other: int, output: int):
    small, large = sorted((one, other))
    assert hard_limit_tokens(facts(small, output)) <= hard_limit_tokens(facts(large, output))


@pytest.mark.parametrize(
    ("window", "output", "hard"),
    [
        (128_000, 32_000, 105_440),
        (200_000, 64_000, 177_000),
        (1_000_000, 64_000, 977_000),
        (200_000, 8_000, 189_000),
        (4_096, 4_096, 3_196),
    ],
)
def test_the_limit_of_usual_models(window: int, output: int, hard: int):
    assert hard_limit_tokens(facts(window, output)) == hard


@given(windows, outputs)
def test_each_measure_has_its_room_before_the_next_is_needed(window: int, output: int):
    model = facts(window, output)
    auto, commit, staging = (
        auto_compact_tokens(model),
        collapse_commit_tokens(model),
        collapse_staging_tokens(model),
    )
    assert 0.5 * window <= auto < window
    assert 0 < staging < commit < auto
    assert 0 < warning_tokens(model) < auto
    assert auto <= hard_limit_tokens(model)


@given(windows, windows, outputs)
def test_a_larger_window_is_shortened_no_earlier(one: int, other: int, output: int):
    small, large = sorted((one, other))
    for limit in (auto_compact_tokens, warning_tokens, collapse_staging_tokens, collapse_commit_tokens):
        assert limit(facts(small, output)) <= limit(facts(large, output))


@pytest.mark.parametrize(
    ("window", "auto", "warning"),
    [
        (128_000, 95_000, 82_200),
        (200_000, 167_000, 147_000),
        (1_000_000, 967_000, 947_000),
        (4_096, 2_663, 2_254),
    ],
)
def test_compaction_of_usual_models(window: int, auto: int, warning: int):
    assert auto_compact_tokens(facts(window, 32_000)) == auto
    assert warning_tokens(facts(window, 32_000)) == warning
