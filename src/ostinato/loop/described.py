"""Errors of foreign code in one line, without secrets: they are shown, stored, and read by the model."""

from collections.abc import Callable

Mask = Callable[[str], str]
"""The text without what nobody may read. Raises nothing."""


def masked_by_form(text: str) -> str:
    """Without what has the form of a key: all that can be known where nobody knows the keys themselves."""
    from ostinato.secret_values import masked  # ruff: ignore[import-outside-top-level] - only failures say something

    return masked(text, ())


def described(error: BaseException, mask: Mask = masked_by_form) -> str:
    """Raises nothing."""
    try:
        text = mask(str(error).strip())
    except Exception:  # ruff: ignore[blind-except] - an error that cannot say what it is
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
