"""One shell word as pieces, and what it becomes: static text, a wildcard pattern, or nothing that can be proven."""

import re

import msgspec

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", re.ASCII)
MEANINGFUL = re.compile(r"[*?\[{~]")
SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[", re.ASCII)
BRACE_LIST = re.compile(r"([^{}]*)\{([^{},]*(?:,[^{},]*)+)\}([^{}]*)", re.DOTALL)
ASSIGNMENT_TILDE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=(?:.*:)?~", re.DOTALL)


def has_wildcard(unquoted: str) -> bool:
    """Whether file name expansion could change it; searched by `find`, because a regex would be quadratic."""
    opening = unquoted.find("[")
    return "*" in unquoted or "?" in unquoted or (opening >= 0 and unquoted.find("]", opening) >= 0)


def has_brace_expansion(unquoted: str) -> bool:
    """Whether braces could make several words of it (a superset of what bash expands)."""
    opening, closing = unquoted.find("{"), unquoted.rfind("}")
    inside = unquoted[opening:closing] if 0 <= opening < closing else ""
    return "," in inside or ".." in inside


class Piece(msgspec.Struct, frozen=True):
    """A run of a word. `text` is None when only running the command would tell it."""

    text: str | None
    is_quoted: bool


class Argument(msgspec.Struct, frozen=True):
    """One word handed to a program: its static `text`, or None with the wildcard `pattern` if it is only that."""

    text: str | None
    pattern: str | None = None


class Word(msgspec.Struct, frozen=True):
    pieces: tuple[Piece, ...]

    def bare(self) -> str | None:
        """The text if no part of it was quoted or substituted: the only form in which shell keywords count."""
        if any(piece.is_quoted or piece.text is None for piece in self.pieces):
            return None
        return "".join(piece.text or "" for piece in self.pieces)

    def plain(self) -> str | None:
        """The static text with wildcards and braces taken literally, as in assignments and delimiters."""
        texts = [piece.text for piece in self.pieces]
        return None if None in texts else "".join(text or "" for text in texts)

    def assignment(self) -> tuple[str, str | None] | None:
        """(name, value) if the word has the form of an assignment; an appended value is not static."""
        first = self.pieces[0]
        match = None if first.is_quoted or first.text is None else ASSIGNMENT.match(first.text)
        if match is None:
            return None
        plain = self.plain()
        value = None if plain is None or match[2] else plain[match.end() :]
        return match[1], value

    def has_subscript(self) -> bool:
        """Whether it could be an assignment to an array element, whose subscript is evaluated."""
        first = self.pieces[0]
        return not first.is_quoted and first.text is not None and SUBSCRIPT.match(first.text) is not None

    def arguments(self) -> tuple[Argument, ...]:
        """What the program gets; a simple brace list makes several arguments."""
        text = self.plain()
        if text is None:
            return (Argument(None),)
        if MEANINGFUL.search(text) is None:
            return (Argument(text),)
        unquoted = self._unquoted()
        if has_brace_expansion(unquoted):
            return self._expanded()
        if self._has_special_tilde(text):
            return (Argument(None),)
        if has_wildcard(unquoted):
            return (Argument(None, self._pattern(text)),)
        return (Argument(text),)

    def _unquoted(self) -> str:
        # A quoted run becomes one neutral character, so that no operator is seen across it or lost with it.
        return "".join("\x00" if piece.is_quoted else piece.text or "" for piece in self.pieces)

    def _has_special_tilde(self, text: str) -> bool:
        unquoted = self._unquoted()
        if unquoted.startswith("~"):
            return not (text == "~" or unquoted.startswith("~/"))
        return ASSIGNMENT_TILDE.match(unquoted) is not None

    def _pattern(self, text: str) -> str | None:
        quoted = "".join(piece.text or "" for piece in self.pieces if piece.is_quoted)
        return None if has_wildcard(quoted) or "[" in quoted or "\\" in text else text

    def _expanded(self) -> tuple[Argument, ...]:
        bare = self.bare()
        match = None if bare is None else BRACE_LIST.fullmatch(bare)
        if bare is None or match is None or has_wildcard(bare) or "~" in bare or ".." in match[2]:
            return (Argument(None),)
        parts = [match[1] + part + match[3] for part in match[2].split(",")]
        return tuple(Argument(part) for part in parts if part)
