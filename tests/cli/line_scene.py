"""Scenes of line mode: keys, a desk, what was sent, and places from which a conversation can be left."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tests.cli.command import Desk, prompts_of
from tests.cli.pseudo_terminal import PseudoTerminal

from ostinato.testing import OnWire, Reply, StrictServer, WireTurn, call, say

CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
CTRL_R: Final = "\x12"
CTRL_Z: Final = "\x1a"
ENTER: Final = "\r"
ALT_ENTER: Final = "\x1b\r"
ESCAPE: Final = "\x1b"
UP: Final = "\x1b[A"

UNTIL_GO: Final = "touch started; while [ ! -e go ]; do read -t 0.01 < <(:); done; true"
"""A command that says when it runs and ends when it is told to."""

Place = Callable[[PseudoTerminal], None]


@contextmanager
def conversation(
    desk: Desk, *turns: WireTurn, flags: Sequence[str] = (), **terminal: Any
) -> Generator[tuple[PseudoTerminal, StrictServer], None, None]:
    """A conversation whose prompt waits, with a server that answers so. The server can be asked about it afterwards too."""
    with StrictServer(*turns) as server:
        desk.url = server.url
        with PseudoTerminal(desk, *flags, **terminal) as screen:
            screen.prompted()
            yield screen, server


def pasted(text: str) -> str:
    """As a terminal sends it."""
    return f"\x1b[200~{text}\x1b[201~"


def results_of(body: dict[str, Any]) -> list[str]:
    """The texts of the tool results in a request."""
    return [
        str(part["content"])
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result"
    ]


def last_prompt(server: StrictServer) -> str:
    return prompts_of(server.requests[-1].body)[-1]


def sent(server: StrictServer, number: int) -> str:
    """Everything in the request of this number, from 0, with quotes and line ends as JSON has them."""
    return str(server.requests[number].body)


def at_the_prompt(terminal: PseudoTerminal) -> None:
    terminal.prompted()


def in_a_query(terminal: PseudoTerminal) -> None:
    terminal.prompted()
    terminal.type("one" + ENTER)
    terminal.sees("a long")


def at_a_question(terminal: PseudoTerminal) -> None:
    terminal.prompted()
    terminal.type("one" + ENTER)
    terminal.sees("allow?")


PLACES: Final[tuple[Place, ...]] = (at_the_prompt, in_a_query, at_a_question)


def turn_for(place: Place) -> Reply | OnWire:
    """What the model does to bring a conversation there."""
    if place is at_a_question:
        return Reply(call("Bash", "t1", command="touch x"))
    return stuck()


def stuck() -> OnWire:
    """An answer that never comes to its end."""
    return OnWire(Reply(say("a long beginning of an answer")), stall_after_events=5)
