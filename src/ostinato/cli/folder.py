"""A folder on the command line: an empty text names none, though Python would take it for the working folder."""

import os
from pathlib import Path

import click


class FolderType(click.ParamType[Path]):
    """A path that is not empty; whether it is a folder is looked at where it is used."""

    name = "folder"

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        if isinstance(value, str) and not value.strip():
            self.fail("an empty text names no folder", param, ctx)
        return Path(value)
