"""Pages that were read a short while ago: asked about again, they are not fetched again."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ostinato.web_pages import WebAnswer

KEPT_S: Final = 15 * 60.0
MAX_KEPT: Final = 32
MAX_KEPT_BYTES: Final = 20_000_000


class KeptAnswers:
    """Whole, successful answers by address, for a quarter of an hour; the oldest go first."""

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._kept: OrderedDict[str, tuple[float, WebAnswer]] = OrderedDict()

    def get(self, url: str) -> WebAnswer | None:
        ends_s, answer = self._kept.get(url, (0.0, None))
        return answer if answer is not None and self._monotonic_s() < ends_s else None

    def put(self, url: str, answer: WebAnswer) -> None:
        if answer.status != 200 or answer.moved_to:
            return
        self._kept[url] = (self._monotonic_s() + KEPT_S, answer)
        self._kept.move_to_end(url)
        while len(self._kept) > MAX_KEPT or self._bytes() > MAX_KEPT_BYTES:
            self._kept.popitem(last=False)

    def _bytes(self) -> int:
        return sum(len(answer.body) for _, answer in self._kept.values())
