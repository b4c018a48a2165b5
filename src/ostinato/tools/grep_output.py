"""What ripgrep printed, parsed and cut into pages: lines stand below the name of their file, which is said once."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

NUMBERED: Final = re.compile(r"(\d+)([:-])")
SEPARATOR: Final = "--"
BINARY_MATCH: Final = ": binary file matches"


class Entry(NamedTuple):
    """A path as printed, and a line, a count, or nothing."""

    path: str
    text: str = ""


def count_entries(output: str) -> Iterator[Entry]:
    """Of `path NUL count` lines; a name may hold a line end."""
    for path, _, count in _records(output):
        yield Entry(path, count.removesuffix("\r"))


def line_entries(output: str, *, with_numbers: bool) -> Iterator[Entry]:
    """Of `path NUL number : line` lines. A separator between groups belongs to the file before it."""
    last_path = ""
    for path, has_line, rest in _records(output):
        if not has_line:
            yield Entry(last_path, SEPARATOR)
            continue
        last_path = path
        text = rest.removesuffix("\r")
        yield Entry(path, text if with_numbers else NUMBERED.sub("", text, count=1))


def _records(output: str) -> Iterator[tuple[str, str, str]]:
    """Path, NUL and rest of each line; a separator has an empty path and no NUL."""
    begun = ""
    for line in output.split("\n"):
        path, has_nul, rest = (begun + line).partition("\0")
        if has_nul:
            begun = ""
            yield path, has_nul, rest
        elif BINARY_MATCH in line and not begun:
            name, _, _ = line.partition(BINARY_MATCH)
            yield name, "\0", "(binary file matches)"
        elif line.removesuffix("\r") == SEPARATOR and not begun:
            yield "", "", ""
        else:
            begun += line + "\n"


class Page(msgspec.Struct, frozen=True):
    """`is_incomplete`: more was found, or not all was searched."""

    text: str
    is_incomplete: bool


def page(
    entries: Sequence[Entry],
    *,
    offset: int,
    limit: int | None,
    caveats: Sequence[str],
    order: str,
    is_grouped: bool,
    max_characters: int,
) -> Page:
    """One page and how to get the next; says apart when nothing was found and when not all was searched."""
    notes = [*([order] if order else []), *(f"[incomplete: {caveat}]" for caveat in caveats)]
    if not entries:
        return _page(("no match found before that" if caveats else "no match found", *notes), caveats)
    if offset >= len(entries):
        return _page((f"no more: there are {len(entries)}, all before offset {offset}", *notes), caveats)
    wanted = entries[offset:] if limit is None else entries[offset : offset + limit]
    # Room for the notes stays free, so that what cuts the page is a whole line and never the mark.
    shown = _fitting(wanted, max_characters - 200 - sum(len(note) + 1 for note in notes))
    end = offset + len(shown)
    is_last = end >= len(entries)
    if not is_last:
        notes.insert(0, f"[{offset + 1}-{end} of {len(entries)}; go on with offset={end}]")
    lines = _grouped(shown) if is_grouped else _single(shown)
    return _page((*lines, *notes), caveats, is_last=is_last)


def _page(lines: Sequence[str], caveats: Sequence[str], *, is_last: bool = True) -> Page:
    return Page("\n".join(lines), is_incomplete=bool(caveats) or not is_last)


def _fitting(entries: Sequence[Entry], max_characters: int) -> Sequence[Entry]:
    used, last_path = 0, ""
    for count, (path, text) in enumerate(entries):
        used += len(text) + 1 + (len(path) + 2 if path != last_path else 0)
        last_path = path
        if used > max_characters and count > 0:
            return entries[:count]
    return entries


def _single(entries: Sequence[Entry]) -> Iterator[str]:
    for path, text in entries:
        yield path.removeprefix("./") + (f":{text}" if text else "")


def _grouped(entries: Sequence[Entry]) -> Iterator[str]:
    for path, group in groupby(entries, key=lambda entry: entry.path):
        texts = [entry.text for entry in group]
        while texts and texts[-1] == SEPARATOR:
            texts.pop()
        yield path.removeprefix("./")
        yield from texts
