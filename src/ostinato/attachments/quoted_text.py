"""Text that others wrote, made safe to show to a model: valid Unicode that cannot close the reminder it stands in."""

import re
from pathlib import Path
from typing import Final

from ostinato.codec import sanitise
from ostinato.normalise.rendering import REMINDER_TAG

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def quoted(text: str) -> str:
    """The text without anything that reads as a reminder tag, and without half code points."""
    return REMINDER_TAG.sub("&lt;", sanitise(text))


def shown_name(path: Path | str) -> str:
    """A path on one line: control characters are escaped, bytes that are no UTF-8 become U+FFFD."""
    return CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", quoted(str(path)))
