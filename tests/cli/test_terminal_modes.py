"""The terminal while a conversation holds it: nothing typed is lost or acts by itself, and it is put back as it was."""

import os
import pty
import termios
from collections.abc import Generator

import pytest

from ostinato.cli.terminal_modes import TerminalModes

INTERRUPT, STOP = 0x03, 0x1A
"""They stay signals."""


@pytest.fixture
def sides() -> Generator[tuple[int, int], None, None]:
    own, its = pty.openpty()
    yield own, its
    os.close(own)
    os.close(its)


def test_every_byte_that_is_typed_where_nobody_reads_waits_as_it_was_typed(sides: tuple[int, int]):
    own, its = sides
    typed = bytes(one for one in range(256) if one not in {INTERRUPT, STOP})
    with TerminalModes(its):
        os.write(own, typed)
        assert os.read(its, 1_000) == typed


def test_nothing_of_it_is_echoed(sides: tuple[int, int]):
    own, its = sides
    with TerminalModes(its):
        os.write(own, b"secret")
        assert os.read(its, 100) == b"secret"
        os.write(its, b"shown")
        assert os.read(own, 100) == b"shown"


@pytest.mark.parametrize("is_cooked", [True, False])
def test_it_is_put_back_as_it_was_whatever_it_was(sides: tuple[int, int], is_cooked: bool):
    _, its = sides
    attributes = termios.tcgetattr(its)
    if not is_cooked:
        attributes[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(its, termios.TCSANOW, attributes)
    before = termios.tcgetattr(its)
    with TerminalModes(its) as modes, modes.line_editing(), modes.quiet():
        assert termios.tcgetattr(its) != before
    assert termios.tcgetattr(its) == before
