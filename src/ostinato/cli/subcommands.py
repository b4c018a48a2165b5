"""The subcommands by name. Each is a Click command in a file of its own that loads only when it is asked for, so that a
conversation starts as if there were none of them.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple

import click


class Subcommand(NamedTuple):
    """`place` is `module:attribute`; `summary` is the line in the help of `ostinato` itself."""

    place: str
    summary: str


SUBCOMMANDS: Final[Mapping[str, Subcommand]] = MappingProxyType({
    "permissions": Subcommand(
        "ostinato.cli.permissions_command:permissions",
        "what the rules say about a command, without running it",
    ),
    "config": Subcommand(
        "ostinato.cli.config_command:config", "settings: what counts, and where it comes from"
    ),
    "trust": Subcommand("ostinato.cli.trust_command:trust", "folders whose settings and commands may act"),
    "doctor": Subcommand(
        "ostinato.cli.doctor_command:doctor", "whether everything is well here, and what to do"
    ),
    "models": Subcommand(
        "ostinato.cli.models_command:models", "what `--model` can name, and what of it is ready"
    ),
    "local": Subcommand("ostinato.cli.local_command:local", "models that run on this machine"),
})


def load_subcommand(name: str) -> click.Command:
    """The command called `name`, which must be one of `SUBCOMMANDS`."""
    module, _, attribute = SUBCOMMANDS[name].place.partition(":")
    command: object = getattr(import_module(module), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"`{SUBCOMMANDS[name].place}` is no Click command")
    return command


def listing() -> str:
    """A line for each subcommand, for the help; `\\b` keeps Click from joining the lines."""
    width = max(map(len, SUBCOMMANDS))
    lines = [f"  {name:<{width}}  {entry.summary}" for name, entry in SUBCOMMANDS.items()]
    return "\n".join(("\b", "Subcommands:", *lines))
