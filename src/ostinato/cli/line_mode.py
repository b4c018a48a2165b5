"""`ostinato` on a terminal: one conversation, prompt after prompt. The terminal is left as it was found, however this ends."""

import os
import time
from functools import partial
from pathlib import Path

import anyio
from msgspec.structs import replace

from ostinato.cli.dialogue import Dialogue
from ostinato.cli.editor import Editor
from ostinato.cli.editor_output import terminal_size
from ostinato.cli.exit_codes import DONE, FAILED
from ostinato.cli.flag_values import checked_values
from ostinato.cli.flags import Flags
from ostinato.cli.input_history import input_history
from ostinato.cli.line_completion import LineCompleter, NamedCommand
from ostinato.cli.line_signals import HEARD, LineSignals
from ostinato.cli.options import options_from
from ostinato.cli.path_listing import PathListing
from ostinato.cli.permission_question import PermissionQuestion
from ostinato.cli.plain_lines import PlainLines
from ostinato.cli.print_mode import has_colour
from ostinato.cli.prompt_input import legal_text
from ostinato.cli.prompt_line import PromptLine
from ostinato.cli.running_work import RunningWork
from ostinato.cli.screen import Screen
from ostinato.cli.signals import hearing
from ostinato.cli.standard_streams import talk
from ostinato.cli.terminal_modes import TerminalModes
from ostinato.cli.terminal_outbox import TerminalOutbox
from ostinato.cli.terminal_style import Painter
from ostinato.cli.transcript import Transcript
from ostinato.cli.trust_question import asked_for_trust
from ostinato.cli.user_question import UserQuestions
from ostinato.engine.assemble import open_engine
from ostinato.engine.configuration import given_configuration
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.engine.slash.command_list import list_commands
from ostinato.engine.slash.command_places import CommandPlaces
from ostinato.errors import UsageError
from ostinato.home_folder import expand_home, home_of
from ostinato.journal.places import data_root
from ostinato.journal.write import is_worth_keeping
from ostinato.version import VERSION
from ostinato.visible_text import one_line, visible


def converse(flags: Flags) -> int:
    """The exit code: 0 after a leave, 130 or 143 after a signal that ended it. Raises OstinatoError when it cannot begin."""
    if flags.output_format != "text":
        raise UsageError(
            "`--output-format` is for programs, and this is a conversation", hint="add `-p` and a prompt"
        )
    options = asked_for_trust(checked_values(options_from(flags)))
    first = legal_text(flags.prompt) if flags.prompt else ""
    real_cwd = Path(os.path.realpath(expand_home(str(options.cwd), home_of(os.environ))))
    with TerminalModes() as modes:
        return anyio.run(_with_signals, replace(options, cwd=real_cwd), first, modes, backend="asyncio")


async def _with_signals(options: Options, first: str, modes: TerminalModes) -> int:
    signals = LineSignals(modes.suspend)
    outbox = TerminalOutbox()
    try:
        return await hearing(signals, partial(_converse, options, first, modes, signals, outbox), HEARD)
    finally:
        outbox.close()


async def _converse(
    options: Options, first: str, modes: TerminalModes, signals: LineSignals, outbox: TerminalOutbox
) -> int:
    has_colours = has_colour(os.environ)
    paint = Painter(has_colour=has_colours)
    transcript = Transcript(
        has_colour=has_colours, monotonic_s=time.monotonic, columns=lambda: terminal_size().columns
    )
    work = RunningWork(transcript, paint, signals, modes, time.monotonic)
    listing, home = PathListing(work.workspace), home_of(os.environ)
    completer = LineCompleter(listing, partial(_commands, options), Path(options.cwd), home)
    line = _prompt_line(options, outbox, modes, work, completer, has_colours=has_colours)
    signals.stop_with(lambda: line.stop_for(modes.suspend))
    screen = Screen(outbox, line)
    asking = replace(
        options,
        shell_lines=True,
        can_use_tool=PermissionQuestion(screen, Path(options.cwd), home),
        ask_user=UserQuestions(screen),
        on_notice=partial(_notice, line, transcript),
        on_shell_output=work.shell_printed,
    )
    async with open_engine(asking) as engine:
        work.attach(engine, line)
        dialogue = Dialogue(engine, screen, line, transcript=transcript, work=work, signals=signals)
        is_whole = True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(outbox.run)
                tasks.start_soon(listing.run)
                line.print_above(_greeting(engine))
                is_whole = await dialogue.run(first)
                tasks.cancel_scope.cancel()
        finally:  # synchronous: it also holds when a signal cuts all of this short
            if is_whole and options.keep_session:
                _tell_how_to_go_on(engine, outbox, has_kept=dialogue.has_kept)
        if not is_whole:
            return FAILED
    return DONE if signals.cause is None else signals.exit_code


def _tell_how_to_go_on(engine: QueryEngine, outbox: TerminalOutbox, *, has_kept: bool) -> None:
    if has_kept or any(is_worth_keeping(record) for record in engine.history.log()):
        outbox.flush()
        talk(f"go on with `ostinato --resume {engine.session_id}`\n")


def _prompt_line(
    options: Options,
    outbox: TerminalOutbox,
    modes: TerminalModes,
    work: RunningWork,
    completer: LineCompleter,
    *,
    has_colours: bool,
) -> PromptLine:
    term = os.environ.get("TERM", "")
    if term in {"", "dumb"}:
        return PlainLines(outbox, modes, lambda: work.is_busy)
    root = data_root(os.environ) if options.keep_session else None
    return Editor(
        outbox,
        work,
        work.live_lines,
        history=partial(input_history, root),
        completer=completer,
        term=term,
        has_colour=has_colours,
    )


def _commands(options: Options) -> list[NamedCommand]:
    """What can be typed behind a slash. Blocking."""
    configuration = given_configuration(options)
    if configuration is None:
        return []
    places = configuration.places
    entries = list_commands(CommandPlaces(places.project_root, places.data_root, configuration.home))
    return [(entry.name, entry.description) for entry in entries]


def _notice(line: PromptLine, transcript: Transcript, sentence: str) -> None:
    line.print_above(transcript.note(f"note: {visible(sentence)}\n"))


def _greeting(engine: QueryEngine) -> str:
    setting = engine.setting
    notes = "".join(f"note: {visible(notice)}\n" for notice in setting.notices)
    return f"ostinato {VERSION} · {one_line(setting.model.id, 100)} · /help, Ctrl-D leaves\n{notes}"
