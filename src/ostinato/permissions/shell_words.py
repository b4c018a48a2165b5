"""Reads one shell word: quotes, escapes, expansions, and the commands inside substitutions.

Promise: whatever could run while the word is expanded is read as a command of its own, or the text is refused.
"""

import re

from ostinato.permissions.shell_command import NotProvableError
from ostinato.permissions.shell_cursor import CONTINUATION, Cursor
from ostinato.permissions.shell_word import Piece, Word

SIMPLE = re.compile(r"[A-Za-z0-9_./:,@%+-]+(?=[ \t\n;&|)]|\Z)", re.ASCII)
"""A whole word in which nothing has a meaning of its own: most words, read in one step."""
PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
IN_QUOTES = re.compile(r"[^\"\\$`]+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]", re.ASCII)
NAME_REST = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
BRACED_NAME = re.compile(r"#?(?:[A-Za-z_][A-Za-z0-9_]*(?:\[(?:[@*]|[0-9]+)\])?|[0-9]+|[@*?$-])|#", re.ASCII)
BRACED_OPERATOR = re.compile(r":[-+?]|[-+?]|##?|%%?|//?[#%]?|\^\^?|,,?")
SLICE = re.compile(r":[ ]?-?[0-9]+(?::-?[0-9]+)?\}", re.ASCII)
OPERAND = re.compile(r"[^'\"\\$`{}()<>]+")
NUMBERS_ONLY = frozenset("0123456789 \t+-*/%<>=!&|^~?:,()")
ANSI_C = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
HEXADECIMAL = re.compile(r"x([0-9A-Fa-f]{1,2})")
OCTAL = re.compile(r"[0-7]{1,3}")


def read_word(cursor: Cursor) -> Word:
    """The word at the cursor, which must stand on one; its inner commands are added to the cursor's list."""
    cursor.count_word()
    if (match := SIMPLE.match(cursor.text, cursor.position)) is not None:
        cursor.position = match.end()
        return Word((Piece(match[0], is_quoted=False),))
    start, already_pending = cursor.position, bool(cursor.pending) or cursor.outer_is_pending
    pieces: list[Piece] = []
    while (character := cursor.peek()) not in {"", " ", "\t", "\n", ";", "&", "|", "(", ")"}:
        if character in "<>":
            if cursor.ahead(2) not in {"<(", ">("}:
                break
            pieces.append(_read_process_substitution(cursor, pieces))
        else:
            pieces.append(_read_piece(cursor, character))
    if not pieces:
        raise NotProvableError("a word is missing")
    # bash takes the body from the next newline of the grammar; rather than imitate that inside a word, refuse.
    if already_pending and "\n" in cursor.text[start : cursor.position]:
        raise NotProvableError("a line ends inside a word while a here-document waits for its body")
    return Word(_merged(pieces))


def scan_expansions(cursor: Cursor) -> None:
    """Read a here-document's body, in which only `$`, backtick and backslash mean something."""
    while character := cursor.peek():
        if character in "$`":
            _read_expansion(cursor, character, in_quotes=True)
        else:
            cursor.position += 2 if character == "\\" else 1


def _merged(pieces: list[Piece]) -> tuple[Piece, ...]:
    merged: list[Piece] = []
    run: list[str] = []
    for piece in pieces:
        if piece.text is not None and not piece.is_quoted:
            run.append(piece.text)
            continue
        if run:
            merged.append(Piece("".join(run), is_quoted=False))
            run = []
        merged.append(piece)
    if run:
        merged.append(Piece("".join(run), is_quoted=False))
    return tuple(merged)


def _read_piece(cursor: Cursor, character: str) -> Piece:
    if character == "\\":
        return _read_escape(cursor)
    if character == "'":
        return _read_single_quotes(cursor)
    if character == '"':
        cursor.position += 1
        return _read_double_quotes(cursor)
    if character in "$`":
        return _read_expansion(cursor, character, in_quotes=False)
    match = PLAIN.match(cursor.text, cursor.position)
    if match is None:
        raise NotProvableError("a word cannot be read")
    cursor.position = match.end()
    return Piece(match[0], is_quoted=False)


