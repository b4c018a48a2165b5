"""A docstring taken apart: what it says of the function, and what of each parameter, in the usual three styles.

Google (`Args:`), NumPy (`Parameters` with a line of dashes) and Sphinx (`:param name:`); what is in none of them is description.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

SECTIONS: Final = frozenset({
    "args",
    "arguments",
    "parameters",
    "params",
    "other parameters",
    "keyword args",
    "keyword arguments",
    "returns",
    "return",
    "raises",
    "yields",
    "yield",
    "example",
    "examples",
    "note",
    "notes",
    "warning",
    "warnings",
    "see also",
    "references",
    "attributes",
})
OF_PARAMETERS: Final = frozenset({
    "args",
    "arguments",
    "parameters",
    "params",
    "other parameters",
    "keyword args",
    "keyword arguments",
})

SPHINX_FIELD: Final = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)")
GOOGLE_PARAMETER: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
NUMPY_PARAMETER: Final = re.compile(r"\*{0,2}(\w+)\s*(?::.*)?$")
UNDERLINE: Final = re.compile(r"-{3,}$")


class DocstringParts(msgspec.Struct, frozen=True):
    """`description` is everything before the first section; `parameters` by name, each text on one line."""

    description: str
    parameters: Mapping[str, str]


def docstring_parts(docstring: str | None) -> DocstringParts:
    """Of None and of a docstring that says nothing: nothing."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    end = next((at for at in range(len(lines)) if _section(lines, at) or _is_field(lines[at])), len(lines))
    described: dict[str, list[str]] = {}
    at = end
    while at < len(lines):
        name = _section(lines, at)
        if name:
            is_numpy = at + 1 < len(lines) and UNDERLINE.match(lines[at + 1].strip()) is not None
            body, at = _body(lines, at + (2 if is_numpy else 1), is_numpy=is_numpy)
            if name in OF_PARAMETERS:
                _read(body, NUMPY_PARAMETER if is_numpy else GOOGLE_PARAMETER, described)
        else:
            at = _read_field(lines, at, described)
    parameters = {name: " ".join(" ".join(words).split()) for name, words in described.items()}
    return DocstringParts("\n".join(lines[:end]).strip(), parameters)


def _section(lines: Sequence[str], at: int) -> str:
    """The name of the section that begins here, in lower case; empty if none does."""
    line = lines[at]
    if not line or line[0].isspace():
        return ""
    name = line.strip().removesuffix(":").lower()
    if name not in SECTIONS:
        return ""
    is_underlined = at + 1 < len(lines) and UNDERLINE.match(lines[at + 1].strip()) is not None
    return name if is_underlined or line.rstrip().endswith(":") else ""


def _is_field(line: str) -> bool:
    return SPHINX_FIELD.match(line) is not None


def _body(lines: Sequence[str], start: int, *, is_numpy: bool) -> tuple[list[str], int]:
    """The lines of a section, and where it ends: at the next one, or where the indent of a Google section is left."""
    at = start
    while at < len(lines) and not _section(lines, at) and not _is_field(lines[at]):
        if not is_numpy and lines[at] and not lines[at][0].isspace():
            break
        at += 1
    return inspect.cleandoc("\n" + "\n".join(lines[start:at])).splitlines(), max(at, start)


def _read(body: Sequence[str], pattern: re.Pattern[str], described: dict[str, list[str]]) -> None:
    words: list[str] | None = None
    for line in body:
        found = None if not line or line[0].isspace() else pattern.match(line)
        if found is not None:
            words = described[found[1]] = [found[2]] if found.re.groups > 1 else []
        elif words is not None:
            words.append(line.strip())


def _read_field(lines: Sequence[str], at: int, described: dict[str, list[str]]) -> int:
    """One Sphinx field with the lines that go on with it; returns where the next thing begins."""
    found = SPHINX_FIELD.match(lines[at])
    next_at = at + 1
    while next_at < len(lines) and lines[next_at][:1].isspace():
        next_at += 1
    if found is not None and found[1] in {"param", "parameter", "arg", "argument", "keyword"} and found[2]:
        name = found[2].split()[-1]
        described[name] = [found[3], *(line.strip() for line in lines[at + 1 : next_at])]
    return next_at
