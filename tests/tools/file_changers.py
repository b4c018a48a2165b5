"""Every tool that changes files, with a text before, the call, and the text after: `old` becomes `new`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TEXT = "first\nan old word\nlast\n"
NOTEBOOK = """{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a",
   "metadata": {},
   "source": [
    "an old word"
   ]
  }
 ],
 "metadata": {
  "title": "last"
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


@dataclass(frozen=True)
class Changer:
    tool: str
    file: str
    before: str
    given: Callable[[str], Mapping[str, Any]]
    """The input, for a path."""

    @property
    def after(self) -> str:
        return self.after_with("a new")

    def after_with(self, new: str) -> str:
        return self.before.replace("an old", new)

    def call(self, path: str | None = None, *, new: str = "a new") -> dict[str, Any]:
        given = json.dumps(self.given(path or self.file))
        return json.loads(given.replace("a new", new))


STEP = {"old_string": "an old", "new_string": "a new"}
CHANGERS = (
    Changer("Edit", "f.txt", TEXT, lambda path: {"file_path": path, **STEP}),
    Changer("MultiEdit", "f.txt", TEXT, lambda path: {"file_path": path, "edits": [STEP]}),
    Changer(
        "Write", "f.txt", TEXT, lambda path: {"file_path": path, "content": TEXT.replace("an old", "a new")}
    ),
    Changer(
        "NotebookEdit",
        "f.ipynb",
        NOTEBOOK,
        lambda path: {"notebook_path": path, "cell_id": "a", "new_source": "a new word"},
    ),
)
