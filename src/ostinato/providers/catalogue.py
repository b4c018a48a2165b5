"""What is known of well-known models: windows, limits, prices, parameter rules. Small, dated, and overridden by the user.

What is not known is not made up: an unknown model gets cautious limits and no prices.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ostinato.errors import ConfigurationError
from ostinato.ports import ModelFacts, Prices

AS_OF = "2026-11"
"""When these facts were read, from the providers' public model and price pages and the `genai-prices` data set. Where a
price has tiers by prompt length, the first one stands here: long prompts may cost more."""

PROVIDERS = ("anthropic", "openai", "openai-responses", "openai-chat", "local")
"""What may stand before the slash of a model's name. The two longer names of `openai` choose its wire."""

OPENAI_WIRES: Mapping[str, Literal["chat", "responses"]] = MappingProxyType({
    "openai-responses": "responses",
    "openai-chat": "chat",
})

THOUGHTS_OR_TOOLS_ON_CHAT = (
    "gpt-5.2",
    "gpt-5.3",
    "gpt-5.4",
    "gpt-5.5",
    "gpt-5.6",
    "gpt-5.7",
    "gpt-6",
    "gpt-7",
)
"""Models that refuse tools on the Chat wire while they think."""

UNKNOWN_CONTEXT_WINDOW = 128_000
UNKNOWN_MAX_OUTPUT_TOKENS = 8_192
"""For models that are not listed: what nearly every model of the last years can do."""

ALIASES: Mapping[str, str] = MappingProxyType({
    "fable": "anthropic/claude-fable-5-2",
    "opus": "anthropic/claude-opus-5-5",
    "sonnet": "anthropic/claude-sonnet-5-5",
    "haiku": "anthropic/claude-haiku-5-5",
    "gpt": "openai/gpt-6.1-sol",
})
"""Short names for the current model of each family."""

DEFAULT_MODELS: Mapping[str, str] = MappingProxyType({
    "anthropic": ALIASES["sonnet"],
    "openai": ALIASES["gpt"],
})

ThinkingForm = Literal["none", "budget", "adaptive", "effort", "effort_without_tools"]


def _claude(
    name: str,
    window: int,
    output: int,
    prices: Prices,
    *,
    thinking: ThinkingForm = "adaptive",
    takes_temperature: bool = False,
) -> ModelFacts:
    return ModelFacts(
        "anthropic",
        name,
        window,
        output,
        prices,
        takes_images=True,
        takes_temperature=takes_temperature,
        thinking_form=thinking,
        searches_web=True,
    )


def _gpt(
    name: str, window: int, output: int, prices: Prices, *, thinking: ThinkingForm = "effort"
) -> ModelFacts:
    """Reasoning models of OpenAI take no temperature, have their own name for the output limit, and are spoken to over the
    Responses wire: on the other one they forget between two calls what they thought, or refuse tools while they think."""
    return ModelFacts(
        "openai",
        name,
        window,
        output,
        prices,
        takes_images=True,
        takes_temperature=thinking == "none",
        output_parameter="max_tokens" if thinking == "none" else "max_completion_tokens",
        thinking_form=thinking,
        openai_wire="chat" if thinking == "none" else "responses",
        searches_web=thinking != "none",
    )


