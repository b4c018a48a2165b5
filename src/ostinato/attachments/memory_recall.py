"""Notes of earlier sessions that a prompt seems to be about, looked for while the model already answers (semantics §30.1).

The choice is made by the words that the prompt shares with a note's name and description, the rarer the better: no model
is asked, so the same notes and the same prompt give the same find.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from ostinato.attachments.memory_files import MemoryFile, memory_files
from ostinato.attachments.quoted_text import quoted, shown_name
from ostinato.attachments.told import path_key, told_keys
from ostinato.messages import AttachmentMessage, Message, Reminder, Text, UserMessage, attachment_message
from ostinato.ports import Clock, CollectAttachments, FileState, Ids

SOURCE: Final = "memory"
MAX_NOTES: Final = 5
MAX_NOTE_LINES: Final = 200
MAX_NOTE_BYTES: Final = 4_096
MAX_RECALLED_BYTES: Final = 60 << 10
"""Of all notes that one conversation is shown: fifteen full ones."""

STALE_AFTER_S: Final = 86_400
WORD: Final = re.compile(r"[^\W_]{3,}|[\u3040-\u30ff\u3400-\u9fff]{2,}")
"""Words of three letters or more; scripts without spaces count by pairs, see `_words`."""

UNTELLING: Final = frozenset([
    "the",
    "and",
    "for",
    "with",
    "from",
    "this",
    "that",
    "how",
    "what",
    "when",
    "where",
    "why",
    "are",
    "was",
    "has",
    "have",
    "not",
    "you",
    "your",
    "please",
    "can",
    "all",
    "its",
])
"""Words that say nothing about a subject; what else is common shows itself by standing in many notes."""

UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2,}")


class RecallSources(msgspec.Struct, frozen=True):
    folder: Path
    files: FileState
    clock: Clock
    ids: Ids


class MemoryRecall:
    """Implements the loop's `Prefetch`."""

    def __init__(self, sources: RecallSources) -> None:
        self._sources = sources

    async def __call__(self, view: Sequence[Message], /) -> CollectAttachments:
        prompt = _prompt(view)
        chosen: Sequence[MemoryFile] = ()
        if len(prompt.split()) > 1 or UNSPACED.search(prompt):
            # an abandoned scan only reads
            found = await to_thread.run_sync(memory_files, self._sources.folder, abandon_on_cancel=True)
            shown = told_keys(view, SOURCE)
            chosen = chosen_notes(prompt, [note for note in found if path_key(note.path) not in shown])

        async def collect(later: Sequence[Message], /) -> Sequence[Message]:
            return self._messages(chosen, later)

        return collect

    def _messages(self, notes: Sequence[MemoryFile], view: Sequence[Message]) -> Sequence[Message]:
        """What of the notes the conversation does not hold yet, within what it may be shown in all."""
        bytes_left = MAX_RECALLED_BYTES - _recalled_bytes(view)
        messages: list[Message] = []
        for note in notes:
            if self._sources.files.get(note.path) is not None:
                continue
            text = self._text(note)
            bytes_left -= len(text.encode())
            if bytes_left < 0:
                break
            reminder = Reminder(SOURCE, text, path_key(note.path))
            messages.append(attachment_message(self._sources.ids.uuid(), reminder))
        return messages

    def _text(self, note: MemoryFile) -> str:
        age_s = self._sources.clock.now().timestamp() - note.changed_at_s
        days = int(age_s // STALE_AFTER_S)
        age = f", {days} days old: check what it says before you rely on it" if days >= 1 else ""
        head = f"A note from an earlier session on this project ({shown_name(note.path)}{age}):"
        return f"{head}\n\n{quoted(_capped(note.body))}"


def chosen_notes(prompt: str, notes: Sequence[MemoryFile]) -> tuple[MemoryFile, ...]:
    """At most `MAX_NOTES`, the best first; a note that shares no telling word with the prompt is none of them."""
    asked = _words(prompt)
    words_of = [_words(f"{note.name} {note.description}") & asked for note in notes]
    spread = Counter(word for words in words_of for word in words)
    # a word that half of many notes hold tells nothing apart
    limit = max(1, len(notes) // 2)
    score = [sum(1 / spread[word] for word in words if spread[word] <= limit) for words in words_of]
    ranked = sorted(range(len(notes)), key=lambda place: (-score[place], place))
    return tuple(notes[place] for place in ranked[:MAX_NOTES] if score[place] > 0)


def _words(text: str) -> set[str]:
    words = set[str]()
    for word in WORD.findall(text.casefold()):
        if UNSPACED.fullmatch(word):
            words.update(word[place : place + 2] for place in range(len(word) - 1))
        else:
            words.add(word)
    return words - UNTELLING


def _prompt(view: Sequence[Message]) -> str:
    for message in reversed(view):
        if isinstance(message, UserMessage) and message.origin == "prompt" and not message.is_meta:
            return "\n".join(block.text for block in message.content if isinstance(block, Text))
    return ""


def _recalled_bytes(view: Sequence[Message]) -> int:
    return sum(
        len(message.attachment.text.encode())
        for message in view
        if isinstance(message, AttachmentMessage)
        and isinstance(message.attachment, Reminder)
        and message.attachment.source == SOURCE
    )


def _capped(text: str) -> str:
    kept = "\n".join(text.split("\n")[:MAX_NOTE_LINES]).encode()[:MAX_NOTE_BYTES].decode(errors="ignore")
    return kept if len(kept) == len(text) else f"{kept}\n[the note goes on; read the file for the rest]"
