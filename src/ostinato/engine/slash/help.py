"""`/help`: every command there is, what it does and where it comes from, and every command file that cannot be used."""

from collections.abc import Iterable, Sequence
from typing import Final

from anyio import to_thread

from ostinato.engine.slash.command_list import CommandEntry, command_entries
from ostinato.engine.slash.find_commands import FoundCommands, find_commands
from ostinato.engine.slash.near_names import did_you_mean, near_names
from ostinato.engine.slash.reply import SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shown_text import columns_of, padded, shown_line, shown_path

_DESCRIPTION_CHARACTERS: Final = 100
_NAME_COLUMNS: Final = 32
_MAX_PROBLEMS: Final = 20


async def answer_help(scene: SlashScene, arguments: str) -> SlashReply:
    found = await to_thread.run_sync(find_commands, scene.places)
    entries = command_entries(found)
    if not arguments:
        return SlashReply("".join((*_lines(entries), *_problems(found, scene))))
    wanted = arguments.removeprefix("/")
    entry = next((one for one in entries if one.name == wanted), None)
    if entry is not None:
        return SlashReply(
            f"/{entry.name} {entry.argument_hint}".rstrip() + f"\n{entry.description} ({entry.origin})\n"
        )
    near = did_you_mean(f"/{name}" for name in near_names(wanted, (one.name for one in entries)))
    return refusal(f"there is no command `/{shown_line(wanted, 40)}`", hint=near or "`/help` lists them")


def _lines(entries: Sequence[CommandEntry]) -> Iterable[str]:
    named = [(f"/{one.name} {one.argument_hint}".rstrip(), one) for one in entries]
    width = min(_NAME_COLUMNS, max(columns_of(name) for name, _ in named))
    for name, one in named:
        origin = "" if one.origin == "built in" else f" ({one.origin})"
        yield f"{padded(name, width)}  {shown_line(one.description, _DESCRIPTION_CHARACTERS)}{origin}\n"
    yield "\nA space before the slash sends the line to the model.\n"


def _problems(found: FoundCommands, scene: SlashScene) -> Iterable[str]:
    if found.problems:
        yield "\nleft out or worth a look\n"
    for problem in found.problems[:_MAX_PROBLEMS]:
        yield f"  {shown_path(problem.path, scene.places.home)}: {shown_line(problem.reason, 300)}\n"
    if len(found.problems) > _MAX_PROBLEMS:
        yield f"  and {len(found.problems) - _MAX_PROBLEMS} more\n"