MODELS: tuple[ModelFacts, ...] = (
    _claude("claude-fable-5-2", 1_000_000, 128_000, Prices(8, 40, 0.2, 10)),
    _claude("claude-fable-5-1", 1_000_000, 128_000, Prices(10, 50, 0.25, 12.5)),
    _claude("claude-opus-5-5", 1_000_000, 128_000, Prices(4, 20, 0.2, 5)),
    _claude("claude-opus-5", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25)),
    _claude("claude-opus-4-8", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25)),
    _claude("claude-opus-4-7", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25)),
    _claude("claude-opus-4-6", 1_000_000, 128_000, Prices(5, 25, 0.5, 6.25), takes_temperature=True),
    _claude(
        "claude-opus-4-5",
        200_000,
        64_000,
        Prices(5, 25, 0.5, 6.25),
        thinking="budget",
        takes_temperature=True,
    ),
    _claude("claude-sonnet-5-5", 1_000_000, 128_000, Prices(2, 10, 0.1, 2.5)),
    _claude("claude-sonnet-5", 1_000_000, 128_000, Prices(2, 10, 0.2, 2.5)),
    _claude("claude-sonnet-4-6", 1_000_000, 128_000, Prices(3, 15, 0.3, 3.75), takes_temperature=True),
    _claude(
        "claude-sonnet-4-5",
        200_000,
        64_000,
        Prices(3, 15, 0.3, 3.75),
        thinking="budget",
        takes_temperature=True,
    ),
    _claude("claude-haiku-5-5", 1_000_000, 128_000, Prices(0.1, 0.5, 0.01, 0.125)),
    _claude(
        "claude-haiku-4-5",
        200_000,
        64_000,
        Prices(1, 5, 0.1, 1.25),
        thinking="budget",
        takes_temperature=True,
    ),
    _gpt("gpt-6-astra", 1_050_000, 128_000, Prices(10, 50, 1, 12.5)),
    _gpt("gpt-6.1-sol", 1_050_000, 128_000, Prices(2, 10, 0.1, 2.5)),
    _gpt("gpt-6.1-terra", 1_050_000, 128_000, Prices(1, 5, 0.05, 1.25)),
    _gpt("gpt-6-sol", 1_050_000, 128_000, Prices(2, 10, 0.2, 2.5)),
    _gpt("gpt-6-luna", 1_050_000, 128_000, Prices(0.1, 0.5, 0.01, 0.125)),
    _gpt("gpt-5.6-sol", 1_050_000, 128_000, Prices(4, 20, 0.4, 5)),
    _gpt("gpt-5.6-terra", 1_050_000, 128_000, Prices(2, 12, 0.2, 2.5)),
    _gpt("gpt-5.6-luna", 1_050_000, 128_000, Prices(0.2, 1.2, 0.02, 0.25)),
    _gpt("gpt-5.5", 1_050_000, 128_000, Prices(5, 30, 0.5)),
    _gpt("gpt-5.4", 1_050_000, 128_000, Prices(2.5, 15, 0.25)),
    _gpt("gpt-5.4-mini", 400_000, 128_000, Prices(0.75, 4.5, 0.075)),
    _gpt("gpt-5.4-nano", 400_000, 128_000, Prices(0.2, 1.25, 0.02)),
    _gpt("gpt-5.2", 400_000, 128_000, Prices(1.75, 14, 0.175)),
    _gpt("gpt-5.1", 400_000, 128_000, Prices(1.25, 10, 0.125)),
    _gpt("gpt-5", 400_000, 128_000, Prices(1.25, 10, 0.125)),
    _gpt("gpt-5-mini", 400_000, 128_000, Prices(0.25, 2, 0.025)),
    _gpt("gpt-5-nano", 400_000, 128_000, Prices(0.05, 0.4, 0.005)),
    _gpt("o3", 200_000, 100_000, Prices(2, 8, 0.5)),
    _gpt("o4-mini", 200_000, 100_000, Prices(1.1, 4.4, 0.275)),
    _gpt("gpt-4.1", 1_000_000, 32_768, Prices(2, 8, 0.5), thinking="none"),
    _gpt("gpt-4.1-mini", 1_000_000, 32_768, Prices(0.4, 1.6, 0.1), thinking="none"),
    _gpt("gpt-4o", 128_000, 16_384, Prices(2.5, 10, 1.25), thinking="none"),
    _gpt("gpt-4o-mini", 128_000, 16_384, Prices(0.15, 0.6, 0.075), thinking="none"),
)


