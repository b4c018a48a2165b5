"""One or several literal replacements in a text, each in what the one before it left; all of them or none."""

from collections.abc import Sequence

import msgspec

from ostinato.tools.answer import LONE_SURROGATE
from ostinato.tools.edit_match import Matched, NotMatched, match_edit
from ostinato.tools.line_ends import TextWithEnds, text_with_ends

MAX_ECHOED_CHARACTERS = 4_000


class EditStep(msgspec.Struct, frozen=True):
    """As the model gives it."""

    old_string: str
    new_string: str
    replace_all: bool = False


class Edited(msgspec.Struct, frozen=True):
    """The text afterwards, and what to say of each step."""

    text: TextWithEnds
    accounts: tuple[str, ...]


def wrong_step(step: EditStep) -> str | None:
    """Why a step can be applied to no file."""
    if step.old_string == step.new_string:
        return "`old_string` and `new_string` are equal: there is nothing to change"
    if LONE_SURROGATE.search(step.new_string):
        return "`new_string` holds half a code point (a lone surrogate), which no file can hold"
    return None


def apply_steps(text: TextWithEnds, steps: Sequence[EditStep], *, forgiving: bool) -> Edited | NotMatched:
    """The first step that does not apply says why, and counts for all."""
    accounts: list[str] = []
    for number, step in enumerate(steps, 1):
        old = text.normalise(step.old_string)
        matched = match_edit(
            text.normal, old, step.new_string, replace_all=step.replace_all, forgiving=forgiving
        )
        if isinstance(matched, NotMatched):
            return NotMatched(
                f"edit {number} of {len(steps)}: {matched.reason}" if len(steps) > 1 else matched.reason
            )
        accounts.append(_account(text, matched))
        text = text_with_ends(text.replaced(matched.spans, matched.new))
    return Edited(text, tuple(accounts))


def _account(text: TextWithEnds, matched: Matched) -> str:
    first = text.line_of(matched.spans[0][0])
    if not matched.is_forgiven:
        count = len(matched.spans)
        return f": {count} replacements" if count > 1 else f" at line {first}"
    return (
        f" at line {first}. `old_string` matched there only with different white space; "
        f"the new text was fitted to the file's indentation:\n{matched.new[:MAX_ECHOED_CHARACTERS]}"
    )
