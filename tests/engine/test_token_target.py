"""A target is read where the user plainly sets one, with its place in the text, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.engine.token_target import TargetMatch, target_matches, target_tokens


@pytest.mark.parametrize(
    ("prompt", "tokens", "marked"),
    [
        ("+500k", 500_000, "+500k"),
        (" +500k", 500_000, "+500k"),
        ("+1.5m fix the tests", 1_500_000, "+1.5m"),
        ("+500K fix", 500_000, "+500K"),
        ("+2B, all of it", 2_000_000_000, "+2B"),
        ("+ 500k fix", None, ""),
        ("fix the tests +500k", 500_000, "+500k"),
        ("fix the tests +500k.", 500_000, "+500k"),
        ("fix the tests\n+2m\n", 2_000_000, "+2m"),
        ("fix the tests +1.25 m", 1_250_000, "+1.25 m"),
        ("use 2M tokens", 2_000_000, "use 2M tokens"),
        ("Use 2m tokens and refactor", 2_000_000, "Use 2m tokens"),
        ("please spend 300k output tokens on it", 300_000, "spend 300k output tokens"),
        ("spend at least 0.5m tokens", 500_000, "spend at least 0.5m tokens"),
        ("use 200,000 tokens", 200_000, "use 200,000 tokens"),
        ("use 50000 tokens", 50_000, "use 50000 tokens"),
        ("a+5k", None, ""),
        ("fix a+5k", None, ""),
        ("why does it add +5k to the sum here", None, ""),
        ("2 +5", None, ""),
        ("+500", None, ""),
        ("+500kb of data", None, ""),
        ("+0k", None, ""),
        ("use up to 2M tokens", None, ""),
        ("do not use 2M tokens", None, ""),
        ("don't spend 2M tokens", None, ""),
        ("reuse 2M tokens", None, ""),
        ("use 2M tokenizers", None, ""),
        ("+999999999999b", None, ""),
        ("", None, ""),
    ],
)
def test_each_prompt_is_read_as_a_person_would(prompt: str, tokens: int | None, marked: str):
    assert target_tokens(prompt) == tokens
    for match in target_matches(prompt)[:1]:
        assert prompt[match.start : match.end] == marked


def test_the_shorthand_at_the_start_counts_before_all_others_and_each_place_is_named_once():
    prompt = "+1k use 2k tokens now +3k"
    assert [match.tokens for match in target_matches(prompt)] == [1_000, 3_000, 2_000]
    assert target_matches("+7k") == (TargetMatch(7_000, 0, 3),)


@given(st.text(alphabet=" +0123456789.,kmbusetokn\n", max_size=60))
def test_no_text_is_too_odd_to_be_read(prompt: str):
    for match in target_matches(prompt):
        assert match.tokens > 0
        assert 0 <= match.start < match.end <= len(prompt)
