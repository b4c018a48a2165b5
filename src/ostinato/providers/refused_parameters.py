"""Which parameter a server refuses, in the words of many: the next request goes without it, and the loop may send it."""

import re

from ostinato.errors import ModelError
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.given_up import GivenUp
from ostinato.providers.refusal_words import said_in

NAME = r"[`'\"]?([a-z_]+(?:\.[a-z_]+)*)[`'\"]?"
WORDINGS = tuple(
    re.compile(wording, re.IGNORECASE)
    for wording in (
        rf"(?:unsupported|unknown|unrecognized|invalid) (?:parameter|value|field|argument|request argument)s?(?: supplied)?:? {NAME}",
        rf"^{NAME}: extra inputs are not permitted",
        rf"{NAME}(?: parameter)? (?:is|are) (?:not supported|deprecated|not permitted|not allowed)",
        rf"does not support (?:the )?(?:parameter )?{NAME}",
        rf"(?:unknown|unexpected) (?:field|keyword argument):? {NAME}",
    )
)


def refused_parameter(failure: HttpFailure) -> str:
    """The parameter that a refusal objects to, empty if it objects to something else."""
    if failure.status not in {400, 422}:
        return ""
    said = said_in(failure.body, failure.headers)
    if said.param and said.code in {"unsupported_parameter", "unsupported_value", "unknown_parameter"}:
        return said.param
    found = next((match for wording in WORDINGS if (match := wording.search(said.text))), None)
    return found[1] if found else ""


def adjusted(error: ModelError, failure: HttpFailure, given_up: GivenUp) -> ModelError:
    """`error`, after which the request may be sent again if it is about a parameter that is given up now, or was by another
    request while this one was under way."""
    name = refused_parameter(failure) if error.kind == "invalid_request" else ""
    if name and given_up.give_up(name, sent=failure.sent):
        error.retry, error.recover = True, "send_changed"
        error.hint = f"the server does not take `{name}`: the next request goes without it"
    return error
