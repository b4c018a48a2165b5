"""One or several literal replacements in a text, each in what the one before it left; all of them or none."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from ostinato.tools.answer import LONE_SURROGATE
from ostinato.tools.edit_match import Matched, NotMatched, match_edit
from ostinato.tools.file_diff import lines_around
from ostinato.tools.line_ends import Change, TextWithEnds, without_pairs
from ostinato.tools.text_encoding import TextEncoding

MAX_ECHOED_CHARACTERS = 4_000


class EditStep(msgspec.Struct, frozen=True):
    """As the model gives it."""

    old_string: str
    new_string: str
    replace_all: bool = False


class Edited(msgspec.Struct, frozen=True):
    """The bytes afterwards, what to say of each step, and what to compare for a diff: texts that begin at line `first_line`."""

    data: bytes
    accounts: tuple[str, ...]
    before: str
    after: str
    first_line: int = 1


class _Place(msgspec.Struct, frozen=True, dict=True):
    """Where a step applies in `text`, and what that changes. `dict` holds the text afterwards, once that was asked for."""

    text: TextWithEnds
    matched: Matched
    changes: tuple[Change, ...]

    @cached_property
    def after(self) -> TextWithEnds:
        return self.text.changed(self.changes)


def wrong_step(step: EditStep) -> str | None:
    """Why a step can be applied to no file."""
    if step.old_string == step.new_string:
        return "`old_string` and `new_string` are equal: there is nothing to change"
    if LONE_SURROGATE.search(step.new_string):
        return "`new_string` holds half a code point (a lone surrogate), which no file can hold"
    return None


def apply_steps(
    data: bytes, text: TextWithEnds, encoding: TextEncoding, steps: Sequence[EditStep], *, forgiving: bool
) -> Edited | NotMatched:
    """`data` is what `text` was decoded from. The first step that does not apply says why, and counts for all.

    Raises UnicodeEncodeError for what the encoding cannot say.
    """
    after = text
    accounts: list[str] = []
    for found in _places(text, steps, forgiving=forgiving):
        if isinstance(found, NotMatched):
            return found
        place = found.matched.spans[0][0]
        line = found.text.line_of(place)
        accounts.append(_account(line, found.matched))
        changes = found.changes
        data = encoding.spliced(data, found.text.original, [(c.start, c.end, c.middle) for c in changes])
        if len(steps) == 1:
            shown = _lines_changed(text.aligned, place, line, changes)
            return Edited(data, tuple(accounts), *shown)
        after = found.after
    return Edited(data, tuple(accounts), text.normal, after.normal)


def why_not_apply(
    text: TextWithEnds, encoding: TextEncoding, steps: Sequence[EditStep], *, forgiving: bool
) -> NotMatched | None:
    """What `apply_steps` would say of steps that do not apply; the file afterwards is not made for it.

    Raises UnicodeEncodeError for what the encoding cannot say.
    """
    for found in _places(text, steps, forgiving=forgiving):
        if isinstance(found, NotMatched):
            return found
        for change in found.changes:
            encoding.encode(change.middle)
    return None


def _places(
    text: TextWithEnds, steps: Sequence[EditStep], *, forgiving: bool
) -> Iterator[_Place | NotMatched]:
    """Of each step in what the one before it left; nothing behind the first that does not apply."""
    for number, step in enumerate(steps, 1):
        old = text.normalise(step.old_string)
        matched = match_edit(text, old, step.new_string, replace_all=step.replace_all, forgiving=forgiving)
        if isinstance(matched, NotMatched):
            which = f"edit {number} of {len(steps)}: " if len(steps) > 1 else ""
            yield NotMatched(which + matched.reason)
            return
        place = _Place(text, matched, text.changes(matched.spans, matched.new))
        yield place
        if number < len(steps):
            text = place.after


def _lines_changed(aligned: str, place: int, line: int, changes: Sequence[Change]) -> tuple[str, str, int]:
    """The lines around the changes before and afterwards, with `\\n` line ends, and where they begin: no more is compared.

    `place` stands in line `line`; to count lines from the beginning again would cost as much as the search.
    """
    start, end = lines_around(aligned, changes[0].start, changes[-1].end)
    pieces: list[str] = []
    done = start
    for change in changes:
        pieces += (without_pairs(aligned[done : change.start]), change.normal_middle)
        done = change.end
    after = "".join((*pieces, without_pairs(aligned[done:end])))
    first_line = line + aligned.count("\n", place, start) - aligned.count("\n", start, place)
    return without_pairs(aligned[start:end]), after, first_line


def _account(first: int, matched: Matched) -> str:
    if not matched.is_forgiven:
        count = len(matched.spans)
        return f": {count} replacements" if count > 1 else f" at line {first}"
    return (
        f" at line {first}. `old_string` matched there only with different white space; "
        f"the new text was fitted to the file's indentation:\n{matched.new[:MAX_ECHOED_CHARACTERS]}"
    )
