"""The person's own command while it runs: the end of its output, bounded, and nothing in it with any power."""

from hypothesis import given
from hypothesis import strategies as st
from tests.cli.terminal_screen import TerminalScreen

from ostinato.cli.running_shell import MAX_KEPT_LINES, RunningShell
from ostinato.cli.terminal_style import Painter

PIECES = st.sampled_from([
    "\x1b",
    "[2J",
    "\x1b]0;t\x07",
    "\x9b31m",
    "\r",
    "\x08",
    "\n",
    "word ",
    "中文",
    "\t",
    "x" * 90,
    "\u202e",
])


def shell(now_s: float = 0.0) -> RunningShell:
    return RunningShell(Painter(has_colour=False), lambda: now_s)


def test_nothing_runs_nothing_is_shown():
    assert (shell().live_lines(80, 10), shell().over(), shell().is_running) == ([], "", False)


def test_the_end_of_what_it_printed_stands_below_the_command():
    running = shell()
    for printed in ("", "one\nt", "wo\n10 %\r20 %\r\nfour"):
        running.take("make -j", printed)
    assert running.live_lines(80, 10) == ["● !make -j 0 s", "  │ one", "  │ two", "  │ 20 %", "  │ four"]
    assert running.live_lines(80, 3) == ["● !make -j 0 s", "  │ 20 %", "  │ four"]
    assert running.live_lines(80, 1) == ["● !make -j 0 s"]


def test_one_that_was_stopped_leaves_its_end_and_the_next_begins_anew():
    running = shell()
    running.take("one", "first\n")
    assert running.over() == "● !one: stopped\n  │ first\n"
    running.take("two", "")
    assert running.live_lines(80, 10) == ["● !two 0 s"]


def test_a_flood_is_kept_to_its_end():
    running = shell()
    for number in range(1_000):
        running.take("yes", f"{number}\n" * 100 + "y" * 5_000)
    shown = running.over()
    assert shown.count("\n") <= 22
    assert len(shown) < MAX_KEPT_LINES * 1_100


@given(st.lists(PIECES, max_size=40), st.integers(1, 100), st.integers(1, 12))
def test_whatever_it_prints_it_takes_its_room_and_has_no_power(printed: list[str], columns: int, rows: int):
    running = shell()
    for piece in printed:
        running.take("a\x1b[2J", piece)
    running.take("a\x1b[2J", "")
    screen = TerminalScreen(max(columns, 8), 50)
    lines = running.live_lines(max(columns, 8), rows)
    screen.feed("\n".join(lines).replace("\n", "\r\n"))
    assert len(lines) <= rows
    assert len(screen.bottom.split("\n")) == len(lines)
    screen.feed(running.over().replace("\n", "\r\n"))
