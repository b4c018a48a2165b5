"""An edit done the long way: every line end of the file is set aside, the text searched and changed character by character, and every
line end put back. Slow and plain, so that it can be believed."""

import re
from collections.abc import Sequence


def units_of(original: str) -> list[str]:
    """The characters of a file, each line end as one."""
    return re.findall(r"\r\n|[\s\S]", original)


def is_classic(original: str) -> bool:
    return "\r" in original and "\n" not in original


def normal_of(original: str) -> str:
    """With `\\n` for each line end."""
    normal = "".join("\n" if unit == "\r\n" else unit for unit in units_of(original))
    return normal.replace("\r", "\n") if is_classic(original) else normal


def as_in(original: str, text: str) -> str:
    """A text that is to be found or put there, likewise."""
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if is_classic(original) else text


def places_of(normal: str, old: str, *, are_apart: bool) -> list[int]:
    places: list[int] = []
    for place in range(len(normal) - len(old) + 1):
        is_free = not are_apart or not places or place >= places[-1] + len(old)
        if is_free and normal[place : place + len(old)] == old:
            places.append(place)
    return places


def edited_whole(original: str, old: str, new: str, *, replace_all: bool) -> str | None:
    """The file afterwards; None where `old` stands nowhere, or in several places without `replace_all`."""
    normal, old = normal_of(original), as_in(original, old)
    places = places_of(normal, old, are_apart=replace_all)
    if not places or (len(places) > 1 and not replace_all):
        return None
    units = units_of(original)
    after: list[str] = []
    done = 0
    for place in places:
        after += (*units[done:place], *_replaced(units, normal, place, old, new))
        done = place + len(old)
    return "".join((*after, *units[done:]))


def _replaced(units: Sequence[str], normal: str, place: int, old: str, new: str) -> Sequence[str]:
    """What stands there afterwards: equal beginnings and ends keep the line ends that they have."""
    if "\n" not in normal:
        return [new]
    new = as_in("".join(units), new)
    start, end = place, place + len(old)
    last = end
    while old and new and old[0] == new[0]:
        start, old, new = start + 1, old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        end, old, new = end - 1, old[:-1], new[:-1]
    ends = _ends_for(units, normal, (start, end), new.count("\n"))
    middle = [ends.pop(0) if character == "\n" else character for character in new]
    return [*units[place:start], *middle, *units[end:last]]


def _ends_for(units: Sequence[str], normal: str, span: tuple[int, int], count: int) -> list[str]:
    """Those that were there, if as many; else that of the line where the change begins, or of the one before."""
    start, end = span
    replaced = [units[place] for place in range(start, end) if normal[place] == "\n"]
    if len(replaced) == count:
        return replaced
    following = normal.find("\n", start)
    return [units[following if following >= 0 else normal.rfind("\n", 0, start)]] * count
