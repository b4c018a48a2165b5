"""Public doubles for tests: a scripted model, a strict server, virtual time, and stand-ins for every port of the loop."""

from ostinato.testing.counting_ids import CountingIds
from ostinato.testing.fake_clock import FakeClock
from ostinato.testing.fake_tool import (
    access_in_input,
    answers,
    fake_tool,
    raises,
    reports,
    survives_cancellation,
    swallows_cancellation,
    waits_at,
)
from ostinato.testing.fake_workspace import FakeWorkspace, played
from ostinato.testing.gate import Gate
from ostinato.testing.golden import kind, kinds, terminal, transitions, without_deltas
from ostinato.testing.manual_abort import ManualAbort
from ostinato.testing.memory_files import MemoryFiles
from ostinato.testing.memory_journal import MemoryJournal
from ostinato.testing.run_log import Finished, RunLog, Started
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
from ostinato.testing.scripted_permissions import (
    ALLOWED,
    DENIED,
    AllowAll,
    AnswersAt,
    DenyAll,
    ScriptedPermissions,
)
from ostinato.testing.tool_contexts import tool_context

__all__ = [
    "ALLOWED",
    "DENIED",
    "SCRIPTED_FACTS",
    "SCRIPTED_USAGE",
    "AllowAll",
    "AnswersAt",
    "CountingIds",
    "Cut",
    "DenyAll",
    "Fails",
    "FakeClock",
    "FakeWorkspace",
    "Finished",
    "Gate",
    "ManualAbort",
    "MemoryFiles",
    "MemoryJournal",
    "Reply",
    "RunLog",
    "ScriptExhausted",
    "ScriptedModel",
    "ScriptedPermissions",
    "Started",
    "Turn",
    "access_in_input",
    "answers",
    "broken_call",
    "call",
    "call_with",
    "fake_tool",
    "kind",
    "kinds",
    "played",
    "raises",
    "reports",
    "say",
    "stream_cut",
    "survives_cancellation",
    "swallows_cancellation",
    "terminal",
    "think",
    "think_hidden",
    "tool_context",
    "transitions",
    "waits_at",
    "without_deltas",
]
