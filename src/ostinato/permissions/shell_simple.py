"""Reads one simple command: assignments, words, redirections and the here-documents that wait for their line.

Promise: the program's name is static text, and every redirection keeps its target for the path check.
"""

import re

import msgspec

from ostinato.permissions.name_set import names
from ostinato.permissions.shell_builtins import is_local_or_upper, refusal_of
from ostinato.permissions.shell_command import NotProvableError, Redirect, SimpleCommand
from ostinato.permissions.shell_cursor import Cursor, HereDocument
from ostinato.permissions.shell_word import Argument, Word
from ostinato.permissions.shell_words import read_word, scan_expansions

RESERVED = names(
    "if then else elif fi for in do done while until case esac select function time coproc { } ! [["
)
OPERATORS = ("&>>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">|", ">&", "&>", ">")
DESCRIPTOR = re.compile(r"[0-9]{1,4}|\{[A-Za-z_][A-Za-z0-9_]*\}", re.ASCII)


class Parts(msgspec.Struct):
    """A simple command while it is being read."""

    words: list[Word] = msgspec.field(default_factory=list[Word])
    env: list[tuple[str, str | None]] = msgspec.field(default_factory=list[tuple[str, str | None]])
    redirects: list[Redirect] = msgspec.field(default_factory=list[Redirect])


def reserved_ahead(cursor: Cursor) -> str | None:
    """The shell keyword that is the next whole word, if it is one; the cursor does not move."""
    word = cursor.ahead(9)
    match = re.match(r"([a-z]+|\{|\}|!|\[\[)(?=[ \t\n;&|<>()]|$)", word)
    return match[1] if match is not None and match[1] in RESERVED else None


def skip_comment(cursor: Cursor) -> None:
    """The cursor stands on `#` at the start of a word; a comment ends before the newline, continuations do not count."""
    end = cursor.text.find("\n", cursor.position)
    cursor.position = len(cursor.text) if end < 0 else end


def skip_lines(cursor: Cursor) -> None:
    """Blanks, comments and newlines; each newline takes the bodies of the here-documents that wait."""
    while True:
        cursor.skip_blanks()
        character = cursor.peek()
        if character == "#":
            skip_comment(cursor)
        elif character == "\n":
            take_newline(cursor)
        else:
            return


def take_newline(cursor: Cursor) -> None:
    if cursor.outer_is_pending:
        raise NotProvableError("a line ends inside a substitution while a here-document waits for its body")
    cursor.position += 1
    waiting, cursor.pending = cursor.pending, []
    for document in waiting:
        _read_here_document(cursor, document)


def at_redirect(cursor: Cursor) -> bool:
    two = cursor.ahead(2)
    return two == "&>" or (two[:1] in {"<", ">"} and two not in {"<(", ">("})


def read_redirect(cursor: Cursor) -> Redirect:
    ahead = cursor.ahead(3)
    operator = next(operator for operator in OPERATORS if ahead.startswith(operator))
    cursor.skip(len(operator))
    cursor.skip_blanks()
    if cursor.peek() == "#":
        raise NotProvableError("a redirection without a target")
    closes = operator in {">&", "<&"} and cursor.peek() == "-"
    word = read_word(cursor)
    if closes and word.bare() != "-":
        # bash ends the redirection at the dash: what follows is a word of the command, or its name.
        raise NotProvableError("a word begins right behind the `-` that closes a descriptor")
    if operator in {"<<", "<<-"}:
        cursor.pending.append(_here_document(word, strips_tabs=operator == "<<-"))
        return Redirect(operator, None)
    arguments = word.arguments()
    return Redirect(operator, arguments[0].text if len(arguments) == 1 else None)


def is_descriptor(cursor: Cursor, word: Word) -> bool:
    """Whether the word just read is the descriptor of a redirection that follows without a blank."""
    bare = word.bare()
    return bare is not None and cursor.peek() in {"<", ">"} and DESCRIPTOR.fullmatch(bare) is not None


def _is_followed_redirect(cursor: Cursor, word: Word) -> bool:
    bare = word.bare()
    if not is_descriptor(cursor, word):
        if bare is not None and bare.isdecimal():
            raise NotProvableError("a descriptor number is too long")
        return False
    if not at_redirect(cursor):
        return False
    require_plain_descriptor(word)
    return True


def require_plain_descriptor(word: Word) -> None:
    """`{name}>file` sets the variable `name`, which must not be one that steers the shell."""
    name = (word.bare() or "").strip("{}")
    if not name.isdecimal() and not is_local_or_upper(name):
        raise NotProvableError("a redirection sets a variable that steers the shell")


def read_simple(cursor: Cursor) -> None:
    """Read one simple command and add it to the cursor's list."""
    parts = Parts()
    while True:
        cursor.skip_blanks()
        character = cursor.peek()
        if character == "(":
            raise NotProvableError("functions and arrays are not read")
        if at_redirect(cursor):
            parts.redirects.append(read_redirect(cursor))
        elif character in {"", "\n", ";", "|", ")", "&"}:
            break
        elif character == "#":
            skip_comment(cursor)
        else:
            _add_word(cursor, parts)
    _add_command(cursor, parts)


def _add_word(cursor: Cursor, parts: Parts) -> None:
    word = read_word(cursor)
    if cursor.peek() in {"<", ">"} and _is_followed_redirect(cursor, word):
        parts.redirects.append(read_redirect(cursor))
        return
    if parts.words:
        parts.words.append(word)
        return
    if word.has_subscript():
        raise NotProvableError("array elements are not read")
    if (assignment := word.assignment()) is None:
        parts.words.append(word)
    elif assignment[0] == "IFS":
        raise NotProvableError("setting IFS changes how words are split")
    else:
        parts.env.append(assignment)


def _add_command(cursor: Cursor, parts: Parts) -> None:
    if not (parts.words or parts.env or parts.redirects):
        raise NotProvableError("a command is missing")
    if parts.words:
        _require_static_name(parts.words[0])
    arguments: list[Argument] = []
    for word in parts.words:
        arguments.extend(word.arguments())
    argv = tuple(argument.text for argument in arguments)
    refusal = refusal_of(argv, tuple(parts.words))
    if refusal is not None:
        raise NotProvableError(refusal)
    globs = tuple((index, a.pattern) for index, a in enumerate(arguments) if a.pattern is not None)
    cursor.add(SimpleCommand(argv, tuple(parts.redirects), tuple(parts.env), globs))


def _require_static_name(word: Word) -> None:
    arguments = word.arguments()
    if len(arguments) != 1 or arguments[0].text is None:
        raise NotProvableError("the program's name is not static")
    if word.bare() in RESERVED:
        raise NotProvableError(f"the keyword `{word.bare()}` stands where a program is expected")


def _here_document(word: Word, *, strips_tabs: bool) -> HereDocument:
    delimiter = word.plain()
    if delimiter is None or "\n" in delimiter or "`" in delimiter or "$" in delimiter:
        raise NotProvableError("a here-document's delimiter is not plain")
    return HereDocument(delimiter, is_quoted=word.bare() is None, strips_tabs=strips_tabs)


def _read_here_document(cursor: Cursor, document: HereDocument) -> None:
    body: list[str] = []
    while cursor.position < len(cursor.text):
        line = _here_line(cursor, joins=not document.is_quoted)
        stripped = line.lstrip("\t") if document.strips_tabs else line
        if stripped == document.delimiter:
            if not document.is_quoted:
                _scan_body(cursor, "\n".join(body))
            return
        if cursor.depth > 0 and stripped.startswith(document.delimiter) and ")" in stripped:
            raise NotProvableError("a here-document may end at a closing parenthesis")
        body.append(line)
    raise NotProvableError("a here-document has no end")


def _here_line(cursor: Cursor, *, joins: bool) -> str:
    """One line without its newline; in an unquoted document a line that ends in an odd backslash goes on."""
    parts: list[str] = []
    while True:
        end = cursor.text.find("\n", cursor.position)
        end = len(cursor.text) if end < 0 else end
        line = cursor.text[cursor.position : end]
        cursor.position = min(end + 1, len(cursor.text))
        backslashes = len(line) - len(line.rstrip("\\"))
        if not joins or backslashes % 2 == 0 or end == len(cursor.text):
            parts.append(line)
            return "".join(parts)
        parts.append(line[:-1])


def _scan_body(cursor: Cursor, body: str) -> None:
    if "$" in body or "`" in body:
        scan_expansions(cursor.inside(body))
