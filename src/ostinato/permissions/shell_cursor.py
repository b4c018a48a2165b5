"""A position in a shell text that hides line continuations, and counts how deep the reader is.

Promise: reading moves forwards only, so the whole reading is linear in the text (times the nesting cap).
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import msgspec

from ostinato.permissions.shell_command import NotProvableError, SimpleCommand

MAX_NESTING = 20
MAX_COMMANDS = 500
MAX_WORDS = 2_000
"""More than a person could judge; they also bound the time, since these cost more than a character does."""
CONTINUATION = "\\\n"


class HereDocument(msgspec.Struct, frozen=True):
    """A here-document whose body starts after the next newline."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool


class Found(msgspec.Struct):
    """What one reading has found so far, shared by all its cursors."""

    commands: list[SimpleCommand] = msgspec.field(default_factory=list[SimpleCommand])
    conditions: list[SimpleCommand] = msgspec.field(default_factory=list[SimpleCommand])
    substitutions: int = 0
    words: int = 0
    is_begun: bool = False
    moves: int = 0
    behind_moves: int = 0


class Cursor:
    """Where the reader is in `text`. All cursors of one reading share what was found.

    `read_inner` reads a command list from a cursor up to a closing character; it is the grammar, handed in so
    that words can hold commands without an import cycle.
    """

    def __init__(
        self,
        text: str,
        *,
        depth: int,
        found: Found,
        read_inner: "Callable[[Cursor, str], None]",
    ) -> None:
        self.text = text
        self.position = 0
        self.depth = depth
        self.found = found
        self.read_inner = read_inner
        self.pending: list[HereDocument] = []
        self.outer_is_pending = False

    def add(self, command: SimpleCommand) -> None:
        self.found.commands.append(command)
        if len(self.found.commands) > MAX_COMMANDS:
            raise NotProvableError(f"more than {MAX_COMMANDS} commands")

    def count_word(self) -> None:
        self.found.words += 1
        if self.found.words > MAX_WORDS:
            raise NotProvableError(f"more than {MAX_WORDS} words")

    def count_substitution(self) -> None:
        self.found.substitutions += 1
        if self.found.substitutions > MAX_COMMANDS:
            raise NotProvableError(f"more than {MAX_COMMANDS} substitutions")

    def peek(self) -> str:
        """The next character outside single quotes, or "" at the end."""
        while self.text.startswith(CONTINUATION, self.position):
            self.position += 2
        return self.text[self.position : self.position + 1]

    def take(self) -> str:
        character = self.peek()
        self.position += len(character)
        return character

    def ahead(self, count: int) -> str:
        """The next `count` characters (fewer at the end) without moving."""
        plain = self.text[self.position : self.position + count]
        if "\\" not in plain:
            return plain
        start = self.position
        found = "".join(self.take() for _ in range(count))
        self.position = start
        return found

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.take()

    def skip_blanks(self) -> None:
        while self.peek() in {" ", "\t"}:
            self.position += 1

    @contextmanager
    def nested(self) -> Generator[None]:
        """One level deeper; refused beyond the cap."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise NotProvableError(f"nested more than {MAX_NESTING} levels")
        try:
            yield
        finally:
            self.depth -= 1

    def inside(self, text: str) -> "Cursor":
        """A cursor over text taken out of this one: a here-document's body, a backtick."""
        self.count_substitution()
        return Cursor(text, depth=self.depth, found=self.found, read_inner=self.read_inner)

    def read_substituted(self) -> None:
        """Read the commands of `$(…)` or `<(…)`; the cursor stands after the opening parenthesis."""
        self.count_substitution()
        kept, kept_outer = self.pending, self.outer_is_pending
        self.outer_is_pending = kept_outer or bool(kept)
        self.pending = []
        self.read_inner(self, ")")
        if self.pending:
            raise NotProvableError("a here-document is cut off by the end of its substitution")
        self.pending, self.outer_is_pending = kept, kept_outer
        if self.take() != ")":
            raise NotProvableError("a substitution is not closed")
