"""The `paths:` of a rule: the patterns that its front matter names. What cannot be one is said, and never hides the text below."""

from typing import Final

import msgspec

from ostinato.front_matter import read_front_matter, texts_of

EVERYTHING: Final = frozenset({"**", "**/*"})


class RuleText(msgspec.Struct, frozen=True):
    """`paths` empty: no restriction. `problem` says what could not be read, or is empty."""

    paths: tuple[str, ...]
    body: str
    problem: str = ""


def read_rule(text: str) -> RuleText:
    """The patterns and the text below; a text that does not begin with a closed block is all body."""
    front = read_front_matter(text)
    paths = texts_of(front.values.get("paths", ""))
    wrong = next((path for path in paths if not _may_be_pattern(path)), None)
    if wrong is not None:
        return RuleText(
            (), front.body, f"`{wrong}` under `paths:` is no pattern; write one pattern, or a list"
        )
    if any(path in EVERYTHING for path in paths):
        paths = ()
    return RuleText(tuple(dict.fromkeys(paths)), front.body, front.problem)


def _may_be_pattern(path: str) -> bool:
    """Neither the beginning of a list that never ends nor a key with a value."""
    return not (path.startswith("[") and "]" not in path) and ": " not in path
