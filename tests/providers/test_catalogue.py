"""What is known of models: names as people write them, facts that the user may correct, nothing made up."""

from typing import Any

import pytest

from ostinato.errors import ConfigurationError
from ostinato.ports import Prices
from ostinato.providers.catalogue import ALIASES, DEFAULT_MODELS, MODELS, facts_of, full_name, overrides_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("claude-from-next-year", "anthropic/claude-from-next-year"),
        ("gpt-5.5", "openai/gpt-5.5"),
        ("o3", "openai/o3"),
        ("openai/llama-4", "openai/llama-4"),
        ("openai/meta/llama-4", "openai/meta/llama-4"),
        ("sonnet", ALIASES["sonnet"]),
        (" Opus ", ALIASES["opus"]),
        ("local", "local"),
        ("local//data/model.gguf", "local//data/model.gguf"),
    ],
)
def test_names_are_understood_as_people_write_them(name: str, expected: str):
    assert full_name(name) == expected


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("sonet", "sonnet"),
        ("hiaku", "haiku"),
        ("antropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("opnai/gpt-5.5", "openai/gpt-5.5"),
        ("lokal", "local"),
        ("xyzzy", ""),
        ("", ""),
        ("anthropic/", ""),
        ("mistral/large", ""),
    ],
)
def test_a_name_that_says_nothing_is_refused_with_the_nearest_one(name: str, guess: str):
    with pytest.raises(ConfigurationError) as caught:
        full_name(name)
    assert f"`{guess}`" in caught.value.hint if guess else "did you mean" not in caught.value.hint


@pytest.mark.parametrize(
    "name", ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-latest"]
)
def test_a_dated_name_is_known_by_its_undated_one(name: str):
    facts = facts_of(f"anthropic/{name}")
    assert (facts.id, facts.context_window, facts.prices) == (name, 200_000, Prices(3, 15, 0.3, 3.75))


def test_a_longer_name_is_not_taken_for_a_shorter_one():
    assert facts_of("openai/gpt-5-mini").prices == Prices(0.25, 2, 0.025)
    assert facts_of("openai/gpt-5-turbo-2").prices is None
    assert facts_of("anthropic/claude-opus-5-6").prices is None
    assert facts_of("anthropic/claude-opus-5-5").prices == Prices(4, 20, 0.2, 5)


def test_an_unknown_model_gets_cautious_limits_and_no_prices():
    facts = facts_of("openai/llama-4")
    assert (facts.context_window, facts.prices, facts.output_parameter) == (128_000, None, "max_tokens")
    assert facts_of("anthropic/some-server-model").thinking_form == "budget"


def test_an_unknown_member_of_a_family_keeps_the_familys_rules():
    newer = facts_of("openai/gpt-6.2-sol")
    assert (newer.output_parameter, newer.takes_temperature) == ("max_completion_tokens", False)
    assert (newer.thinking_form, newer.openai_wire) == ("effort", "responses")
    assert facts_of("openai-chat/gpt-6.2-sol").thinking_form == "effort_without_tools"
    assert facts_of("openai/gpt-5.5", {"openai_wire": "chat"}).thinking_form == "effort_without_tools"
    assert facts_of("anthropic/claude-opus-9").thinking_form == "adaptive"
    assert facts_of("openai/deepseek-v4").reasoning_echo == "always"


def test_the_user_has_the_last_word():
    facts = facts_of(
        "openai/llama-4",
        {
            "context_window": 32_768,
            "max_output_tokens": 4_096,
            "prices": {"input": 1, "output": 2},
            "takes_images": True,
            "thinking_form": "effort",
        },
    )
    assert (facts.context_window, facts.max_output_tokens, facts.takes_images) == (32_768, 4_096, True)
    assert facts.prices == Prices(1, 2)
    assert facts_of("anthropic/claude-opus-5-5", {"prices": None}).prices is None


@pytest.mark.parametrize(
    "overrides",
    [
        {"context_windw": 1000},
        {"context_window": "large"},
        {"context_window": 0},
        {"max_output_tokens": 0},
        {"context_window": 1000, "max_output_tokens": 2000},
        {"prices": {"inputs": 1}},
        {"id": "other"},
    ],
)
def test_settings_that_do_not_fit_are_refused(overrides: dict[str, Any]):
    with pytest.raises(ConfigurationError) as caught:
        facts_of("openai/llama-4", overrides)
    assert "openai/llama-4" in caught.value.message


def test_the_table_holds_together():
    names = [f"{facts.provider}/{facts.id}" for facts in MODELS]
    assert len(set(names)) == len(names)
    assert set(ALIASES.values()) | set(DEFAULT_MODELS.values()) <= set(names)
    for facts in MODELS:
        assert full_name(facts.id) == f"{facts.provider}/{facts.id}"
        assert facts_of(f"{facts.provider}/{facts.id}") == facts
        assert facts.max_output_tokens < facts.context_window


SAID: dict[str, dict[str, Any]] = {
    "openai/llama": {"context_window": 1},
    "claude-sonnet-4-5": {"context_window": 2},
    "opus": {"context_window": 3},
    "meta/llama": {"context_window": 4},
}


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("openai/llama", 1),
        ("anthropic/llama", None),
        ("anthropic/claude-sonnet-4-5", 2),
        ("anthropic/claude-sonnet-4-5-20250929", 2),
        ("anthropic/claude-sonnet-4-50", None),
        (ALIASES["opus"], 3),
        ("openai/meta/llama", 4),
        ("openai-responses/llama", 1),
        ("openai-chat/meta/llama", 4),
    ],
)
def test_what_is_said_of_models_is_found_by_every_name_of_the_model(name: str, window: int | None):
    assert overrides_of(name, SAID).get("context_window") == window


def test_one_price_that_is_said_leaves_the_others_as_they_are():
    facts = facts_of("anthropic/claude-sonnet-4-5", {"prices": {"cache_read": 9}})
    assert facts.prices == Prices(3, 15, 9, 3.75)


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ({}, ("input", "output")),
        ({"input": 1}, ("output",)),
        ({"output": 1, "cache_read": 1}, ("input",)),
        ({"input": 1, "output": 2}, ()),
    ],
)
def test_a_price_table_without_input_or_output_is_none(said: dict[str, float], missing: tuple[str, ...]):
    facts = facts_of("openai/llama-4", {"prices": said})
    assert (facts.prices is None, facts.missing_prices) == (bool(missing), missing)


@pytest.mark.parametrize("price", [-1, -0.001, 1e300, float("inf")])
def test_a_price_that_cannot_be_meant_is_refused(price: float):
    with pytest.raises(ConfigurationError):
        facts_of("openai/llama-4", {"prices": {"input": price, "output": 1}})
