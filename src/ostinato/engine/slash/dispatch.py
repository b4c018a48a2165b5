"""The one way from a typed line to what becomes of it, the same for a terminal, a headless run and a library."""

from collections.abc import Callable
from typing import Final

from anyio import to_thread

from ostinato.engine.slash.builtin import builtin_named
from ostinato.engine.slash.command_line import CommandLine, read_command_line
from ostinato.engine.slash.command_list import command_entries
from ostinato.engine.slash.expand import expand
from ostinato.engine.slash.find_commands import FoundCommands, find_commands
from ostinato.engine.slash.near_names import did_you_mean, near_names
from ostinato.engine.slash.registry import ANSWERS
from ostinato.engine.slash.reply import NotACommand, SlashOutcome, SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import shown_line
from ostinato.errors import OstinatoError

_ERROR_CHARACTERS: Final = 2_000


async def dispatch(prompt: str, scene: Callable[[], SlashScene]) -> SlashOutcome:
    """Built-in commands win over files. Nothing goes to a model from here, and what is wrong is a reply, not an error."""
    line = read_command_line(prompt)
    if line is None:
        return NotACommand()
    try:
        return await _answered(line, scene())
    except OstinatoError as error:
        # what was typed may stand in it
        return refusal(
            shown_line(error.message, _ERROR_CHARACTERS), hint=shown_line(error.hint, _ERROR_CHARACTERS)
        )


async def _answered(line: CommandLine, scene: SlashScene) -> SlashOutcome:
    builtin = builtin_named(line.name)
    if builtin is not None:
        if line.arguments and not builtin.argument_hint:
            return refusal(f"`/{builtin.name}` takes no arguments; nothing was done")
        return await ANSWERS[builtin.name](scene, line.arguments)
    found = await to_thread.run_sync(find_commands, scene.places)
    command = found.named(line.name)
    if command is not None:
        return await expand(command, line.arguments, scene)
    return _unknown(line.name, found)


def _unknown(name: str, found: FoundCommands) -> SlashReply:
    known = [entry.name for entry in command_entries(found)]
    near = did_you_mean(f"/{one}" for one in near_names(name, known))
    hint = f"{near or '`/help` lists them;'} a space before the slash sends the line to the model"
    return refusal(f"there is no command `/{shown_line(name, 40)}`, and nothing was sent", hint=hint)
