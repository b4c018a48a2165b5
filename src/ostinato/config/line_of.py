"""In which line of a settings file each value stands. For people: a file that is no JSON has no lines."""

import json
import re
from collections.abc import Iterator
from typing import Final

from ostinato.config.settings_text import Unreadable, read_settings_text

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def lines_of(content: bytes) -> dict[str, int]:
    """The key of every value (`permissions.allow[2]`) to its line, from 1. Of a name that stands twice the last counts."""
    if isinstance(read_settings_text(content), Unreadable):
        return {}
    text = content.decode("utf-8-sig")
    return dict(_Walk(text).value(""))


class _Walk:
    """One pass over text that is known to be JSON, and not nested deeply."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.finditer(text)
        self._line, self._seen = 1, 0
        self._token = ""
        self._advance()

    def value(self, key: str) -> Iterator[tuple[str, int]]:
        yield key, self._line
        match self._token:
            case "{":
                yield from self._members(key)
            case "[":
                yield from self._items(key)
            case _:
                self._advance()

    def _members(self, key: str) -> Iterator[tuple[str, int]]:
        self._advance()
        while self._token != "}":
            name: str = json.loads(self._token)
            line = self._line
            self._advance()
            self._advance()
            below = f"{key}.{name}" if key else name
            for found, place in self.value(below):
                yield found, line if found == below else place
            self._skip_comma()
        self._advance()

    def _items(self, key: str) -> Iterator[tuple[str, int]]:
        self._advance()
        index = 0
        while self._token != "]":
            yield from self.value(f"{key}[{index}]")
            index += 1
            self._skip_comma()
        self._advance()

    def _skip_comma(self) -> None:
        if self._token == ",":
            self._advance()

    def _advance(self) -> None:
        found = next(self._tokens, None)
        if found is None:
            self._token = ""
            return
        self._line += self._text.count("\n", self._seen, found.start())
        self._seen = found.start()
        self._token = found.group()
