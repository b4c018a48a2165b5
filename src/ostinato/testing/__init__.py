"""Public doubles for tests: a scripted model, a strict server, virtual time, and stand-ins for every port of the loop."""

from ostinato.testing.counting_ids import CountingIds
from ostinato.testing.fake_clock import FakeClock
from ostinato.testing.gate import Gate
from ostinato.testing.script import (
    SCRIPTED_USAGE,
    Cut,
    Fails,
    Reply,
    Turn,
    broken_call,
    call,
    call_with,
    say,
    stream_cut,
    think,
    think_hidden,
)
from ostinato.testing.scripted_model import SCRIPTED_FACTS, ScriptedModel, ScriptExhausted

__all__ = [
    "SCRIPTED_FACTS",
    "SCRIPTED_USAGE",
    "CountingIds",
    "Cut",
    "Fails",
    "FakeClock",
    "Gate",
    "Reply",
    "ScriptExhausted",
    "ScriptedModel",
    "Turn",
    "broken_call",
    "call",
    "call_with",
    "say",
    "stream_cut",
    "think",
    "think_hidden",
]
