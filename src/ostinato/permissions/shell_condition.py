"""`[[ … ]]` of plain words: what it asks about files is kept, for it tells what a rule may hide.

Promise: its operators are words of the text itself, so every file that it looks at is found; tests that evaluate text as
arithmetic are refused.
"""

import re
from typing import Final

from ostinato.permissions.shell_command import NotProvableError, SimpleCommand
from ostinato.permissions.shell_cursor import Cursor
from ostinato.permissions.shell_word import Word
from ostinato.permissions.shell_words import read_word

FILE_TESTS: Final = frozenset(f"-{letter}" for letter in "abcdefghkprsuwxGLNOS")
"""Of `test` and `[[`. There `-a` also stands between two tests: then the word behind is taken for a path, which is one too many."""

FILE_COMPARISONS: Final = frozenset({"-nt", "-ot", "-ef"})

_ARITHMETIC: Final = re.compile(r"-(?:eq|ne|lt|le|gt|ge|v|R)")


def read_condition(cursor: Cursor) -> None:
    """Read up to the closing word; the cursor stands behind the opening one."""
    words: list[Word] = []
    while True:
        cursor.skip_blanks()
        if cursor.ahead(2) in {"&&", "||"}:
            cursor.skip(2)
            continue
        if cursor.peek() in {"", "\n", ";", "&", "|", "(", ")", "<", ">", "#"}:
            raise NotProvableError("this form of `[[` is not read")
        word = read_word(cursor)
        text = word.plain()
        if word.bare() == "]]":
            break
        if text is not None and _ARITHMETIC.fullmatch(text):
            raise NotProvableError("`[[` would evaluate text as arithmetic")
        words.append(word)
    asked = _asked(words)
    if asked:
        cursor.found.conditions.append(SimpleCommand(("[[", *asked, "]]")))


def _asked(words: list[Word]) -> tuple[str | None, ...]:
    """The questions about files, with their operands; None for one that only running tells."""
    found: list[str | None] = []
    for index, word in enumerate(words):
        text, behind = word.bare(), index + 1
        if text in FILE_TESTS and behind < len(words):
            found += [text, _operand(words[behind])]
        elif text in FILE_COMPARISONS and index and behind < len(words):
            found += [_operand(words[index - 1]), text, _operand(words[behind])]
    return tuple(found)


def _operand(word: Word) -> str | None:
    """Wildcards are no wildcards here, and braces make no list; a tilde is one."""
    arguments = word.arguments()
    if len(arguments) != 1:
        return word.plain()
    return arguments[0].pattern if arguments[0].text is None else arguments[0].text
