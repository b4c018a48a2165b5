"""Errors of foreign code in one line, without secrets: they are shown, stored, and read by the model."""

from collections.abc import Callable

Mask = Callable[[str], str]
"""The text without what nobody may read. Raises nothing. Never a default: whoever forgets it would show the secrets in use."""


def described(error: BaseException, mask: Mask) -> str:
    """Raises nothing."""
    try:
        text = mask(str(error).strip())
    except Exception:  # ruff: ignore[blind-except] - an error that cannot say what it is
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
