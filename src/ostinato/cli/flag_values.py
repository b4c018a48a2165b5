"""What can be said of the flags' values before a prompt is read: whoever mistyped one hears it at once, with the code for a wrong call.

Promise: nothing is read from standard input, opened, sent or kept; what only opening can show (a key, a server) is no wrong call.
"""

import os
from pathlib import Path

from ostinato.engine.configuration import read_configuration, started_with
from ostinato.engine.folders import named_folders
from ostinato.engine.option_checks import check_options
from ostinato.engine.option_types import usable_options
from ostinato.engine.options import Options
from ostinato.errors import OstinatoError, UsageError
from ostinato.home_folder import NO_HOME, home_of
from ostinato.journal.places import data_root, session_file


def checked_values(options: Options) -> Options:
    """The same options. Raises UsageError; ConfigurationError for variables and files that no flag named."""
    check_options(options)
    usable_options(options)
    environment = started_with(options)
    home, root = home_of(environment), data_root(environment)
    cwd, _ = named_folders(options, home, None)
    if options.settings is not None:
        read_configuration(options)
    for flag, names in (("--model", (options.model,)), ("--fallback-model", options.fallback_models)):
        for name in names:
            if isinstance(name, str):
                check_model(flag, name, (root or NO_HOME) / "models", home)
    _check_session(options, root, cwd)
    return options


def check_model(flag: str, name: str, models_folder: Path, home: Path | None) -> None:
    """Raises UsageError for a name that no model can have, or a file that is none. One that was not pulled, or has no key, is
    named rightly.
    """
    try:
        if name.startswith("local/"):
            _check_local(name, models_folder, home)
        else:
            from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - few name a model

            full_name(name)
    except OstinatoError as error:
        raise UsageError(f"`{flag}`: {error.message}", hint=error.hint) from error


def _check_local(name: str, models_folder: Path, home: Path | None) -> None:
    from ostinato.providers.local import local_model_file  # ruff: ignore[import-outside-top-level] - few models are local
    from ostinato.providers.local_runtime import check_file  # ruff: ignore[import-outside-top-level] - as above

    file = local_model_file(name, models_folder, home)
    if name.endswith(".gguf"):
        check_file(file)


def check_folders(options: Options) -> None:
    """Raises UsageError for `cwd` or one of `add_dirs` that is no folder."""
    named_folders(options, home_of(started_with(options)), None)


def _check_session(options: Options, root: Path | None, cwd: Path) -> None:
    if options.resume is not None or options.continue_session:
        from ostinato.journal.sessions import find_session, newest_session  # ruff: ignore[import-outside-top-level] - a new session looks for none

        if options.resume is not None:
            find_session(root, options.resume, cwd)
        else:
            newest_session(root, cwd)
    elif options.session_id is not None and root is not None and options.keep_session:
        path = session_file(root, cwd, options.session_id, is_real=True)
        if os.path.lexists(path):
            raise UsageError(
                f"there is a session `{options.session_id}` already",
                hint="go on with it by `--resume`, or give another `--session-id`",
            )
