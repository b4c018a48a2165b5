"""Which of many paths a few typed letters mean, the likeliest first. Pure, and quick for a hundred thousand."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Final

MAX_MATCHES: Final = 50


def with_folders(files: Sequence[str]) -> tuple[str, ...]:
    """The files and every folder above them, folders with a slash at the end."""
    folders: dict[str, None] = {}
    for file in files:
        at = file.rfind("/")
        while at > 0 and (folder := file[: at + 1]) not in folders:
            folders[folder] = None
            at = file.rfind("/", 0, at)
    return (*folders, *files)


def matching(paths: Sequence[str], typed: str) -> list[str]:
    """At most `MAX_MATCHES`: first those whose path or last name begins so, then those that hold it, then its letters in order.

    Upper and lower case are one. Shorter paths come first.
    """
    wanted = typed.casefold()
    begins, holds, rest = list[str](), list[str](), list[tuple[str, str]]()
    for path in paths:
        folded = path.casefold()
        at = folded.find(wanted)
        if at < 0:
            rest.append((folded, path))
        elif at == 0 or folded.startswith(wanted, folded.rfind("/", 0, -1) + 1):
            begins.append(path)
        else:
            holds.append(path)
    found = [*_shortest(begins), *_shortest(holds)][:MAX_MATCHES]
    if len(found) < MAX_MATCHES and len(wanted) > 1:
        lettered = (path for folded, path in rest if _holds_letters(folded, wanted))
        found += _shortest(lettered)[: MAX_MATCHES - len(found)]
    return found


def _holds_letters(folded: str, wanted: str) -> bool:
    """Not by a pattern: names that others chose could make it look for hours."""
    at = 0
    for letter in wanted:
        at = folded.find(letter, at) + 1
        if at == 0:
            return False
    return True


def _shortest(paths: Iterable[str]) -> list[str]:
    return heapq.nsmallest(MAX_MATCHES, paths, key=lambda path: (path.count("/"), len(path), path))
