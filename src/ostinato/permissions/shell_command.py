"""What a shell text would run, as frozen data: the simple commands of every branch, or the reason why nobody can say.

`None` stands for a word whose value is not static (it may be none, one or many words when the command runs).
"""

import msgspec


class Redirect(msgspec.Struct, frozen=True):
    """One redirection without its descriptor number. `target` is None for here-documents and non-static words."""

    operator: str
    target: str | None


class SimpleCommand(msgspec.Struct, frozen=True):
    """One program with its words. An empty `argv` is a redirection or an assignment without a program.

    `env` holds the assignments before the program, in order. `globs` gives, for an index of `argv` that is None
    only because of file name wildcards, the pattern; a reader of paths may use it, everyone else ignores it.
    """

    argv: tuple[str | None, ...]
    redirects: tuple[Redirect, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    globs: tuple[tuple[int, str], ...] = ()

    def words(self) -> tuple[str | None, ...]:
        """`argv` with wildcard patterns in the place of the None that stands for them."""
        patterns = dict(self.globs)
        return tuple(patterns.get(index, word) for index, word in enumerate(self.argv))


class Proven(msgspec.Struct, frozen=True):
    """Every simple command that could run, substitutions included, in the order they were read.

    `conditions`: each `[[ … ]]` that asks about files, as the command `[[` with those questions alone. The text begins
    with `moves` plain `cd`s, each followed by `&&`; the commands from there to `behind_moves` run only where all of them succeeded.
    """

    commands: tuple[SimpleCommand, ...]
    conditions: tuple[SimpleCommand, ...] = ()
    moves: int = 0
    behind_moves: int = 0

    def acts(self) -> tuple[SimpleCommand, ...]:
        """All that looks at something or does something."""
        return self.conditions + self.commands


class Unprovable(msgspec.Struct, frozen=True):
    """The text is outside the provable subset; `why` is a short phrase for people."""

    why: str


ShellReading = Proven | Unprovable


class NotProvableError(Exception):
    """Raised inside the reader only; `read_command` turns it into `Unprovable`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
