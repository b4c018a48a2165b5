"""Identifiers that a test can predict."""


class CountingIds:
    """The Ids port: `id-1`, `id-2` and so on; `prefix` tells several sources apart."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._count = 0

    def uuid(self) -> str:
        self._count += 1
        return f"{self._prefix}-{self._count}"
