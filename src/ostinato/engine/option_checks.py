"""What cannot be meant, said before anything is opened or sent: a wrong option must never quietly mean something else.

A misspelled mode would be a default one, a rule's text in place of a list would be rules for single letters, and a turn
limit of zero would be a turn.
"""

import math
from collections.abc import Sequence
from typing import cast

from ostinato.engine.options import MAX_FALLBACK_MODELS, Options
from ostinato.engine.thinking import check_wish
from ostinato.errors import UsageError
from ostinato.option_values import PERMISSION_MODES
from ostinato.providers.deadlines import DEFAULT_DEADLINES, Deadlines

LISTS = ("allowed_tools", "disallowed_tools", "add_dirs", "fallback_models")
COUNTS = ("max_turns", "max_output_tokens", "max_total_tokens")
AMOUNTS = ("max_budget_usd", "timeout_s")
FUNCTIONS = ("after_tool_hooks", "stop_hooks", "stop_failure_hooks")


def check_options(options: Options) -> None:
    """Raises UsageError."""
    for name in LISTS:
        if isinstance(getattr(options, name), str):
            raise UsageError(
                f"`{name}` is one text where a list belongs",
                hint=f"write `{name}=[{getattr(options, name)!r}]`",
            )
    if len(options.fallback_models) > MAX_FALLBACK_MODELS:
        raise UsageError(
            f"`fallback_models` names {len(options.fallback_models)} models",
            hint=f"name at most {MAX_FALLBACK_MODELS}, in the order in which they shall take over",
        )
    for name in FUNCTIONS:
        _check_functions(name, getattr(options, name))
    for name in COUNTS:
        _check_count(name, getattr(options, name))
    for name in AMOUNTS:
        _check_amount(name, getattr(options, name))
    if options.deadlines is not DEFAULT_DEADLINES:
        for name in Deadlines.__struct_fields__:
            _check_seconds(f"deadlines.{name}", getattr(options.deadlines, name, None))
    if options.permission_mode is not None:
        check_mode(options.permission_mode)
    check_wish(options.thinking, options.effort)
    _check_session(options)


def check_mode(mode: str) -> None:
    """Raises UsageError for a mode that there is not."""
    if mode not in PERMISSION_MODES:
        modes = ", ".join(f"`{known}`" for known in PERMISSION_MODES)
        raise UsageError(f"there is no permission mode `{mode}`", hint=f"modes are {modes}")


def no_bypass() -> UsageError:
    """What a wish for `bypassPermissions` gets where the settings take that mode away."""
    return UsageError(
        "the settings take the mode `bypassPermissions` away, or some of their rules cannot be read",
        hint="`ostinato config show --origin` says which file it is",
    )


def _check_functions(name: str, value: object) -> None:
    if isinstance(value, Sequence) and all(callable(one) for one in cast("Sequence[object]", value)):
        return
    raise UsageError(
        f"`{name}` is {value!r}", hint=f"it takes a list of async functions: `{name}=[my_function]`"
    )


def _check_count(name: str, value: object) -> None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return
    raise UsageError(
        f"`{name}` is {value!r}", hint="it takes a whole number from 1, or None for no limit of yours"
    )


def _check_amount(name: str, value: object) -> None:
    if value is None or _is_amount(value):
        return
    raise UsageError(
        f"`{name}` is {value!r}", hint="it takes a number above 0, or None for no limit of yours"
    )


def _check_seconds(name: str, value: object) -> None:
    if not _is_amount(value):
        raise UsageError(f"`{name}` is {value!r}", hint="it takes seconds, as a number above 0")


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _check_session(options: Options) -> None:
    if options.continue_session and options.resume is not None:
        raise UsageError(
            "`continue_session` and `resume` are two ways to choose a session", hint="use one of them"
        )
    if options.session_id is not None and (options.continue_session or options.resume is not None):
        raise UsageError(
            "`session_id` names a new session, but one is to be resumed", hint="leave one of the two out"
        )
