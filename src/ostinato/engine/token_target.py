"""The token target that a prompt names: `+500k` at its start or end, or `use 2M tokens` anywhere in it.

A target is a floor: the model is told to fill it with work, and is sent on if it stops long before.
"""

import re
from typing import Final

import msgspec

MAX_TARGET_TOKENS: Final = 10**12

_SCALE: Final = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_SHORT: Final = r"\+(\d{1,12}(?:\.\d{1,6})?)\s?([kmb])"
_AT_START: Final = rf"(?i)\s*({_SHORT})(?!\w)"
_AT_END: Final = rf"(?i)(?<=\s)({_SHORT})\s*[.!?]?\s*\Z"
_IN_WORDS: Final = (
    r"(?i)(?<!\bnot )(?<!n't )(?<!\bnever )\b"
    r"((?:use|spend)\s+(?:about\s+|around\s+|at\s+least\s+)?"
    r"(\d{1,3}(?:,\d{3})+|\d{1,12}(?:\.\d{1,6})?)\s?([kmb]?)\s+(?:output\s+|more\s+)?tokens?)\b"
)
"""Texts, compiled when a first prompt looks as if it named a target."""

REMINDER: Final = (
    "The user set a token target for this task: {tokens:,} output tokens. Take it as a floor to work toward, not as a limit: "
    "plan so much useful work that it is filled (look deeper, check more, test more). If you stop long before, you will be "
    "asked to go on."
)


class TargetMatch(msgspec.Struct, frozen=True):
    """A target and where it stands in the text, from `start` up to `end`, in characters."""

    tokens: int
    start: int
    end: int


def target_matches(prompt: str) -> tuple[TargetMatch, ...]:
    """Every target in the prompt, in the order in which they count: the first is the one that holds."""
    if "+" not in prompt and "token" not in prompt.lower():
        return ()
    found = [re.match(_AT_START, prompt), re.search(_AT_END, prompt), *re.finditer(_IN_WORDS, prompt)]
    matches = [_read(match) for match in found if match is not None]
    return tuple(dict.fromkeys(one for one in matches if 0 < one.tokens <= MAX_TARGET_TOKENS))


def target_tokens(prompt: str) -> int | None:
    """The target that holds for the prompt's query; None if it names none."""
    matches = target_matches(prompt)
    return matches[0].tokens if matches else None


def target_reminder(tokens: int) -> str:
    """What the model is told of the target, beside the prompt."""
    return REMINDER.format(tokens=tokens)


def _read(match: re.Match[str]) -> TargetMatch:
    number = float(match[2].replace(",", ""))
    return TargetMatch(round(number * _SCALE[match[3].lower()]), match.start(1), match.end(1))
