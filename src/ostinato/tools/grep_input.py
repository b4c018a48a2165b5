"""The input of Grep, as its schema describes it."""

from typing import Final, Literal

import msgspec

DEFAULT_HEAD_LIMIT: Final = 250
MAX_RESULT_CHARACTERS: Final = 30_000


class GrepInput(msgspec.Struct, frozen=True):
    pattern: str
    path: str | None = None
    glob: str | None = None
    output_mode: Literal["content", "files_with_matches", "count"] = "files_with_matches"
    after: int = msgspec.field(name="-A", default=0)
    before: int = msgspec.field(name="-B", default=0)
    around: int = msgspec.field(name="-C", default=0)
    context: int = 0
    with_numbers: bool = msgspec.field(name="-n", default=True)
    ignore_case: bool = msgspec.field(name="-i", default=False)
    only_matching: bool = msgspec.field(name="-o", default=False)
    file_type: str | None = msgspec.field(name="type", default=None)
    head_limit: int = DEFAULT_HEAD_LIMIT
    offset: int = 0
    multiline: bool = False
