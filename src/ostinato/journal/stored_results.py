"""Whole results that the model sees only the beginning of, one file each beside the session: readable by their owner alone."""

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""What ids of calls usually are; any other id is named by its hash."""


def store_result(folder: Path, call_id: str, text: str) -> Path | None:
    """Where the text lies whole; None if it could not be kept. A file that is there already is the same call's, from before."""
    name = call_id if SAFE_NAME.fullmatch(call_id) else sha256(call_id.encode("utf-8", "replace")).hexdigest()
    path = folder / f"{name}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return path if os.path.isfile(path) else None
    except OSError:
        return None
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError:
        path.unlink(missing_ok=True)
        return None
    return path