def _read_escape(cursor: Cursor) -> Piece:
    escaped = cursor.text[cursor.position + 1 : cursor.position + 2]
    if not escaped:
        raise NotProvableError("it ends in a backslash")
    cursor.position += 2
    return Piece(escaped, is_quoted=True)


def _read_single_quotes(cursor: Cursor) -> Piece:
    end = cursor.text.find("'", cursor.position + 1)
    if end < 0:
        raise NotProvableError("a single quote is not closed")
    text = cursor.text[cursor.position + 1 : end]
    cursor.position = end + 1
    return Piece(text, is_quoted=True)


def _read_double_quotes(cursor: Cursor) -> Piece:
    """The cursor stands after the opening quote."""
    texts: list[str] = []
    is_static = True
    while character := cursor.peek():
        if character == '"':
            cursor.position += 1
            return Piece("".join(texts) if is_static else None, is_quoted=True)
        if character == "\\":
            escaped = cursor.text[cursor.position + 1 : cursor.position + 2]
            texts.append(escaped if escaped in '$`"\\' else "\\" + escaped)
            cursor.position += 2
        elif character in "$`":
            piece = _read_expansion(cursor, character, in_quotes=True)
            is_static = is_static and piece.text is not None
            texts.append(piece.text or "")
        else:
            match = IN_QUOTES.match(cursor.text, cursor.position)
            if match is not None:
                texts.append(match[0])
                cursor.position = match.end()
    raise NotProvableError("a double quote is not closed")


def _read_process_substitution(cursor: Cursor, before: list[Piece]) -> Piece:
    if before and (Word(tuple(before)).bare() or "x").isdecimal():
        raise NotProvableError("a descriptor number before a process substitution is ambiguous")
    cursor.skip(2)
    cursor.read_substituted()
    return Piece(None, is_quoted=False)


def _read_expansion(cursor: Cursor, character: str, *, in_quotes: bool) -> Piece:
    if character == "`":
        return _read_backtick(cursor, in_quotes=in_quotes)
    cursor.skip(1)
    if cursor.text.startswith(CONTINUATION, cursor.position):
        raise NotProvableError("a line is continued behind a `$`")
    following = cursor.peek()
    if following == "(":
        return _read_parenthesis(cursor)
    if following == "{":
        cursor.skip(1)
        return _read_braced(cursor, in_quotes=in_quotes)
    if following == "[":
        raise NotProvableError("the old arithmetic form `$[` is not read")
    if not in_quotes and following in {"'", '"'}:
        cursor.skip(1)
        if following == "'":
            return _read_ansi_c(cursor)
        _read_double_quotes(cursor)
        return Piece(None, is_quoted=True)  # the translation of the text is not static
    return _read_name(cursor, in_quotes=in_quotes)


def _read_name(cursor: Cursor, *, in_quotes: bool) -> Piece:
    match = NAME.match(cursor.text, cursor.position)
    if match is None:
        return Piece("$", is_quoted=True)
    # One digit or sign is the whole name; a longer name goes on across continuations.
    is_long = match[0][0].isalpha() or match[0][0] == "_"
    cursor.position = match.end() if is_long else match.start() + 1
    while is_long and (match := NAME_REST.match(cursor.text, cursor.position)):
        cursor.position = match.end()
        cursor.peek()
    return Piece(None, is_quoted=in_quotes)


def _read_parenthesis(cursor: Cursor) -> Piece:
    cursor.skip(1)
    is_continued = cursor.text.startswith(CONTINUATION, cursor.position)
    if cursor.peek() == "(":
        if is_continued:
            raise NotProvableError("a line is continued between two parentheses")
        cursor.skip(1)
        _read_arithmetic(cursor)
    else:
        cursor.read_substituted()
    return Piece(None, is_quoted=False)


