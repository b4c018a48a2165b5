"""The secrets of an engine, by their values: what its environment holds, and the keys that its host or a command gave later.

Promise: whoever has such a value in a text can take it out, whatever form it has.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from ostinato.engine.options import RefreshApiKey


class KnownSecrets:
    """Nothing is looked for before a text is masked. `environment` is the engine's own, the first key of a command included;
    `newest_key` gives that command's last one.
    """

    def __init__(self, environment: Mapping[str, str], newest_key: Callable[[], str]) -> None:
        self._environment = environment
        self._newest_key = newest_key
        self._keys: list[str] = []

    def add(self, key: str) -> None:
        if key not in self._keys:
            self._keys.append(key)

    def heard(self, refresh: RefreshApiKey | None) -> RefreshApiKey | None:
        """The same, and each key that it gives is known from then on."""
        if refresh is None:
            return None

        async def refreshed() -> str | None:
            key = await refresh()
            if isinstance(key, str):
                self.add(key)
            return key

        return refreshed

    def mask(self, text: str) -> str:
        """Without the known values, and without what has the form of a key."""
        from ostinato.secret_values import masked, usable_secrets  # ruff: ignore[import-outside-top-level] - only failures say something

        return masked(text, usable_secrets((*self._in_environment, *self._keys, self._newest_key())))

    @cached_property
    def _in_environment(self) -> Sequence[str]:
        from ostinato.secret_values import secret_values  # ruff: ignore[import-outside-top-level] - as above

        return secret_values(self._environment)
