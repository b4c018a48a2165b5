"""The words a model reads when a call did not run or did not end: one catalogue, so that tests need not match prose."""

from typing import Literal, assert_never

from ostinato.submissions import AbortReason

StopReason = AbortReason | Literal["refusal", "superseded", "sibling_error"]
"""Why a call ends without a result of its own: the query was aborted, the reply that asks for it was refused, or broke off and is
asked for again, or another of its calls failed.
"""

_STOPPED = "{why}; this call was stopped. It may have run in part; check before you repeat it."
_NOT_RUN = "{why}; this call did not run."
_RUNS_ON = "It cannot be stopped: it still runs, and may yet have its effect. Check before you repeat it."
INTERRUPTION_PROMPT = "[The user interrupted here.]"
INTERRUPTION_PROMPT_TOOLS = "[The user interrupted while tools were running.]"
TERMINATED_PROMPT = "[The run was ended from outside here; what was not finished was stopped.]"
TIME_OVER_PROMPT = "[The time for this run was over here; what was not finished was stopped.]"

ENDED_FROM_OUTSIDE: frozenset[AbortReason] = frozenset({"terminated", "consumer_left"})
"""Nobody interrupted: a signal came, or who read the events went away."""

RESUME_PROMPT = (
    "Your reply reached its output limit and was cut here. Go on exactly where it broke off, in the middle of a sentence if "
    "need be: no apology, and nothing said again. Do what is left in smaller pieces."
)

EMPTY_PROMPT = "Your last reply held no text and no call. If there is something left to do, do it; else say how it ended."

CUT_INPUT = " It breaks off after {count} characters, as a reply does that reaches its output limit: ask for less in one call."

ERROR_HEAD_CHARACTERS = 5_000
"""An error text over 10,000 characters keeps its first and last 5,000 (semantics §14.2)."""


def unknown_tool(name: str, known: tuple[str, ...]) -> str:
    return f"There is no tool named `{name}`. The tools are: {', '.join(known)}."


def invalid_json(name: str, text: str) -> str:
    shown = text if len(text) <= 200 else text[:200] + "…"
    cut = "" if text.rstrip().endswith("}") else CUT_INPUT.format(count=len(text))
    return f"InputValidationError: the input of `{name}` is not a JSON object. It was not run.{cut} You wrote: {shown}"


def invalid_input(why: str) -> str:
    return f"InputValidationError: {why} (it was not run)"


def load_first(name: str) -> str:
    """For a call of a tool that the model knows by name only."""
    return f". The schema of `{name}` was not loaded: call ToolSearch with `select:{name}` first."


def timed_out(after_s: float, *, runs_on: bool = False) -> str:
    if runs_on:
        return f"This call took longer than {after_s:g} s and is not waited for any more. {_RUNS_ON}"
    return f"This call took longer than {after_s:g} s and was stopped. It may have run in part; check before you repeat it."


def given_up() -> str:
    """For a call that does not end although it was told to."""
    return "This call was stopped, but it did not end: whether it had its effect, or will yet have it, is unknown. Check before you repeat it."


def cut_error(text: str) -> str:
    if len(text) <= 2 * ERROR_HEAD_CHARACTERS:
        return text
    left_out = len(text) - 2 * ERROR_HEAD_CHARACTERS
    head, tail = text[:ERROR_HEAD_CHARACTERS], text[-ERROR_HEAD_CHARACTERS:]
    return f"{head}\n… {left_out} characters left out …\n{tail}"


def interruption(reason: AbortReason, *, is_in_tools: bool) -> str:
    """What the model reads where it was cut off."""
    if reason == "timeout":
        return TIME_OVER_PROMPT
    if reason in ENDED_FROM_OUTSIDE:
        return TERMINATED_PROMPT
    return INTERRUPTION_PROMPT_TOOLS if is_in_tools else INTERRUPTION_PROMPT


def stopped(reason: StopReason, *, has_started: bool, runs_on: bool = False) -> str:
    """What the model reads for a call that was ended from outside. One that has started never reads as not run, one whose work goes
    on never as stopped.
    """
    match reason:
        case "timeout":
            why = "The run's time is over"
        case "refusal":
            why = "The reply that asked for this call was refused"
        case "superseded":
            why = "The reply that asked for this call broke off"
        case "sibling_error":
            why = "Another call of the same reply failed"
        case "budget":
            why = "The budget for this run is used up"
        case "terminated" | "consumer_left":
            why = "The run was ended from outside"
        case "user" | "interrupt" | "denied":
            why = "The user interrupted"
        case _:
            assert_never(reason)
    if runs_on:
        return f"{why}; this call is not waited for any more. {_RUNS_ON}"
    return (_STOPPED if has_started else _NOT_RUN).format(why=why)
