"""Questions of the model to the person: with choices, one or several, and always room for other words."""

from collections.abc import Awaitable, Callable, Mapping

import msgspec


class Choice(msgspec.Struct, frozen=True):
    label: str
    description: str = ""


class UserQuestion(msgspec.Struct, frozen=True, rename={"multi_select": "multiSelect"}):
    """`header` is a word or two for a narrow place. `multi_select`: more than one choice may be taken."""

    question: str
    options: tuple[Choice, ...]
    header: str = ""
    multi_select: bool = False


class UserAsked(msgspec.Struct, frozen=True):
    """What one call of `AskUserQuestion` wants to know."""

    tool_use_id: str
    questions: tuple[UserQuestion, ...]


Answers = Mapping[str, str]
"""By question: the label that was chosen, several joined by commas, or the person's own words."""

AskUser = Callable[[UserAsked], Awaitable[Answers | None]]
"""Puts the questions to a person; None: they would not answer. May take as long as it wants; an abort ends the wait."""
