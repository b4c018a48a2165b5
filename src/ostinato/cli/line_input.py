"""The prompt of line mode: an editable line or several, with history and bracketed paste; what was typed early comes first.

Enter sends; Alt-Enter and a backslash before Enter start a new line; Ctrl-C on a line puts it into the history instead.
"""

import contextlib
import os
import sys
from enum import Enum, auto
from typing import Final

from prompt_toolkit.application.run_in_terminal import run_in_terminal
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.shortcuts import PromptSession

from ostinato.cli.terminal_modes import TerminalModes

PROMPT: Final = "> "


class Gesture(Enum):
    """What a person may do at the prompt besides sending a line."""

    INTERRUPT = auto()
    """Ctrl-C on an empty line."""
    END = auto()
    """Ctrl-D on an empty line, or the terminal is gone."""


class _Interrupted(Exception):
    """Ctrl-C on an empty line, on its way out of the editor."""


class LineInput:
    """One prompt after the other on this process's terminal."""

    def __init__(self, modes: TerminalModes, history: History) -> None:
        self._session: PromptSession[str] = PromptSession(
            message=PROMPT,
            multiline=True,
            history=history,
            key_bindings=_keys(modes),
            prompt_continuation="  ",
            output=_output(),
        )

    async def read(self, typed_early: str = "") -> str | Gesture:
        """The next line or lines; `typed_early` is played first as if it were typed now."""
        self._play(typed_early)
        try:
            return await self._session.prompt_async(set_exception_handler=False, handle_sigint=False)
        except (_Interrupted, KeyboardInterrupt):
            return Gesture.INTERRUPT
        except (EOFError, OSError):
            return Gesture.END

    def leave(self) -> None:
        """Make a running `read` return `Gesture.END`."""
        with contextlib.suppress(Exception):  # ended by itself in the same moment
            self._session.app.exit(exception=EOFError())

    def _play(self, typed_early: str) -> None:
        if not typed_early:
            return
        keys: list[KeyPress] = []
        parser = Vt100Parser(keys.append)
        parser.feed(typed_early)
        parser.flush()
        store_typeahead(self._session.input, keys)


def _output() -> Output | None:
    """None leaves a terminal without abilities to the editor's own plain prompt."""
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return None
    output = create_output(stdout=sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False  # the terminal's answer could come late, as if it had been typed
    return output


def _keys(modes: TerminalModes) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        document = buffer.document
        if document.is_cursor_at_the_end_of_line and document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        if not event.current_buffer.text:
            event.app.exit(exception=_Interrupted())
        else:
            event.current_buffer.reset(append_to_history=True)

    @keys.add("c-z")
    def suspend(_event: KeyPressEvent) -> None:
        run_in_terminal(lambda: modes.suspend(whole_group=True))

    return keys