Price: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class PriceOverrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """US dollars per million tokens; what is left out stays as it is. Where nothing is known, a table without `input` or
    `output` is no price table.
    """

    input: Price | msgspec.UnsetType = msgspec.UNSET
    output: Price | msgspec.UnsetType = msgspec.UNSET
    cache_read: Price | msgspec.UnsetType = msgspec.UNSET
    cache_write: Price | msgspec.UnsetType = msgspec.UNSET


class FactOverrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a user may say about a model, in the names of `ModelFacts`; what is left out stays as it is."""

    context_window: int | msgspec.UnsetType = msgspec.UNSET
    max_output_tokens: int | msgspec.UnsetType = msgspec.UNSET
    prices: PriceOverrides | msgspec.UnsetType | None = msgspec.UNSET
    takes_images: bool | msgspec.UnsetType = msgspec.UNSET
    takes_temperature: bool | msgspec.UnsetType = msgspec.UNSET
    output_parameter: Literal["max_tokens", "max_completion_tokens"] | msgspec.UnsetType = msgspec.UNSET
    thinking_form: ThinkingForm | msgspec.UnsetType = msgspec.UNSET
    reasoning_echo: Literal["given", "always", "never"] | msgspec.UnsetType = msgspec.UNSET
    openai_wire: Literal["chat", "responses"] | msgspec.UnsetType = msgspec.UNSET
    overflow_patterns: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    searches_web: bool | msgspec.UnsetType = msgspec.UNSET


def full_name(name: str) -> str:
    """`provider/model` for what a user calls a model: an alias, a bare name of a known family, or the full name.

    Raises `ConfigurationError` with the nearest names when the provider cannot be told.
    """
    name = name.strip()
    alias = ALIASES.get(name.lower())
    if alias is not None:
        return alias
    if name == "local":
        return name
    provider, slash, model = name.partition("/")
    if slash and model and provider in PROVIDERS:
        return name
    if not slash and name.startswith("claude"):
        return f"anthropic/{name}"
    if not slash and name.startswith(("gpt", "o1", "o3", "o4", "chatgpt", "codex")):
        return f"openai/{name}"
    raise _unknown_name(name, provider if slash else "")


def facts_of(name: str, overrides: Mapping[str, Any] | None = None) -> ModelFacts:
    """What is known of the model `provider/model`, changed by what the user says of it (`FactOverrides`).

    Dated names (`claude-sonnet-4-5-20250929`) are known by their undated one. Raises `ConfigurationError` for overrides
    that do not fit.
    """
    prefix, _, model = name.partition("/")
    provider = _provider_of(prefix)
    known = next(
        (facts for facts in MODELS if facts.provider == provider and _is_dated(model, facts.id)), None
    )
    facts = replace(known, id=model) if known else _unknown_facts(provider, model)
    wished = overrides or {}
    wire = wished.get("openai_wire") or OPENAI_WIRES.get(prefix) or facts.openai_wire
    facts = replace(facts, openai_wire=wire)
    if wire == "chat" and provider == "openai" and model.startswith(THOUGHTS_OR_TOOLS_ON_CHAT):
        facts = replace(facts, thinking_form="effort_without_tools")
    return _overridden(facts, wished, name)


def overrides_of(name: str, models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What `models` says of `provider/model`: by its full name, an alias, the model's own name or the undated one. Where
    several keys mean it, the later one wins. A name that chooses the wire means the same model as one that does not.
    """
    prefix, _, model = name.partition("/")
    provider = _provider_of(prefix)
    found: dict[str, Any] = {}
    for key, facts in models.items():
        said, slash, rest = ALIASES.get(key.lower(), key).partition("/")
        own = rest if slash and _provider_of(said) == provider else said + slash + rest
        if ("/" not in own or own == model) and _is_dated(model, own):
            found.update(facts)
    return found


def _provider_of(prefix: str) -> str:
    return "openai" if prefix in OPENAI_WIRES else prefix


def _is_dated(model: str, known: str) -> bool:
    """`known` itself, or `known` with a date (`-20250929`, `-2025-09-29`) or `-latest` behind it."""
    rest = model.removeprefix(known)
    return model.startswith(known) and (
        rest in {"", "-latest"} or (rest[0] == "-" and rest.replace("-", "").isdigit() and len(rest) >= 9)
    )


