"""Which tools a conversation has, and which of them its requests hold.

A tool that is denied whole is not there; a small model has only its subset; what could do nothing but say so is not sent; and
where the caller's own tools are many, they are known by name only.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ostinato.deferred_tools import NOTHING_DEFERRED, SEARCH_TOOL, DeferredTools, FoundTools, deferred
from ostinato.engine.gate import is_read_only_shell
from ostinato.engine.moved_commands import moving
from ostinato.engine.options import Options
from ostinato.hideable_rounds import TOOL_NAME as SNIP_TOOL
from ostinato.permissions.rules import Rule
from ostinato.ports import ModelFacts
from ostinato.tool import Tool, find_tool
from ostinato.tools.builtin import OF_BACKGROUND, builtin_tools
from ostinato.tools.equipment import Equipment

BUILTIN_NAMES: Final = frozenset({
    SEARCH_TOOL,
    SNIP_TOOL,
    *(
        tool.name
        for tool in builtin_tools(is_read_only_command=lambda _command: False, equipment=Equipment())
    ),
})
"""What a rule or the gate may believe about a tool, it may only of these."""


class Offered(msgspec.Struct, frozen=True):
    """All `tools` can be called; a request holds what `deferred` leaves of them."""

    tools: tuple[Tool, ...]
    deferred: DeferredTools = NOTHING_DEFERRED


def offered_tools(
    options: Options, rules: tuple[Rule, ...], facts: ModelFacts, equipment: Equipment, found: FoundTools
) -> Offered:
    """The built-in ones in their order, then the caller's. Raises UsageError that names each of the caller's that no provider would
    take.
    """
    hidden = {rule.tool for rule in rules if rule.behaviour == "deny" and rule.spec is None}
    first, extra = _brought(options, _first(options, facts, equipment, frozenset(hidden)))
    tools = (*first, *extra)
    if "Bash" in hidden or (options.tools is None and find_tool(first, "Bash") is None):
        hidden |= OF_BACKGROUND
    shown = tuple(tool for tool in tools if hidden.isdisjoint({tool.name, *tool.aliases}))
    off = equipment.switched_off if options.tools is None else frozenset[str]()
    # What a small model is offered is chosen for it; one that is to search would never find anything.
    later = () if facts.tool_names or SEARCH_TOOL in hidden else _later(shown, extra, facts)
    return _with_search(shown, later, found, off, context_window=facts.context_window)


def _brought(options: Options, first: Sequence[Tool]) -> tuple[Sequence[Tool], Sequence[Tool]]:
    """The first and the caller's further ones, as they can be sent."""
    given = len(options.tools or ())
    if not given and not options.extra_tools:
        return first, ()
    from ostinato.tool_admission import admitted  # ruff: ignore[import-outside-top-level] - only for tools that a caller brings

    if options.tools is None:
        return first, admitted(options.extra_tools, [tool.name for tool in first])
    fit = admitted((*options.tools, *options.extra_tools))
    return fit[:given], fit[given:]


def _first(
    options: Options, facts: ModelFacts, equipment: Equipment, hidden: frozenset[str]
) -> Sequence[Tool]:
    if options.tools is not None:
        return options.tools
    offered = builtin_tools(
        is_read_only_command=is_read_only_shell,
        equipment=equipment,
        may_move=moving(options, facts, hidden),
    )
    return [tool for tool in offered if tool.name in facts.tool_names] if facts.tool_names else offered


def _later(shown: Sequence[Tool], extra: Sequence[Tool], facts: ModelFacts) -> tuple[Tool, ...]:
    if not extra or find_tool(shown, SEARCH_TOOL) is not None:
        return ()
    given = {id(one) for one in extra}
    own = [tool for tool in shown if id(tool) in given]
    return deferred(own, context_window=facts.context_window)


def _with_search(
    shown: tuple[Tool, ...],
    later: tuple[Tool, ...],
    found: FoundTools,
    off: frozenset[str],
    *,
    context_window: int,
) -> Offered:
    if not later:
        return Offered(shown, DeferredTools(found, switched_off=off) if off else NOTHING_DEFERRED)
    from ostinato.tools.tool_search import tool_search_tool  # ruff: ignore[import-outside-top-level] - only where tools are many

    names = frozenset(tool.name for tool in later)
    first = [tool for tool in shown if tool.name not in names]
    search = tool_search_tool(later, found, max_tokens=context_window // 2)
    return Offered((*first, search, *later), DeferredTools(found, names, off))
