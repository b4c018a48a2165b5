"""The small teaching interface: a registry, a stream, a conversation, and a loop that only schedules them.

The parts are the engine's own (tools, models, normaliser, gate); what is left out is everything that makes a loop
dependable: journal, recovery, streaming execution, back-pressure. For real work use `ostinato.query()`.
"""

from ostinato.invariants import missing_tool_results
from ostinato.messages import count_tool_calls
from ostinato.simple.conversation import ConversationManager
from ostinato.simple.execution import Surroundings, execute_all_tools
from ostinato.simple.loop import LoopResult, Parts, agentic_loop
from ostinato.simple.registry import TOOL_REGISTRY, get_tool_schemas, to_anthropic_tools
from ostinato.simple.stream import stream_query
from ostinato.tool import Tool, build_tool

__all__ = [
    "TOOL_REGISTRY",
    "ConversationManager",
    "LoopResult",
    "Parts",
    "Surroundings",
    "Tool",
    "agentic_loop",
    "build_tool",
    "count_tool_calls",
    "execute_all_tools",
    "get_tool_schemas",
    "missing_tool_results",
    "stream_query",
    "to_anthropic_tools",
]
