"""The ways out of a refusal for length or media, loaded when one comes: most conversations never meet one."""

from collections.abc import Callable, Sequence

from ostinato.errors import ModelError
from ostinato.history import History
from ostinato.ports import ModelFacts
from ostinato.records import AnyEdit


class Shortening:
    """`overflow` and `media` implement the loop's `Shorten`."""

    def __init__(self, new_uuid: Callable[[], str]) -> None:
        self._new_uuid = new_uuid

    async def overflow(
        self, messages: History, error: ModelError | None, model: ModelFacts
    ) -> Sequence[AnyEdit]:
        from ostinato.context.reactive import ReactiveCompaction  # ruff: ignore[import-outside-top-level] - see above

        return await ReactiveCompaction(self._new_uuid)(messages, error, model)

    async def media(
        self, messages: History, error: ModelError | None, model: ModelFacts
    ) -> Sequence[AnyEdit]:
        from ostinato.context.strip_media import MediaStripping  # ruff: ignore[import-outside-top-level] - see above

        return await MediaStripping(self._new_uuid)(messages, error, model)
