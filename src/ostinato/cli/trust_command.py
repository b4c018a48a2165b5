"""`ostinato trust`: what a folder would do if it were trusted, and a yes or no to exactly that."""

import os
from pathlib import Path

import click

from ostinato.cli.exit_codes import DONE, FAILED
from ostinato.cli.folder import FolderType
from ostinato.cli.standard_streams import say, talk
from ostinato.cli.trust_question import record
from ostinato.cli.trust_text import changes_text, names_text, waiting_text
from ostinato.config.trust import NotKept, Untrusted, forget_trust, trusted_folders
from ostinato.engine.configuration import Configuration, read_configuration
from ostinato.engine.options import ALL_SETTING_SOURCES, Options
from ostinato.errors import ConfigurationError, UsageError
from ostinato.home_folder import expand_home, home_of
from ostinato.journal.places import data_root
from ostinato.visible_text import visible

_FOLDER = click.argument("folder", type=FolderType(), default=Path("."), required=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
def trust() -> None:
    """Folders whose settings, commands and servers may act."""


@trust.command("show")
@_FOLDER
def show_command(*, folder: Path) -> int:
    """What FOLDER (or this one) brings along, and whether it is trusted. Exit code 1: something waits."""
    configuration = _configuration(folder)
    say(_state_text(configuration))
    return FAILED if configuration.waiting() else DONE


@trust.command("add")
@_FOLDER
def add_command(*, folder: Path) -> int:
    """Say yes to what FOLDER brings along as it is now; a change takes the yes away."""
    configuration = _configuration(folder)
    before = _state_text(configuration)
    accepted = configuration.accepted()
    if not record(accepted):
        return FAILED
    say(before if not configuration.waiting() else f"{before}Trusted, as it is now.\n")
    return DONE


@trust.command("remove")
@_FOLDER
def remove_command(*, folder: Path) -> int:
    """Take the yes to FOLDER back."""
    places = _configuration(folder, must_exist=False).places
    kept = forget_trust(places.data_root, places.project_root)
    if isinstance(kept, NotKept):
        raise ConfigurationError(kept.reason, hint=kept.hint)
    say(f"{visible(str(places.project_root))}: not trusted\n")
    return DONE


@trust.command("list")
def list_command() -> int:
    """All folders somebody said yes to, whether or not they are still as they were then."""
    folders = trusted_folders(data_root(os.environ))
    if isinstance(folders, NotKept):
        raise ConfigurationError(folders.reason, hint=folders.hint)
    say(names_text(map(str, folders)) or "no folder is trusted\n")
    return DONE


def _configuration(folder: Path, *, must_exist: bool = True) -> Configuration:
    if must_exist and not os.path.isdir(expand_home(str(folder), home_of(os.environ))):
        raise UsageError(f"`{folder}` is not a folder", hint="name a folder that exists")
    return read_configuration(Options(cwd=folder, setting_sources=ALL_SETTING_SOURCES))


def _state_text(configuration: Configuration) -> str:
    root, found = configuration.places.project_root, configuration.found
    name = visible(str(root))
    if found is None or not found.things.digests:
        return f"{name}: brings nothing along that could act\n"
    if isinstance(found.state, Untrusted) and found.state.reason:
        talk(f"note: {visible(found.state.reason)}\n")
    if found.is_trusted:
        files = "".join(f"  {line}\n" for line in names_text(found.things.digests).splitlines())
        return f"{name}: trusted, with\n{files}"
    waiting = configuration.waiting()
    if not waiting:
        return f"{name}: not trusted, but nothing waits: its settings only forbid or ask\n"
    return f"{name}: not trusted\n{changes_text(found.state)}{waiting_text(waiting, found.things, root)}"
