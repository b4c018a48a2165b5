"""Readings of a run say what happened, not how often the text was cut."""

import pytest

from ostinato.events import Event, RequestStart, StreamEvent, Terminal, TextDelta, ToolOutput
from ostinato.records import Continued
from ostinato.testing import kinds, terminal, transitions, without_deltas

END = Terminal("completed", 2, (Continued("next_turn", 2), Continued("empty_response_retry", 2)))
RUN: list[Event] = [
    RequestStart("m", 1),
    StreamEvent(TextDelta(0, "a")),
    StreamEvent(TextDelta(0, "b")),
    ToolOutput("t1", "Bash", "x"),
    RequestStart("m", 2),
    RequestStart("m", 2),
    END,
]


def test_stream_events_in_a_row_count_once_and_all_others_each() -> None:
    assert kinds(RUN) == ("request_start", "stream_event", "request_start", "request_start", "terminal")
    assert "tool_output" in kinds(RUN, with_progress=True)
    assert len(without_deltas(RUN)) == 5


def test_the_terminal_is_last_and_alone() -> None:
    assert terminal(RUN) is END
    assert transitions(END) == ("next_turn", "empty_response_retry")
    for broken in (RUN[:-1], [END, *RUN], []):
        with pytest.raises(AssertionError):
            terminal(broken)
