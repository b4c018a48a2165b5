"""Every command that would answer: for `/help`, for completion, and for clients that want the names."""

import msgspec

from ostinato.engine.slash.builtin import BUILTINS
from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.engine.slash.find_commands import FoundCommands, find_commands


class CommandEntry(msgspec.Struct, frozen=True):
    """One line of the list. `origin` is `built in`, `project` or `user`."""

    name: str
    description: str
    origin: str
    argument_hint: str = ""


def command_entries(found: FoundCommands) -> tuple[CommandEntry, ...]:
    """What may be typed, the built-in ones first; a file that lost its plain name is there under its qualified one."""
    entries = [CommandEntry(one.name, one.description, "built in", one.argument_hint) for one in BUILTINS]
    taken = {name for one in BUILTINS for name in (one.name, *one.aliases)}
    for command in found.commands:
        name = command.qualified_name if command.name.casefold() in taken else command.name
        taken.add(command.name.casefold())
        entries.append(CommandEntry(name, command.description, command.scope, command.argument_hint))
    return tuple(entries)


def list_commands(places: CommandPlaces) -> tuple[CommandEntry, ...]:
    """The commands of these places with their descriptions. Blocking."""
    return command_entries(find_commands(places))
