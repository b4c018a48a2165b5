"""What both wires refuse alike: rules V4 to V9 as limits, and a problem as the provider would word it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ostinato.testing.image_size import base64_image_size
from ostinato.testing.wire_json import as_dict, as_list, as_text, dictionaries_in

Rule = Literal["V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "shape"]

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_CACHE_MARKS = 4
MANY_IMAGES = 20
MAX_PIXELS = 8000
MAX_PIXELS_OF_MANY = 2000
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1500
"""A round figure in the middle of what providers charge; images do not weigh by their base64 length."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One break of a rule. `message`, `code` and `param` are the provider's own."""

    rule: Rule
    message: str
    code: str | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class WireRules:
    """How strict a served model is. Tokens are estimated as a quarter of the characters.

    `output_parameter` is the only name the Chat wire takes for the output limit (None: either). `reasoning_content`:
    whether assistant messages with calls must, must not or may carry it.
    """

    context_window: int = 200_000
    max_output_tokens: int = 64_000
    takes_temperature: bool = True
    output_parameter: Literal["max_tokens", "max_completion_tokens"] | None = None
    reasoning_content: Literal["required", "refused", "ignored"] = "ignored"


DEFAULT_RULES = WireRules()


def estimated_tokens(*values: object) -> int:
    """A quarter of all characters, images at a flat rate."""
    characters = sum(_characters(value) for value in values)
    return characters // CHARACTERS_PER_TOKEN


def _characters(value: object) -> int:
    if isinstance(value, str):
        is_image = value.startswith("data:image/")
        return TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN if is_image else len(value)
    here = as_dict(value)
    if here.get("type") == "base64":
        return TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN
    inside = sum(len(key) + _characters(item) for key, item in here.items())
    return inside + sum(_characters(item) for item in as_list(value))


def cache_mark_problems(body: dict[str, Any]) -> Iterable[Problem]:
    """V5, counted on what is really sent."""
    marks = sum("cache_control" in one for one in dictionaries_in(body))
    if marks > MAX_CACHE_MARKS:
        text = f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."
        yield Problem("V5", text)


def image_problems(images: Sequence[tuple[str, str]]) -> Iterable[Problem]:
    """V9 for pairs of place and base64 data."""
    many = len(images) > MANY_IMAGES
    limit = MAX_PIXELS_OF_MANY if many else MAX_PIXELS
    kind = "for many-image requests: " if many else ""
    for place, data in images:
        size = base64_image_size(data)
        if size is not None and max(size) > limit:
            text = (
                f"{place}: At least one of the image dimensions exceed max allowed size {kind}{limit} pixels"
            )
            yield Problem("V9", text, param=place)


def is_blank(text: object) -> bool:
    """Whether nothing in it can be seen; no-break space counts as white space."""
    return not as_text(text).strip()


def twice(items: Sequence[str]) -> list[str]:
    """What occurs more than once, in order of appearance."""
    return [item for place, item in enumerate(items) if items.index(item) == place and items.count(item) > 1]
