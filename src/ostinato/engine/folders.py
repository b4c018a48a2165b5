"""The working folder and the others that the options name, as they really are."""

import os
from pathlib import Path

from ostinato.engine.options import Options
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home
from ostinato.real_path import real_path


def named_folders(options: Options, home: Path | None, cwd: Path | None) -> tuple[Path, tuple[Path, ...]]:
    """The working folder, and all of them. `cwd` is the working folder, if it was resolved just now. Raises UsageError."""
    folders: list[Path] = []
    for folder in (options.cwd, *options.add_dirs):
        is_known = folder is options.cwd
        real = (cwd if is_known else None) or real_path(expand_home(str(folder), home))
        if not os.path.isdir(real):
            raise UsageError(f"`{folder}` is not a folder", hint="name a folder that exists")
        if not os.access(real, os.R_OK | os.X_OK):
            raise UsageError(f"the folder `{folder}` cannot be read", hint="check its permissions")
        folders.append(real)
    return folders[0], tuple(dict.fromkeys(folders))
