"""ostinato: an open coding-agent engine. `async for event in ostinato.query("…")` runs an agent in this process.

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

import importlib
import sys

TYPE_CHECKING = False  # importing it from `typing` would double the time of `ostinato --version`
if TYPE_CHECKING:
    from types import ModuleType

    from ostinato.engine.assemble import open_engine, start_engine
    from ostinato.engine.options import Allow, Deny, Options, PermissionAsked
    from ostinato.engine.query import query, run
    from ostinato.engine.query_engine import QueryEngine
    from ostinato.engine.result import QueryResult
    from ostinato.errors import ModelError, OstinatoError
    from ostinato.events import Event, ModelCost, Result, Terminal
    from ostinato.providers.deadlines import Deadlines
    from ostinato.stop_hooks import AllowStop, BlockStop, PreventStop, StopFailed, StopHook, Stopping
    from ostinato.tool import Tool, ToolContext, ToolOutcome, build_tool
    from ostinato.tool_from_function import FunctionTool, tool
    from ostinato.tool_hooks import AfterTool, NoteForModel, StopContinuation, ToolRan
    from ostinato.version import VERSION as __version__
else:
    ModuleType = type(sys)

_HOMES = {
    "AfterTool": "tool_hooks",
    "Allow": "engine.options",
    "AllowStop": "stop_hooks",
    "BlockStop": "stop_hooks",
    "Deadlines": "providers.deadlines",
    "Deny": "engine.options",
    "Event": "events",
    "FunctionTool": "tool_from_function",
    "ModelCost": "events",
    "ModelError": "errors",
    "NoteForModel": "tool_hooks",
    "Options": "engine.options",
    "OstinatoError": "errors",
    "PermissionAsked": "engine.options",
    "PreventStop": "stop_hooks",
    "QueryEngine": "engine.query_engine",
    "QueryResult": "engine.result",
    "Result": "events",
    "StopContinuation": "tool_hooks",
    "StopFailed": "stop_hooks",
    "StopHook": "stop_hooks",
    "Stopping": "stop_hooks",
    "Terminal": "events",
    "Tool": "tool",
    "ToolContext": "tool",
    "ToolOutcome": "tool",
    "ToolRan": "tool_hooks",
    "build_tool": "tool",
    "open_engine": "engine.assemble",
    "query": "engine.query",
    "run": "engine.query",
    "start_engine": "engine.assemble",
    "tool": "tool_from_function",
}

__all__ = [
    "AfterTool",
    "Allow",
    "AllowStop",
    "BlockStop",
    "Deadlines",
    "Deny",
    "Event",
    "FunctionTool",
    "ModelCost",
    "ModelError",
    "NoteForModel",
    "Options",
    "OstinatoError",
    "PermissionAsked",
    "PreventStop",
    "QueryEngine",
    "QueryResult",
    "Result",
    "StopContinuation",
    "StopFailed",
    "StopHook",
    "Stopping",
    "Terminal",
    "Tool",
    "ToolContext",
    "ToolOutcome",
    "ToolRan",
    "__version__",
    "build_tool",
    "open_engine",
    "query",
    "run",
    "start_engine",
    "tool",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("ostinato.version").VERSION
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ostinato' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"ostinato.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `ostinato.tool` the decorator, though importing a module of that name would put the module in its place."""

    @property
    def tool(self) -> object:
        return __getattr__("tool")

    @tool.setter
    def tool(self, module: object) -> None:
        """`from ostinato.tool import …` finds the module without this."""


sys.modules[__name__].__class__ = _Package
