"""Which of the `@` words that name no file were meant as one: the user hears of those, and of nothing else that has an `@`.

Promise: addresses, decorators and scoped packages stay silent; what they look like wins over what could be a file.
"""

import re
from collections.abc import Callable
from typing import Final

from ostinato.attachments.mention_syntax import Mention

_FILE_ENDING: Final = re.compile(
    r"bash|c|cc|cfg|conf|cpp|cs|css|csv|env|go|gz|h|hpp|htm|html|ini|ipynb|java|jpeg|jpg|js|json|jsonl|jsx|kt|lock|log|lua|md|pdf|"
    r"php|pl|png|proto|py|pyi|rb|rs|rst|scss|sh|sql|svg|svelte|swift|tex|toml|ts|tsx|txt|vue|xml|yaml|yml|zip|zsh"
)
_BEGINS_AS_PATH: Final = ("./", "../", "~/")
_PACKAGE: Final = re.compile(r"[a-z0-9][\w.-]*/[\w.-]+\.(?:js|ts)")
"""A scoped package may end so too, `@scope/chart.js`."""


def missed_name(readings: tuple[Mention, ...], is_folder: Callable[[str], bool]) -> str | None:
    """The name that was meant as a file's, None where none was. `is_folder` may look at the disk."""
    mention = readings[-1]  # without closing marks, and without its range where it has one
    name = mention.name
    if name.startswith(_BEGINS_AS_PATH) or (mention.first is not None and _has_ending(name)):
        return name
    folder, slash, _ = name.rstrip("/").rpartition("/")
    is_alias = name.startswith("/") and folder.count("/") < 2  # `@/lib/x.ts` is an import of some languages
    if slash and folder and not is_alias and is_folder(folder):
        return name
    is_other = name.startswith("/") or _PACKAGE.fullmatch(name) is not None
    return name if _has_ending(name) and not is_other else None


def _has_ending(name: str) -> bool:
    stem, dot, ending = name.rpartition("/")[2].rpartition(".")
    return bool(dot and stem) and _FILE_ENDING.fullmatch(ending) is not None