def _read_arithmetic(cursor: Cursor) -> None:
    """Only numbers and operators: a name's value would be evaluated again, and could run commands."""
    depth = 0
    while (character := cursor.take()) in NUMBERS_ONLY and character:
        if character == "(":
            depth += 1
        elif character == ")" and depth > 0:
            depth -= 1
        elif character == ")":
            if cursor.take() != ")":
                break
            return
    raise NotProvableError("arithmetic with anything but numbers is not read")


def _read_braced(cursor: Cursor, *, in_quotes: bool) -> Piece:
    """`${…}`; the cursor stands after the opening brace."""
    match = BRACED_NAME.match(cursor.text, cursor.position)
    if match is None:
        raise NotProvableError("an indirect or unknown expansion `${…}` is not read")
    cursor.position = match.end()
    if cursor.peek() == "}":
        cursor.position += 1
        return Piece(None, is_quoted=in_quotes)
    if (slice_match := SLICE.match(cursor.text, cursor.position)) is not None:
        cursor.position = slice_match.end()
        return Piece(None, is_quoted=in_quotes)
    operator = BRACED_OPERATOR.match(cursor.text, cursor.position)
    if operator is None or match[0].startswith("#"):
        raise NotProvableError("this form of `${…}` is not read")
    cursor.position = operator.end()
    with cursor.nested():
        _read_operand(cursor, in_quotes=in_quotes)
    return Piece(None, is_quoted=in_quotes)


def _read_operand(cursor: Cursor, *, in_quotes: bool) -> None:
    while character := cursor.peek():
        if character == "}":
            cursor.position += 1
            return
        if character in "$`":
            _read_expansion(cursor, character, in_quotes=in_quotes)
        elif character == '"' and not in_quotes:
            cursor.position += 1
            _read_double_quotes(cursor)
        elif character == "'" and not in_quotes:
            _read_single_quotes(cursor)
        elif (match := OPERAND.match(cursor.text, cursor.position)) is not None:
            cursor.position = match.end()
        else:
            break
    raise NotProvableError("the inside of `${…}` is not read")


def _read_backtick(cursor: Cursor, *, in_quotes: bool) -> Piece:
    """Backticks are unescaped once and then read as a text of their own."""
    cursor.skip(1)
    start = position = cursor.position
    text = cursor.text
    while position < len(text) and text[position] != "`":
        position += 2 if text[position] == "\\" else 1
    if position >= len(text):
        raise NotProvableError("a backtick is not closed")
    body = text[start:position]
    if "\\\n" in body or (in_quotes and '\\"' in body):
        raise NotProvableError("escapes inside backticks are ambiguous")
    cursor.position = position + 1
    if (cursor.pending or cursor.outer_is_pending) and "\n" in body:
        raise NotProvableError("a line ends inside a word while a here-document waits for its body")
    inner = cursor.inside(re.sub(r"\\([\\$`])", r"\1", body))
    inner.read_inner(inner, "")
    return Piece(None, is_quoted=in_quotes)


def _read_ansi_c(cursor: Cursor) -> Piece:
    """`$'…'` with the common escapes; any other escape makes the word non-static."""
    text, position = cursor.text, cursor.position
    found: list[str] = []
    is_static = True
    while position < len(text) and text[position] != "'":
        if text[position] != "\\":
            found.append(text[position])
            position += 1
            continue
        position += 1
        letter, width = _ansi_c_escape(text, position)
        is_static = is_static and letter is not None
        found.append(letter or "")
        position += width
    if position >= len(text):
        raise NotProvableError("a `$'` quote is not closed")
    cursor.position = position + 1
    return Piece("".join(found) if is_static else None, is_quoted=True)


def _ansi_c_escape(text: str, position: int) -> tuple[str | None, int]:
    """(character, how many characters of the text it took); None when it is not a plain printable one."""
    letter = text[position : position + 1]
    if letter in ANSI_C:
        return ANSI_C[letter], 1
    for pattern, group, radix in ((HEXADECIMAL, 1, 16), (OCTAL, 0, 8)):
        if (match := pattern.match(text, position)) is not None:
            code = int(match[group], radix)
            return (chr(code) if 0x20 <= code < 0x7F else None), match.end() - position
    return None, 1
