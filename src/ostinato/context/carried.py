"""What must outlive every summary, whatever a model writes into it: the first prompt, the user's words, the files.

It is taken from the messages themselves and goes from boundary to boundary as data, so the tenth summary still holds the first
wish.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ostinato.context.deeds import cut, deeds_of, users_words
from ostinato.history import History
from ostinato.messages import Message, UserMessage
from ostinato.normalise.token_estimate import text_tokens
from ostinato.records import NOTHING_CARRIED, Boundary, Carried, Fold, Snip

MAX_WORDS_TOKENS: Final = 20_000
"""Of the user's own words (semantics §24.12)."""

WHOLE_SHARE: Final = 0.75
"""Of the room for words: the newest, each whole."""

CUT_TOKENS: Final = 300
"""Of each older message, where not all can be whole."""

WORDS_SHARE: Final = 0.1
"""Of the window, where that is less."""

MIN_WORDS_TOKENS: Final = 400
"""In a window where that share says nothing."""

FIRST_PROMPT_SHARE: Final = 0.25
"""Of the room for words: the first prompt, if it would not fit among the newest."""

MAX_FILES: Final = 100
SHORT: Final = "Summary:\n"
"""Where, in the text of a summary, what is carried ends and the account of the rest begins."""

CHARACTERS_A_TOKEN: Final = 2


def _stand_in(edit: Fold | Snip) -> UserMessage:
    return edit.summary if isinstance(edit, Fold) else edit.marker


def carried_on(
    messages: History, gone: Sequence[Message], window_tokens: int, *, with_earlier: bool = True
) -> Carried:
    """What is carried once these messages of the view are no longer in it; its words fit a window of this size. `with_earlier`:
    with what the newest boundary carried, though its summary stays; where that goes as well, it is carried on in any case.
    """
    boundary = _newest_boundary(messages)
    is_gone = boundary is not None and any(one.uuid == boundary.summary.uuid for one in gone)
    with_earlier = with_earlier or is_gone
    before = boundary.carried if boundary is not None and with_earlier else NOTHING_CARRIED
    folded = {
        _stand_in(record).uuid: record.carried for record in messages.log() if isinstance(record, Fold | Snip)
    }
    parts = [
        before,
        *(folded.get(one.uuid) or Carried(words=(users_words(one),)) for one in gone),
    ]
    words = [said for part in parts for said in part.words if said.strip()]
    first = next((part.first_prompt for part in parts if part.first_prompt), words[0] if words else "")
    deeds = deeds_of(gone)
    changed = _newest((*(path for part in parts for path in part.changed), *deeds.changed))
    read = _newest((*(path for part in parts for path in part.read), *deeds.read))
    room = int(min(MAX_WORDS_TOKENS, max(MIN_WORDS_TOKENS, WORDS_SHARE * window_tokens)))
    return Carried(
        _shortened(first, int(room * FIRST_PROMPT_SHARE)) if with_earlier else "",
        _fitting(words, room),
        changed,
        tuple(path for path in read if path not in changed),
    )


def _newest_boundary(messages: History) -> Boundary | None:
    shown = {message.uuid for message in messages}
    boundaries = (record for record in reversed(messages.log()) if isinstance(record, Boundary))
    return next((one for one in boundaries if one.summary.uuid in shown), None)


def carried_text(carried: Carried) -> str:
    """As the model reads it; empty if there is nothing."""
    parts: list[str] = []
    if carried.first_prompt and carried.first_prompt not in carried.words:
        parts.append("What the user asked first, word for word:\n" + carried.first_prompt)
    if carried.words:
        listed = "\n\n".join(f"- {said}" for said in carried.words)
        parts.append("What the user said, word for word, oldest first:\n" + listed)
    parts += _files("Files that were changed:", carried.changed)
    parts += _files("Files that were read:", carried.read)
    return "\n\n".join(parts)


def _files(title: str, paths: Sequence[str]) -> list[str]:
    return ["\n".join([title, *(f"- {path}" for path in paths)])] if paths else []


def _newest(paths: Iterable[str]) -> tuple[str, ...]:
    """Each once, where it was named last."""
    latest = dict.fromkeys(reversed(list(paths)))
    return tuple(reversed(list(latest)[:MAX_FILES]))


def _fitting(words: Sequence[str], room_tokens: int) -> tuple[str, ...]:
    """In their order: whole if all of them fit. Else the newest are whole and the older ones cut, so that a log that was pasted pushes
    out no rule that was said in a sentence before it; the oldest go last.
    """
    if sum(map(_tokens, words)) <= room_tokens:
        return tuple(words)
    kept: list[str] = []
    whole_tokens = int(room_tokens * WHOLE_SHARE)
    for said in reversed(words):
        is_whole = _tokens(said) <= whole_tokens
        told = said if is_whole else _shortened(said, CUT_TOKENS if kept else whole_tokens)
        whole_tokens = whole_tokens - _tokens(told) if is_whole else 0
        room_tokens -= _tokens(told)
        if room_tokens < 0:
            break
        kept.append(told)
    return tuple(reversed(kept))


def _tokens(text: str) -> int:
    return text_tokens(len(text.encode("utf-8", "replace")))


def _shortened(text: str, room_tokens: int) -> str:
    if _tokens(text) <= room_tokens:
        return text
    return cut(text, room_tokens * CHARACTERS_A_TOKEN)
