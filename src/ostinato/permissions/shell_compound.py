"""The grammar above simple commands: lists, pipelines, groups, conditions and loops.

Promise: every branch is read; what is not in this grammar is refused.
"""

import re

from ostinato.permissions.name_set import names
from ostinato.permissions.shell_builtins import is_local_or_upper
from ostinato.permissions.shell_command import NotProvableError, Redirect, SimpleCommand
from ostinato.permissions.shell_condition import read_condition
from ostinato.permissions.shell_cursor import Cursor
from ostinato.permissions.shell_simple import (
    at_redirect,
    is_descriptor,
    read_redirect,
    read_simple,
    require_plain_descriptor,
    reserved_ahead,
    skip_comment,
    skip_lines,
    take_newline,
)
from ostinato.permissions.shell_words import read_word

CLOSING_WORDS = names("then else elif fi do done esac in }")
CASE_ENDS = frozenset({";;", ";&"})


def read_until(cursor: Cursor, closer: str) -> None:
    """Read a list up to the closing character ("" is the end of the text) without taking it."""
    _read_list(cursor, frozenset({closer}), may_be_empty=not closer)
    if not closer and cursor.pending:
        raise NotProvableError("a here-document has no body")


def _read_list(cursor: Cursor, ends: frozenset[str], *, may_be_empty: bool = False) -> str:
    """Read commands until one of `ends` stands where a command could; returns which, without taking it."""
    with cursor.nested():
        is_empty = True
        while True:
            skip_lines(cursor)
            end = _end_ahead(cursor)
            if end is not None:
                if end not in ends or (is_empty and not may_be_empty):
                    raise NotProvableError(f"`{end or 'the end'}` comes where a command is expected")
                return end
            _read_and_or(cursor)
            is_empty = False
            end = _read_separator(cursor)
            if end is not None and end in ends:
                return end


def _end_ahead(cursor: Cursor) -> str | None:
    character = cursor.peek()
    if character in {"", ")"}:
        return character
    if character == ";":
        two = cursor.ahead(2)
        return two if two in CASE_ENDS else ";"
    word = reserved_ahead(cursor)
    return word if word in CLOSING_WORDS else None


def _read_separator(cursor: Cursor) -> str | None:
    """Take `;`, `&` or a newline and return None; or return the closing sign that stands there."""
    cursor.skip_blanks()
    character = cursor.peek()
    if character == "#":
        skip_comment(cursor)
        character = cursor.peek()
    if character == "\n":
        take_newline(cursor)
        return None
    if character in {"", ")"}:
        return character
    if character not in {";", "&"}:
        raise NotProvableError("commands are not separated")
    two = cursor.ahead(2)
    if two in CASE_ENDS:
        return two
    cursor.skip(1)
    return None


def _read_and_or(cursor: Cursor) -> None:
    found = cursor.found
    is_first = cursor.depth == 0 and not found.is_begun
    found.is_begun = True
    only_moves = all_succeeded = is_first
    while True:
        only_moves = _reads_a_move(cursor) and only_moves
        found.moves += only_moves
        found.behind_moves = len(found.commands) if all_succeeded else found.behind_moves
        cursor.skip_blanks()
        sign = cursor.ahead(2)
        if sign not in {"&&", "||"}:
            return
        all_succeeded = all_succeeded and sign == "&&"
        only_moves = only_moves and all_succeeded
        cursor.skip(2)
        skip_lines(cursor)


def _reads_a_move(cursor: Cursor) -> bool:
    """Read a pipeline; whether it was one `cd` and nothing else, in this very shell."""
    is_named_first = cursor.ahead(3) in {"cd ", "cd\t"}
    before = len(cursor.found.commands)
    _read_pipeline(cursor)
    added = cursor.found.commands[before:]
    return is_named_first and len(added) == 1 and not added[0].redirects and len(added[0].argv) == 2


def _read_pipeline(cursor: Cursor) -> None:
    _skip_pipeline_words(cursor)
    _read_stage(cursor)
    while True:
        cursor.skip_blanks()
        two = cursor.ahead(2)
        if not two.startswith("|") or two == "||":
            return
        cursor.skip(2 if two == "|&" else 1)
        skip_lines(cursor)
        _read_stage(cursor)


def _skip_pipeline_words(cursor: Cursor) -> None:
    while (word := reserved_ahead(cursor)) in {"!", "time"}:
        cursor.skip(len(word or ""))
        cursor.skip_blanks()
        if word == "time" and re.fullmatch(r"-p[ \t]", cursor.ahead(3)):
            cursor.skip(2)
            cursor.skip_blanks()
        if word == "time" and cursor.peek() == "-":
            raise NotProvableError("`time` with this option is not read")


