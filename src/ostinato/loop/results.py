"""The words a model reads when a call did not run or did not end: one catalogue, so that tests need not match prose."""

from ostinato.submissions import AbortReason

INTERRUPTED_BY_USER = "The user interrupted this call. It may have run in part; check before you repeat it."
NOT_RUN_INTERRUPTED = "This call did not run: the user interrupted before it started."
STREAM_BROKE = "This call did not run: the reply that asked for it broke off."
REFUSED_REPLY = "This call did not run: the reply that asked for it was refused."
INTERRUPTION_PROMPT = "[The user interrupted here.]"
INTERRUPTION_PROMPT_TOOLS = "[The user interrupted while tools were running.]"

ERROR_HEAD_CHARACTERS = 5_000
"""An error text over 10,000 characters keeps its first and last 5,000 (semantics §14.2)."""


def unknown_tool(name: str, known: tuple[str, ...]) -> str:
    return f"There is no tool named `{name}`. The tools are: {', '.join(known)}."


def invalid_json(name: str, text: str) -> str:
    shown = text if len(text) <= 200 else text[:200] + "…"
    return f"InputValidationError: the input of `{name}` is not a JSON object. It was not run. You wrote: {shown}"


def invalid_input(why: str) -> str:
    return f"InputValidationError: {why} (it was not run)"


def cut_error(text: str) -> str:
    if len(text) <= 2 * ERROR_HEAD_CHARACTERS:
        return text
    left_out = len(text) - 2 * ERROR_HEAD_CHARACTERS
    head, tail = text[:ERROR_HEAD_CHARACTERS], text[-ERROR_HEAD_CHARACTERS:]
    return f"{head}\n… {left_out} characters left out …\n{tail}"


def interruption(reason: AbortReason, *, started: bool) -> str:
    """What the model reads for a call that an abort ended."""
    if reason == "timeout":
        return "The run's time is over; this call was stopped." if started else "The run's time is over."
    return INTERRUPTED_BY_USER if started else NOT_RUN_INTERRUPTED
