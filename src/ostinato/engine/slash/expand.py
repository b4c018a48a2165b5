"""A command file and its arguments become the prompt: places filled, shell lines run, rights given.

What a project's file would run or allow counts only where a person trusted this very file. If a shell line may not run,
nothing is sent: a prompt with a hole in it is not what was asked for.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from ostinato.config.source import Sourced
from ostinato.config.trust import Trusted
from ostinato.engine.slash.arguments import Arguments, Unsafe, in_shell, in_text, read_arguments
from ostinato.engine.slash.command_file import CommandFile
from ostinato.engine.slash.reply import Expanded, SlashReply, refusal
from ostinato.engine.slash.scene import SlashScene
from ostinato.engine.slash.shell_lines import (
    MAX_LINES,
    MAX_TOTAL_CHARACTERS,
    NotRun,
    run_shell_line,
)
from ostinato.engine.slash.shown_text import shown_line, shown_path
from ostinato.engine.slash.template import Part, Place, Plain, ShellLine, read_template, takes_arguments
from ostinato.errors import ConfigurationError

MAX_PROMPT_CHARACTERS: Final = 1_000_000
OFF_KEY: Final = "disableSkillShellExecution"
_SHOWN_LINE_CHARACTERS: Final = 200


async def expand(command: CommandFile, raw_arguments: str, scene: SlashScene) -> Expanded | SlashReply:
    """The prompt, or why there is none; then nothing was sent. Raises ConfigurationError for a model that there is not."""
    parts, arguments = read_template(command.body), read_arguments(raw_arguments)
    lines = [part for part in parts if isinstance(part, ShellLine)]
    has_rights = has_rights_of_its_own(command, scene)
    refused = _refused(command, len(lines), scene, has_rights=has_rights)
    if refused is not None:
        return refused
    if has_rights and command.model is not None:
        _check_model(command, command.model)
    outputs = list[str]()
    for line in lines:
        output = await _output(command, line, arguments, scene)
        if isinstance(output, SlashReply):
            return output
        outputs.append(_cut(output, MAX_TOTAL_CHARACTERS - sum(map(len, outputs))))
    prompt = _filled(parts, arguments, outputs)
    return _expanded(command, prompt, _filled(parts, arguments, [""] * len(lines)), has_rights=has_rights)


def _refused(command: CommandFile, count: int, scene: SlashScene, *, has_rights: bool) -> SlashReply | None:
    """Why the shell lines may not run, if there are any."""
    if count and not has_rights:
        return _untrusted(command, count)
    if count and _are_shell_lines_off(scene):
        return refusal(
            f"`/{command.name}` has shell lines, and the settings turn them off (`{OFF_KEY}`); nothing was run or sent",
            hint="`/config` says which file does",
        )
    if count > MAX_LINES:
        return refusal(f"`/{command.name}` has {count} shell lines; at most {MAX_LINES} are run")
    return None


def _filled(parts: Sequence[Part], arguments: Arguments, outputs: Sequence[str]) -> str:
    """The text with the arguments and, in order, the outputs of the shell lines in it."""
    waiting, texts = iter(outputs), list[str]()
    for part in parts:
        match part:
            case Plain(text):
                texts.append(text)
            case Place():
                texts.append(in_text(part, arguments))
            case ShellLine():
                texts.append(next(waiting))
            case _:
                assert_never(part)
    if arguments.raw and not takes_arguments(parts):
        texts.append(f"\n\nARGUMENTS: {arguments.raw}")
    return "".join(texts)


def has_rights_of_its_own(command: CommandFile, scene: SlashScene) -> bool:
    """Whether its shell lines, allowed tools and model count: the user's own do, a project's only as it was trusted."""
    if command.scope == "user":
        return True
    if not isinstance(scene.trust, Trusted):
        return False
    # Of the bytes that were read, so that no later look at the file can be another one.
    return scene.trust.things.has_content(command.thing, command.digest)


def _are_shell_lines_off(scene: SlashScene) -> bool:
    if scene.settings is None:
        return False
    value = scene.settings.effective.settings.others.get(OFF_KEY)
    return isinstance(value, Sourced) and value.value is True


async def _output(
    command: CommandFile, line: ShellLine, arguments: Arguments, scene: SlashScene
) -> str | SlashReply:
    text = in_shell(line.parts, arguments)
    if isinstance(text, Unsafe):
        shown = shown_line(text.argument, _SHOWN_LINE_CHARACTERS)
        return refusal(
            f"the argument `{shown}` cannot be put safely into a shell line of `/{command.name}`; nothing was run or sent",
            hint="leave out quotes, `$`, `;` and the like",
        )
    ran = await run_shell_line(text, command.rules, scene)
    if isinstance(ran, NotRun):
        shown = shown_line(text, _SHOWN_LINE_CHARACTERS)
        return refusal(
            f"`/{command.name}` was not sent, for its shell line `{shown}` did not run: {shown_line(ran.reason, 500)}",
            hint=ran.hint,
        )
    return ran.text


def _check_model(command: CommandFile, name: str) -> None:
    """Before anything is run for it."""
    from ostinato.providers.catalogue import full_name  # ruff: ignore[import-outside-top-level] - only such commands need it

    try:
        full_name(name)
    except ConfigurationError as error:
        what = f"`/{command.name}` was not sent, for its model cannot be: {error.message}"
        raise ConfigurationError(what, hint=error.hint) from error


def _untrusted(command: CommandFile, count: int) -> SlashReply:
    lines = "a shell line" if count == 1 else f"{count} shell lines"
    return refusal(
        f"`/{command.name}` would run {lines} of this project, and the project, or this file as it is now, is not trusted; "
        "nothing was run or sent",
        hint=f"read `{shown_path(command.path)}`, trust the folder with `ostinato trust add`, and start anew; "
        "a program also names `project` in `setting_sources`",
    )


def _expanded(command: CommandFile, prompt: str, written: str, *, has_rights: bool) -> Expanded | SlashReply:
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        return refusal(
            f"`/{command.name}` makes a prompt of {len(prompt):,} characters; at most {MAX_PROMPT_CHARACTERS:,} are sent"
        )
    if not prompt.strip():
        return refusal(f"`/{command.name}` makes an empty prompt")
    if has_rights:
        return Expanded(prompt, command.rules, command.model, written)
    notices = (
        (
            f"what `/{command.name}` allows, and its model, do not count: this project, or the file as it is now, "
            "is not trusted",
        )
        if command.rules or command.model
        else ()
    )
    return Expanded(prompt, mentioned_in=written, notices=notices)


def _cut(output: str, left_characters: int) -> str:
    if len(output) <= left_characters:
        return output
    return f"{output[: max(0, left_characters)]}\n[cut: the shell lines of one command give at most {MAX_TOTAL_CHARACTERS} characters]"
