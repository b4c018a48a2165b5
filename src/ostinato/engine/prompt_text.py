"""What may be a prompt: legal Unicode, something in it, and no book."""

from typing import Final

from ostinato.codec import sanitise
from ostinato.engine.option_types import is_text, shown
from ostinato.errors import UsageError

MAX_PROMPT_CHARACTERS: Final = 10_000_000


def checked_prompt(text: str) -> str:
    """The text as it may be written and sent. Raises UsageError."""
    if not is_text(text):
        raise UsageError(f"the prompt is {shown(text)}", hint="it takes a text")
    clean = sanitise(text)
    if not clean.strip():
        raise UsageError("the prompt is empty", hint="say what should be done")
    if len(clean) > MAX_PROMPT_CHARACTERS:
        raise UsageError(
            f"the prompt has {len(clean)} characters; at most {MAX_PROMPT_CHARACTERS} are taken",
            hint="put long material into a file and name it in the prompt",
        )
    return clean
