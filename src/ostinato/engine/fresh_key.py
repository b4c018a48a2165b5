"""A new key for a model whose server refused the old one: whoever knows keys is asked, and the adapter told."""

import logging
from typing import Final, Protocol, TypeGuard, runtime_checkable

import anyio

from ostinato.engine.model_choice import ChosenModel
from ostinato.engine.options import Options, RefreshApiKey
from ostinato.loop.model_call import RefreshAuth


@runtime_checkable
class TakesKey(Protocol):
    """A model behind a key."""

    def use_key(self, api_key: str) -> None: ...


class RenewsKey(Protocol):
    """A model whose key comes from a command of the settings."""

    async def renew_key(self) -> bool: ...


def _renews_key(model: object) -> TypeGuard[RenewsKey]:
    """What a runtime-checkable protocol would answer too, in many times the time; each engine asks."""
    return callable(getattr(model, "renew_key", None))


TIMEOUT_S: Final = 60.0
"""A password manager may ask its user first; as long as a command of the settings has for it."""


def key_refresher(
    refresh: RefreshApiKey | None, chosen: ChosenModel, *, timeout_s: float = TIMEOUT_S
) -> RefreshAuth | None:
    """None where nobody knows a key, or the model wants none. A command that gave the first key gives the next one, too. Who has not
    answered after `timeout_s` knows none: the refusal is then shown as it is.
    """
    model = chosen.model
    if _renews_key(model):
        return model.renew_key
    if refresh is None or not isinstance(model, TakesKey):
        return None

    async def refreshed() -> bool:
        try:
            with anyio.fail_after(timeout_s):
                key = await refresh()
        except Exception as error:  # ruff: ignore[blind-except] - the host's code; the refusal is then shown as it is
            from ostinato.secret_values import without_secrets  # ruff: ignore[import-outside-top-level] - its many patterns load with a failure

            logging.getLogger("ostinato").warning("no new key: %s", without_secrets(repr(error)))
            return False
        if not key:
            return False
        model.use_key(key)
        return True

    return refreshed


def other_key_refresher(
    options: Options, chosen: ChosenModel, first: ChosenModel | None
) -> RefreshAuth | None:
    """For a model beside the first one of the options: the host's new key is for the first one's server, and only a model that is
    reached there too may be given it.
    """
    is_named = options.model is None or isinstance(options.model, str)
    shares_server = first is not None and is_named and first.facts.provider == chosen.facts.provider
    return key_refresher(options.refresh_api_key if shares_server else None, chosen)
