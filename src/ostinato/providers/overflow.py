"""How much was too much: the sizes that a refusal names, and the signs of an overflow that it does not name. Numbers are
tokens.
"""

import re

import msgspec

from ostinato.ports import ModelFacts

NUMBER = r"([\d,]+)"

CHARACTERS_PER_TOKEN = 4
SUSPICIOUS_SHARE = 0.95
"""A request that fills the window so far and is refused in words that nobody knows was most likely too long."""

SUSPICIOUS_SHARE_IN_SILENCE = 0.5
"""The same for one that is refused without a word: what is wrong with a request is mostly said, and windows are often smaller
than is believed."""

ENCODED_MEDIA = re.compile(rb"[A-Za-z0-9+/=]{1024,}")
"""Base64 as pictures and documents travel: no text has a run that long."""


class Sizes(msgspec.Struct, frozen=True):
    """None where nothing was said."""

    input_tokens: int | None = None
    limit_tokens: int | None = None
    output_limit_tokens: int | None = None


def _wording(text: str) -> re.Pattern[str]:
    """A wording with `<input>`, `<limit>` and `<output>` where its numbers stand."""
    return re.compile(re.sub(r"<(\w+)>", r"(?P<\1>[\\d,]+)", text), re.IGNORECASE)


WORDINGS = tuple(
    _wording(text)
    for text in (
        r"prompt is too long: <input> tokens > <limit>",
        r"exceed context limit: <input> \+ [\d,]+ > <limit>",
        r"max_tokens: [\d,]+ > <output>, which is the maximum",
        r"supports at most <output> (completion|output) tokens",
        r"max_\w*tokens\W+.{0,60}(less than or equal to|<=|at most) `?<output>",
        r"maximum context length is <limit> tokens.{0,60}requested [\d,]+ output tokens.{0,60}contains (at least )?<input>",
        r"maximum context length is <limit> tokens.{0,60}requested (about )?[\d,]+ tokens \(<input> (in|of)",
        r"maximum context length is <limit> tokens.{0,80}(resulted in|requested( about)?) <input> tokens",
        r"maximum context length (is|of) <limit>",
        r"configured limit of <limit> tokens.{0,40}resulted in <input> tokens",
        r"input token count \(?<input>\)? exceeds.{0,60}\(<limit>\)",
        r"input token count \(?<input>\)? exceeds",
        r"prompt token count of <input> exceeds the limit of <limit>",
        r"maximum prompt length is <limit>( but the request contains <input> tokens)?",
        r"request \(<input> tokens\) exceeds the available context size \(<limit>",
        r"\"n_prompt_tokens\"\s*:\s*<input>.{0,60}\"n_ctx\"\s*:\s*<limit>",
        r"token limit:? <limit>( \(requested:? <input>\))?",
        r"contains <input> tokens.{0,40}too large for model with <limit> maximum",
        r"input length \(<input> tokens\) exceeds the maximum allowed length \(<limit>",
        r"must have less than <limit> tokens\. given: <input>",
        r"range of input length should be \[\d+, ?<limit>\]",
        r"max size: <limit> tokens",
        r"context length of only <limit> tokens",
        r"parameter=input_tokens, value=<input>",
    )
)
"""The more particular first: the first that fits gives the numbers."""


def sizes_in(text: str) -> Sizes:
    """The numbers of a refusal that speaks of a length."""
    for wording in WORDINGS:
        found = wording.search(text)
        if found is not None:
            named = found.groupdict()
            return Sizes(
                _number(named.get("input")), _number(named.get("limit")), _number(named.get("output"))
            )
    return Sizes()


def _number(text: str | None) -> int | None:
    digits = (text or "").replace(",", "")
    return int(digits) if digits and len(digits) < 12 else None


def media_bytes(body: bytes) -> int:
    """How much of a request body is encoded pictures and documents."""
    return sum(found.end() - found.start() for found in ENCODED_MEDIA.finditer(body))


def fills_window(body: bytes, facts: ModelFacts, *, is_silent: bool = False) -> bool:
    """Whether a request body fills the model's window so far that a refusal is most likely about that, pictures left aside, by a
    rough count. `is_silent`: the refusal says nothing else."""
    tokens = (len(body) - media_bytes(body)) / CHARACTERS_PER_TOKEN
    share = SUSPICIOUS_SHARE_IN_SILENCE if is_silent else SUSPICIOUS_SHARE
    return tokens > share * facts.context_window
