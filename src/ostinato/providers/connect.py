"""From a model's name and the environment to a `Model`: which wire, which address, which key.

The environment is the caller's mapping; nothing here or below looks at the process's own. Nothing is sent.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ostinato.errors import ConfigurationError
from ostinato.ports import ModelFacts
from ostinato.providers.catalogue import DEFAULT_MODELS, facts_of, full_name, overrides_of
from ostinato.providers.deadlines import DEFAULT_DEADLINES, Deadlines, deadlines_from
from ostinato.providers.exchange import HttpSettings

if TYPE_CHECKING:
    from ostinato.providers.anthropic import AnthropicModel
    from ostinato.providers.openai_model import OpenAIModel

    NetworkModel = AnthropicModel | OpenAIModel

ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DOMAIN = "openai.com"

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}
"""Where each provider's keys stand, by its name."""

URL_VARIABLES = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")


def model_from_environment(
    name: str | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    *,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    extra_headers: Mapping[str, str] | None = None,
    deadlines: Deadlines = DEFAULT_DEADLINES,
) -> "NetworkModel":
    """The model `name` (see `catalogue.full_name`), or without a name the default of the provider whose key is there.

    `overrides` change what is known of the model (`catalogue.FactOverrides`), and before them what `models` says of it by
    its name (`catalogue.overrides_of`). A base URL without a key is a server of one's own; one that is not OpenAI's is spoken
    to over Chat Completions unless the name or an override says otherwise. Environment variables win over `deadlines`.

    Raises `ConfigurationError` when key and address are missing or the name says nothing; a `local` model is not made here.
    """
    full = full_name(name) if name else _default_name(environment)
    facts = facts_of(
        full, _usual_wire(full, environment) | overrides_of(full, models or {}) | dict(overrides or {})
    )
    settings = HttpSettings(environment, extra_headers or {}, deadlines_from(environment, deadlines))
    match facts.provider:
        case "anthropic":
            return _anthropic(facts, environment, settings)
        case "openai":
            return _openai(facts, environment, settings)
        case _:
            raise ConfigurationError(
                f"the model `{name}` is not reached over the network",
                hint="local models are opened by the `[local]` extra",
            )


def _usual_wire(full: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """What is to be said of the wire, for what nobody chose: servers that speak like OpenAI mostly know the older wire only."""
    base_url = _value(environment, "OPENAI_BASE_URL")
    if not base_url or not full.startswith("openai/"):
        return {}
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:  # no address at all, which is said when it is used
        return {}
    return {} if host == OPENAI_DOMAIN or host.endswith(f".{OPENAI_DOMAIN}") else {"openai_wire": "chat"}


def _anthropic(facts: ModelFacts, environment: Mapping[str, str], settings: HttpSettings) -> "AnthropicModel":
    from ostinato.providers.anthropic import AnthropicModel  # ruff: ignore[import-outside-top-level] - a wire loads when it is chosen

    key, token = _value(environment, "ANTHROPIC_API_KEY"), _value(environment, "ANTHROPIC_AUTH_TOKEN")
    base_url = _value(environment, "ANTHROPIC_BASE_URL")
    if not (key or token or base_url):
        raise _no_key(facts, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    return AnthropicModel(
        facts, base_url=base_url or ANTHROPIC_URL, api_key=key, auth_token=token, settings=settings
    )


def _openai(facts: ModelFacts, environment: Mapping[str, str], settings: HttpSettings) -> "OpenAIModel":
    key, base_url = _value(environment, "OPENAI_API_KEY"), _value(environment, "OPENAI_BASE_URL")
    if not (key or base_url):
        raise _no_key(facts, "OPENAI_API_KEY", "OPENAI_BASE_URL")
    if facts.openai_wire == "responses":
        from ostinato.providers.openai_responses import OpenAIResponsesModel as Adapter  # ruff: ignore[import-outside-top-level] - as above
    else:
        from ostinato.providers.openai_chat import OpenAIChatModel as Adapter  # ruff: ignore[import-outside-top-level] - as above
    return Adapter(facts, base_url=base_url or OPENAI_URL, api_key=key, settings=settings)


def _default_name(environment: Mapping[str, str]) -> str:
    for provider, default in DEFAULT_MODELS.items():
        if any(_value(environment, key) for key in KEY_VARIABLES[provider]):
            return default
    if any(_value(environment, variable) for variable in URL_VARIABLES):
        raise ConfigurationError(
            "a base URL is set, but no model is named",
            hint="name it with `--model openai/NAME` or `--model anthropic/NAME`, as the server calls it",
        )
    raise ConfigurationError(
        "no model can be reached: no key is set",
        hint="set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for a server you already have, "
        "or use `--model local`",
    )


def _no_key(facts: ModelFacts, key: str, url: str) -> ConfigurationError:
    return ConfigurationError(
        f"no key for `{facts.provider}/{facts.id}`: `{key}` is not set",
        hint=f"set `{key}`, or `{url}` for a server you already have, or use `--model local`",
    )


def _value(environment: Mapping[str, str], name: str) -> str:
    """Pasted values bring white space along; anything else that no header can carry is named before it is sent."""
    value = environment.get(name, "").strip()
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"`{name}` holds characters that cannot be sent",
            hint="copy the value again: it is plain letters, digits and punctuation, without quotes or line breaks",
        )
    return value
