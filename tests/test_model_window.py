"""What a failed call or a reply teaches of the window, and what it does not."""

import pytest

from ostinato.errors import ModelError, ModelErrorKind
from ostinato.messages import Usage
from ostinato.model_window import learned_window, overflowed_silently
from ostinato.ports import ModelFacts

FACTS = ModelFacts("openai", "model-1", 200_000, 8_000)


def failed(
    kind: ModelErrorKind, input_tokens: int | None = None, limit_tokens: int | None = None
) -> ModelError:
    error = ModelError("no", kind=kind)
    return error.sized(input_tokens=input_tokens, limit_tokens=limit_tokens, output_limit_tokens=None)


@pytest.mark.parametrize(
    ("error", "sent_tokens", "window"),
    [
        (failed("prompt_too_long", 210_000, 128_000), None, 128_000),
        (failed("prompt_too_long", 210_000, 128_000), 100_000, 128_000),
        (failed("output_overflow", 100_000, 128_000), None, 128_000),
        (failed("prompt_too_long", 210_000, 200_000), None, None),
        (failed("prompt_too_long", 1_100_000, 1_000_000), None, None),
        (failed("prompt_too_long"), 100_000, 85_000),
        (failed("prompt_too_long", 120_000), 100_000, 102_000),
        (failed("prompt_too_long"), 300_000, None),
        (failed("prompt_too_long"), None, None),
        (failed("output_overflow"), 100_000, None),
        (failed("rate_limit", 210_000, 128_000), 100_000, None),
        (failed("prompt_too_long", 210_000, 2), 100_000, 178_500),
        (failed("prompt_too_long", 100_000, 2), 100_000, 85_000),
    ],
)
def test_a_smaller_window_is_learned_from_what_failed(
    error: ModelError, sent_tokens: int | None, window: int | None
):
    assert learned_window(error, FACTS, sent_tokens=sent_tokens) == window


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (Usage(150_000, 9_000, 49_000, 1_000), False),
        (Usage(150_001, 9_000, 49_000, 1_000), True),
        (Usage(), False),
    ],
)
def test_an_answer_to_a_prompt_longer_than_the_window_is_an_overflow_that_nobody_named(
    usage: Usage, expected: bool
):
    assert overflowed_silently(usage, FACTS) is expected
