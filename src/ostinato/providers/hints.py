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


_OTHER_WIRE = "; if the server only speaks Chat Completions, name the model `openai-chat/NAME`"
_CHECK_MODEL = "check the name of the model, and that your key may use it"
_UNSAID = "the server does not say what it objects to: look at its log; if the conversation is long, begin a new one (`/clear`)"


def hint_for(kind: ModelErrorKind, failure: HttpFailure, said: Said, key_variable: str, *, model: str) -> str:
    """The sentence for this failure; it may know more than the kind does."""
    if 300 <= failure.status < 400:
        return _redirected(failure.headers.get("location", "").strip())
    match kind:
        case "invalid_request" if not said.text:
            return _UNSAID
        case "authentication":
            return _check_key(key_variable)
        case "not_found":
            return _not_found(failure, said, model)
        case "server" | "permission" | "invalid_request" | "timeout" if said.is_page:
            return "a web page came in place of an answer: a proxy or gateway stands between, or the base URL is wrong"
        case _:
            return HINTS.get(kind, "")


def hint_for_event(kind: ModelErrorKind, said: Said, key_variable: str) -> str:
    """The sentence for a failure in the middle of a reply, where there is no status and no header."""
    if kind == "not_found":
        return _CHECK_MODEL
    if kind == "authentication":
        return _check_key(key_variable)
    return _UNSAID if kind == "invalid_request" and not said.text else HINTS.get(kind, "")


def _check_key(variable: str) -> str:
    return f"check the key in `{variable}`"


def _redirected(location: str) -> str:
    if not location:
        return "the server redirects without saying where to: check the base URL"
    return f"the server redirects to `{location}`: set the base URL to that address"


def _not_found(failure: HttpFailure, said: Said, model: str) -> str:
    if "model" in f"{said.code} {said.text}".lower():
        return _CHECK_MODEL
    if (
        said.text and not said.is_page
    ):  # somebody answers: it may be the model or the address that is not there
        return (
            f"the server at `{failure.url}` answers, in the words above: check the name of the model, `{model}`, and the base "
            f"URL{_OTHER_WIRE if _is_responses(failure) else ''}"
        )
    other = _OTHER_WIRE if _is_responses(failure) else ""
    return f"nothing answers at `{failure.url}`: check the base URL{other}"


def _is_responses(failure: HttpFailure) -> bool:
    return failure.url.rstrip("/").endswith("/responses")
