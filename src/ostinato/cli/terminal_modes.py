"""The modes of the terminal while a conversation holds it, in one owner: whatever ends or stops the program, they are put back.

Where the editor does not read, nothing typed is shown or lost: it waits in the terminal. Ctrl-C and Ctrl-Z stay signals then.
"""

import contextlib
import os
import signal
import termios
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

_INPUT_FLAGS: Final = 0
_LOCAL_FLAGS: Final = 3
_CONTROL_CHARACTERS: Final = 6

_NO_CHARACTER: Final = b"\0"

_Attributes = list[Any]


class TerminalModes:
    """`with TerminalModes() as modes:` holds the terminal quiet until the block is left."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._before: _Attributes = termios.tcgetattr(descriptor)

    def __enter__(self) -> Self:
        self._set(self._quiet())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._set(self._before)

    @contextmanager
    def line_editing(self) -> Generator[None, None, None]:
        """The terminal shows what is typed and hands over whole lines."""
        self._set(self._lines())
        try:
            yield
        finally:
            self._set(self._quiet())

    def suspend(self, *, whole_group: bool = False) -> None:
        """Stop the program as Ctrl-Z does, with the terminal as it was before; returns when it is continued.

        `whole_group` also stops those who were started with it, which the terminal does itself when it makes the signal.
        """
        held = self._now()
        self._set(self._before)
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0 if whole_group else os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self._set(held)

    def suspend_all(self) -> None:
        """The same for everybody who was started together with this program: Ctrl-Z came as a key."""
        self.suspend(whole_group=True)

    @contextmanager
    def quiet(self) -> Generator[None, None, None]:
        """For a moment within `line_editing`: even half a line can be read."""
        self._set(self._quiet())
        try:
            yield
        finally:
            self._set(self._lines())

    def _now(self) -> _Attributes:
        """As the editor may have set them."""
        try:
            return termios.tcgetattr(self._descriptor)
        except termios.error:  # the terminal is gone
            return self._before

    def _set(self, attributes: _Attributes) -> None:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._descriptor, termios.TCSANOW, attributes)

    def _quiet(self) -> _Attributes:
        """What is typed waits byte by byte, as the prompt wants it; Ctrl-C does not throw it away."""
        return self._changed(
            local_on=termios.ISIG | termios.NOFLSH,
            local_off=termios.ICANON | termios.ECHO | termios.IEXTEN,
            input_off=termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP | termios.IXON,
        )

    def _lines(self) -> _Attributes:
        return self._changed(local_on=termios.ISIG | termios.ICANON | termios.ECHO, input_on=termios.ICRNL)

    def _changed(
        self, *, local_on: int = 0, local_off: int = 0, input_on: int = 0, input_off: int = 0
    ) -> _Attributes:
        attributes = list(self._before)
        attributes[_INPUT_FLAGS] = attributes[_INPUT_FLAGS] & ~input_off | input_on
        attributes[_LOCAL_FLAGS] = attributes[_LOCAL_FLAGS] & ~local_off | local_on
        if local_off & termios.ICANON:
            characters = list(attributes[_CONTROL_CHARACTERS])
            characters[termios.VMIN], characters[termios.VTIME] = 1, 0
            # Ctrl-\ would end the program and leave the terminal like this.
            characters[termios.VQUIT] = _NO_CHARACTER
            attributes[_CONTROL_CHARACTERS] = characters
        return attributes
