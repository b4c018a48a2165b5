"""Which tools a conversation has, and which of them its requests hold.

A tool that is denied whole is not there; a small model has only its subset; what could do nothing but say so is not sent; and
where the caller's own tools are many, they are known by name only.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from ostinato.deferred_tools import NOTHING_DEFERRED, SEARCH_TOOL, DeferredTools, FoundTools, deferred
from ostinato.engine.call_facts import is_read_only_shell
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


def with_admitted_tools(options: Options, rules: tuple[Rule, ...], facts: ModelFacts) -> Options:
    """The options with the caller's tools as they can be sent: their schemas are looked at here, once for a conversation. Raises
    UsageError that names each that no provider would take, before anything is opened.
    """
    given = len(options.tools or ())
    if not given and not options.extra_tools:
        return options
    from ostinato.tool_admission import admitted  # ruff: ignore[import-outside-top-level] - only for tools that a caller brings

    if options.tools is None:
        first = _first(options, facts, Equipment(), _hidden(rules))
        return replace(options, extra_tools=admitted(options.extra_tools, [tool.name for tool in first]))
    fit = admitted((*options.tools, *options.extra_tools))
    return replace(options, tools=fit[:given], extra_tools=fit[given:])


def offered_tools(
    options: Options, rules: tuple[Rule, ...], facts: ModelFacts, equipment: Equipment, found: FoundTools
) -> Offered:
    """The built-in ones in their order, then the caller's, which were admitted. Raises UsageError for a name of one that, beside the
    built-in ones of this model, is not free.
    """
    hidden = _hidden(rules)
    first = _first(options, facts, equipment, hidden)
    _check_names(options, first)
    tools = (*first, *options.extra_tools)
    if "Bash" in hidden or (options.tools is None and find_tool(first, "Bash") is None):
        hidden |= OF_BACKGROUND
    shown = tuple(tool for tool in tools if hidden.isdisjoint({tool.name, *tool.aliases}))
    off = equipment.switched_off if options.tools is None else frozenset[str]()
    # What a small model is offered is chosen for it; one that is to search would never find anything.
    later = () if facts.tool_names or SEARCH_TOOL in hidden else _later(shown, options.extra_tools, facts)
    return _with_search(shown, later, found, off, context_window=facts.context_window)


def _hidden(rules: tuple[Rule, ...]) -> frozenset[str]:
    return frozenset(rule.tool for rule in rules if rule.behaviour == "deny" and rule.spec is None)


def _check_names(options: Options, first: Sequence[Tool]) -> None:
    """Another model may have other built-in tools than the one beside whose tools the caller's were admitted."""
    if options.tools is None and options.extra_tools:
        from ostinato.tool_admission import check_names  # ruff: ignore[import-outside-top-level] - as above

        check_names(options.extra_tools, [tool.name for tool in first])


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
