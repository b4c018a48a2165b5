"""`ostinato` on a terminal: one conversation, prompt after prompt. The terminal is left as it was found, however this ends."""

import os
import sys
import time
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio
from msgspec.structs import replace

from ostinato.cli.error_text import error_text
from ostinato.cli.exit_codes import DONE, FAILED
from ostinato.cli.flags import Flags
from ostinato.cli.input_history import input_history
from ostinato.cli.line_input import PROMPT, Gesture, LineInput
from ostinato.cli.line_signals import HEARD, LineSignals
from ostinato.cli.live import LiveView
from ostinato.cli.options import options_from
from ostinato.cli.output import Output, OutputClosed
from ostinato.cli.permission_question import PermissionQuestion
from ostinato.cli.print_mode import has_colour
from ostinato.cli.prompt_input import legal_text
from ostinato.cli.screen import Screen
from ostinato.cli.signals import hearing
from ostinato.cli.slash_commands import slash_reply
from ostinato.cli.standard_streams import talk
from ostinato.cli.terminal_modes import TerminalModes
from ostinato.cli.terminal_text import one_line, terminal_text, visible
from ostinato.cli.trust_question import asked_for_trust
from ostinato.cli.typed_answer import TypedAnswer
from ostinato.engine.assemble import open_engine
from ostinato.engine.options import Options
from ostinato.engine.query_engine import QueryEngine
from ostinato.errors import OstinatoError, UsageError
from ostinato.events import AssistantEvent, Event, Terminal
from ostinato.journal.places import data_root
from ostinato.messages import NO_USAGE, Usage
from ostinato.version import VERSION

HOW_TO_LEAVE = "(Ctrl-C again or Ctrl-D leaves)\n"


def converse(flags: Flags) -> int:
    """The exit code: 0 after a leave, 130 or 143 after a signal that ended it. Raises OstinatoError when it cannot begin."""
    if flags.output_format != "text":
        raise UsageError(
            "`--output-format` is for programs, and this is a conversation", hint="add `-p` and a prompt"
        )
    options = asked_for_trust(options_from(flags))
    first = legal_text(flags.prompt) if flags.prompt else ""
    real_cwd = Path(os.path.realpath(options.cwd.expanduser()))
    try:
        with TerminalModes() as modes:
            return anyio.run(_with_signals, replace(options, cwd=real_cwd), first, modes, backend="asyncio")
    finally:
        _drop_what_nobody_reads()


def _drop_what_nobody_reads() -> None:
    """The editor writes through `sys.stdout`; when the terminal went away, the interpreter must not try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None


async def _with_signals(options: Options, first: str, modes: TerminalModes) -> int:
    signals = LineSignals(modes.suspend)
    return await hearing(signals, partial(_converse, options, first, modes, signals), HEARD)


async def _converse(options: Options, first: str, modes: TerminalModes, signals: LineSignals) -> int:
    screen, answers = Screen(Output()), TypedAnswer(modes)
    question = PermissionQuestion(screen, answers, options.cwd)
    async with open_engine(replace(options, can_use_tool=question)) as engine:
        root = data_root(os.environ) if options.keep_session else None
        reader = LineInput(modes, input_history(root))
        dialogue = Dialogue(engine, screen, reader, answers, signals)
        try:
            await dialogue.run(first)
        except OutputClosed:
            return FAILED
        if options.keep_session and len(engine.history):
            talk(f"go on with `ostinato --resume {engine.session_id}`\n")
    return DONE if signals.cause is None else signals.exit_code


class Dialogue:
    """The prompts of one open conversation and what becomes of them."""

    def __init__(
        self,
        engine: QueryEngine,
        screen: Screen,
        reader: LineInput,
        answers: TypedAnswer,
        signals: LineSignals,
    ) -> None:
        self._engine = engine
        self._screen = screen
        self._reader = reader
        self._answers = answers
        self._signals = signals
        self._usage: Usage = NO_USAGE

    async def run(self, first: str) -> None:
        """Until the person leaves or a signal ends it. Raises OutputClosed."""
        setting = self._engine.setting
        await self._screen.say(
            f"ostinato {VERSION} · {one_line(setting.model.id, 100)} · /help, Ctrl-D leaves\n"
        )
        for notice in setting.notices:
            talk(f"note: {notice}\n")
        if first.strip():
            await self._screen.say(f"{PROMPT}{terminal_text(first)}\n")
            await self._query(first)
        was_interrupted = False
        while self._signals.cause is None:
            line = await self._next_line()
            match line:
                case Gesture.END:
                    return
                case Gesture.INTERRUPT if was_interrupted:
                    return
                case Gesture.INTERRUPT:
                    was_interrupted = True
                    await self._screen.say(HOW_TO_LEAVE)
                case _:
                    was_interrupted = False
                    if not await self._take(line):
                        return

    async def _next_line(self) -> str | Gesture:
        with self._signals.at_prompt(self._reader.leave):
            return await self._reader.read(self._answers.take_aside())

    async def _take(self, line: str) -> bool:
        """Do what the line says; False when it says to leave."""
        if not line.strip():
            return True
        reply = slash_reply(line, self._engine.setting, self._usage)
        if reply is None:
            await self._query(line)
            return True
        await self._screen.say(reply.text)
        return not reply.is_leaving

    async def _query(self, prompt: str) -> None:
        """One query, shown; what it cannot do is told, and the conversation stays."""
        view = LiveView(has_colour=has_colour(os.environ), monotonic_s=time.monotonic)
        try:
            with self._signals.in_query(self._engine.interrupt):
                async with aclosing(self._engine.submit_message(prompt)) as events:
                    async for event in events:
                        await self._screen.show(view.show(event))
                        self._note(event)
        except OstinatoError as error:
            talk(error_text(visible(error.message), visible(error.hint)))

    def _note(self, event: Event) -> None:
        """What the rest of the conversation needs of an event that was shown."""
        match event:
            case AssistantEvent(message):
                self._screen.has_shown(call.id for call in message.tool_uses)
            case Terminal():
                self._usage = self._usage.plus(event.usage)
            case _:
                pass