def _read_stage(cursor: Cursor) -> None:
    if cursor.peek() == "(":
        _read_subshell(cursor)
        return
    match reserved_ahead(cursor):
        case None:
            read_simple(cursor)
            return
        case "{":
            _take_word(cursor, "{")
            _read_list(cursor, frozenset({"}"}))
            _take_word(cursor, "}")
        case "if":
            _read_if(cursor)
        case "while" | "until" as word:
            _take_word(cursor, word)
            _read_list(cursor, frozenset({"do"}))
            _read_body(cursor)
        case "for":
            _read_for(cursor)
        case "case":
            _read_case(cursor)
        case "[[":
            _take_word(cursor, "[[")
            read_condition(cursor)
        case word:
            raise NotProvableError(f"the keyword `{word}` is not read here")
    _read_trailing_redirects(cursor)


def _take_word(cursor: Cursor, expected: str) -> None:
    if reserved_ahead(cursor) != expected:
        raise NotProvableError(f"`{expected}` is missing")
    cursor.skip(len(expected))


def _read_subshell(cursor: Cursor) -> None:
    if cursor.ahead(2) == "((":
        raise NotProvableError("arithmetic commands are not read")
    cursor.skip(1)
    _read_list(cursor, frozenset({")"}))
    cursor.skip(1)
    _read_trailing_redirects(cursor)


def _read_if(cursor: Cursor) -> None:
    _take_word(cursor, "if")
    while True:
        _read_list(cursor, frozenset({"then"}))
        _take_word(cursor, "then")
        end = _read_list(cursor, frozenset({"elif", "else", "fi"}))
        _take_word(cursor, end)
        if end == "else":
            _read_list(cursor, frozenset({"fi"}))
            _take_word(cursor, "fi")
        if end != "elif":
            return


def _read_body(cursor: Cursor) -> None:
    _take_word(cursor, "do")
    _read_list(cursor, frozenset({"done"}))
    _take_word(cursor, "done")


def _read_for(cursor: Cursor) -> None:
    _take_word(cursor, "for")
    cursor.skip_blanks()
    if cursor.peek() == "(":
        raise NotProvableError("the arithmetic `for` is not read")
    name = read_word(cursor).bare()
    if name is None or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or not is_local_or_upper(name):
        raise NotProvableError("the loop's variable is not plain")
    skip_lines(cursor)
    if reserved_ahead(cursor) == "in":
        _take_word(cursor, "in")
        cursor.skip_blanks()
        while cursor.peek() not in {"", "\n", ";", "&", "|", "(", ")"}:
            if cursor.peek() == "#":
                skip_comment(cursor)
            else:
                read_word(cursor)
            cursor.skip_blanks()
        if cursor.peek() not in {";", "\n"}:
            raise NotProvableError("the loop's words are not closed")
    if cursor.peek() == ";":
        cursor.skip(1)
    skip_lines(cursor)
    _read_body(cursor)


def _read_case(cursor: Cursor) -> None:
    _take_word(cursor, "case")
    cursor.skip_blanks()
    read_word(cursor)
    skip_lines(cursor)
    _take_word(cursor, "in")
    while True:
        skip_lines(cursor)
        if reserved_ahead(cursor) == "esac":
            break
        _read_patterns(cursor)
        if _read_list(cursor, CASE_ENDS | {"esac"}, may_be_empty=True) == "esac":
            break
        cursor.skip(2)
        if cursor.peek() == "&":  # `;;&`
            cursor.skip(1)
    _take_word(cursor, "esac")


def _read_patterns(cursor: Cursor) -> None:
    if cursor.peek() == "(":
        cursor.skip(1)
    while True:
        cursor.skip_blanks()
        if cursor.peek() in {"#", "<", ">"}:
            raise NotProvableError("a pattern of `case` is not plain")
        read_word(cursor)
        cursor.skip_blanks()
        sign = cursor.take()
        if sign == ")":
            return
        if sign != "|":
            raise NotProvableError("a pattern of `case` is not closed")


def _read_trailing_redirects(cursor: Cursor) -> None:
    redirects: list[Redirect] = []
    while True:
        cursor.skip_blanks()
        character = cursor.peek()
        if not at_redirect(cursor):
            if not (character.isdecimal() or character == "{"):
                break
            word = read_word(cursor)
            if not is_descriptor(cursor, word):
                raise NotProvableError("words follow the end of a compound command")
            require_plain_descriptor(word)
        redirects.append(read_redirect(cursor))
    if redirects:
        cursor.add(SimpleCommand((), tuple(redirects)))