def _unknown_facts(provider: str, model: str) -> ModelFacts:
    """Cautious limits; the parameter rules of the family, if the name tells it: a newer member keeps its elders' rules."""
    if model.startswith("claude"):
        return ModelFacts(
            provider,
            model,
            200_000,
            32_000,
            takes_images=True,
            takes_temperature=False,
            thinking_form="adaptive",
        )
    if provider == "openai" and model.startswith(("gpt-5", "gpt-6", "gpt-7", "o1", "o3", "o4")):
        return ModelFacts(
            provider,
            model,
            UNKNOWN_CONTEXT_WINDOW,
            32_000,
            takes_images=True,
            takes_temperature=False,
            output_parameter="max_completion_tokens",
            thinking_form="effort",
            openai_wire="responses",
        )
    is_deepseek = "deepseek" in model.lower()
    return ModelFacts(
        provider,
        model,
        UNKNOWN_CONTEXT_WINDOW,
        UNKNOWN_MAX_OUTPUT_TOKENS,
        thinking_form="budget" if provider == "anthropic" else "none",
        # It refuses tool calls that come back without the reasoning before them, an empty one included.
        reasoning_echo="always" if is_deepseek else "given",
    )


def _overridden(facts: ModelFacts, overrides: Mapping[str, Any], name: str) -> ModelFacts:
    try:
        wished = msgspec.convert(dict(overrides), FactOverrides)
    except msgspec.ValidationError as error:
        raise ConfigurationError(
            f"the settings for model `{name}` do not fit: {error}",
            hint=f"known settings are {', '.join(f'`{field}`' for field in FactOverrides.__struct_fields__)}",
        ) from error
    changes = _said(wished)
    prices = changes.get("prices")
    if isinstance(prices, PriceOverrides):
        changes |= _priced(facts.prices, _said(prices))
    changed = replace(facts, **changes)
    if changed.context_window <= 0 or not 0 < changed.max_output_tokens <= changed.context_window:
        raise ConfigurationError(
            f"the settings for model `{name}` do not fit: {changed.max_output_tokens} output tokens in a window of "
            f"{changed.context_window}",
            hint="set `context_window` and `max_output_tokens` so that the output fits into the window",
        )
    return changed


def _priced(known: Prices | None, said: Mapping[str, float]) -> dict[str, Any]:
    """Half a table is none: what it leaves out would count as free."""
    if known is not None:
        return {"prices": msgspec.structs.replace(known, **said)}
    missing = tuple(name for name in ("input", "output") if name not in said)
    return {"prices": None, "missing_prices": missing} if missing else {"prices": Prices(**said)}


def _said(overrides: FactOverrides | PriceOverrides) -> dict[str, Any]:
    fields = {field: getattr(overrides, field) for field in overrides.__struct_fields__}
    return {field: value for field, value in fields.items() if value is not msgspec.UNSET}


def _unknown_name(name: str, provider: str) -> ConfigurationError:
    import difflib  # ruff: ignore[import-outside-top-level] - only a misspelled name needs it

    known = [*ALIASES, "local", *(facts.id for facts in MODELS)]
    near = difflib.get_close_matches(name.lower(), known, 1, 0.6)
    if provider in PROVIDERS:
        near, message = [], f"`{name}` names a provider and no model"
    elif provider:
        nearest = difflib.get_close_matches(provider.lower(), PROVIDERS, 1, 0.5)
        near = [f"{nearest[0]}/{name.partition('/')[2]}"] if nearest else []
        message = f"no provider named `{provider}` for model `{name}`"
    else:
        message = f"no model named `{name}`"
    guess = f"did you mean `{near[0]}`? " if near else ""
    return ConfigurationError(
        message,
        hint=f"{guess}short names are {_quoted(ALIASES)}, `local`; any other is `provider/model` with one of "
        f"{_quoted(PROVIDERS)}",
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
