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
from ostinato.testing.golden import kind, kinds, log_lines, result, terminal, transitions, without_deltas
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
from ostinato.testing.strict_anthropic import anthropic_problems, find_anthropic_problems
from ostinato.testing.strict_openai import find_openai_problems, openai_problems
from ostinato.testing.strict_responses import find_responses_problems, responses_problems
from ostinato.testing.strict_server import ServedRequest, StrictServer
from ostinato.testing.tool_contexts import tool_context
from ostinato.testing.wire_rules import Problem, WireRules
from ostinato.testing.wire_turn import HttpError, OnWire, RawStream, WireTurn, heartbeats

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
    "HttpError",
    "ManualAbort",
    "MemoryFiles",
    "MemoryJournal",
    "OnWire",
    "Problem",
    "RawStream",
    "Reply",
    "RunLog",
    "ScriptExhausted",
    "ScriptedModel",
    "ScriptedPermissions",
    "ServedRequest",
    "Started",
    "StrictServer",
    "Turn",
    "WireRules",
    "WireTurn",
    "access_in_input",
    "answers",
    "anthropic_problems",
    "broken_call",
    "call",
    "call_with",
    "fake_tool",
    "find_anthropic_problems",
    "find_openai_problems",
    "find_responses_problems",
    "heartbeats",
    "kind",
    "kinds",
    "log_lines",
    "openai_problems",
    "played",
    "raises",
    "reports",
    "responses_problems",
    "result",
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
