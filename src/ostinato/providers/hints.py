"""What a person can do about a failed model call: one sentence for each kind that leaves something to do."""

from collections.abc import Mapping
from types import MappingProxyType

from ostinato.errors import ModelErrorKind
from ostinato.providers.exchange import HttpFailure
from ostinato.providers.refusal_words import Said

HINTS: Mapping[ModelErrorKind, str] = MappingProxyType({
    "permission": "the key is valid but may not do this: check what your account, project or region allows",
    "billing": "the provider wants a payment or a higher limit before it goes on",
    "rate_limit": "the provider limits how much you may send in a while: wait, send less at once, or use another model",
    "overloaded": "the provider has too much to do: try again in a few minutes, or use another model",
    "server": "the fault is the provider's: try again; if it stays, look at its status page",
    "timeout": "the provider was too slow: try again, or raise the limits `OSTINATO_FIRST_BYTE_TIMEOUT_S` and "
    "`OSTINATO_TOTAL_TIMEOUT_S`",
    "prompt_too_long": "begin a new conversation (`/clear`), or use a model with a larger window",
    "request_too_large": "the request has too many bytes: begin a new conversation (`/clear`), or leave out images and documents",
    "media_too_large": "send a smaller or fewer images and documents",
    "invalid_media": "this model cannot read that image or document: send it in another form, or leave it out",
    "output_overflow": "ask for less output at once, or begin a new conversation (`/clear`)",
    "invalid_history": "this is a fault of ours: please report it with the request id",
    "invalid_request": "the server objects to the request itself, in the words above; if they are about what this model can "
    "do, say so in the settings under `models.NAME`",
    "refused": "the provider refuses this prompt: say it in another way, or use another model",
})


def hint_for(kind: ModelErrorKind, failure: HttpFailure, said: Said, key_variable: str) -> str:
    """The sentence for this failure; it may know more than the kind does."""
    if 300 <= failure.status < 400:
        return f"the server redirects to `{failure.headers.get('location', '')}`: set the base URL to that address"
    match kind:
        case "authentication":
            return f"check the key in `{key_variable}`"
        case "not_found":
            return _not_found(failure, said)
        case "server" | "permission" | "invalid_request" | "timeout" if said.is_page:
            return "a web page came in place of an answer: a proxy or gateway stands between, or the base URL is wrong"
        case _:
            return HINTS.get(kind, "")


def _not_found(failure: HttpFailure, said: Said) -> str:
    if "model" in f"{said.code} {said.text}".lower():
        return "check the name of the model, and that your key may use it"
    if failure.url.rstrip("/").endswith("/responses"):
        return (
            f"nothing answers at `{failure.url}`: check the base URL; if the server only speaks Chat Completions, name the "
            "model `openai-chat/NAME`"
        )
    return f"nothing answers at `{failure.url}`: check the base URL"
