"""Calls and results kept together: every call answered in the very next message, in order, and nothing answered twice."""

from collections.abc import Sequence, Set

from ostinato.messages import AssistantBlock, ServerBlock, Text, ToolResult, ToolUse, UserBlock

NO_RESULT = "The result of this call was lost; it is not known whether it ran."


def without_duplicate_calls(blocks: Sequence[AssistantBlock], seen: Set[str]) -> list[AssistantBlock]:
    """Drop calls without an id and calls whose id was used before."""
    kept: list[AssistantBlock] = []
    ids = set(seen)
    for block in blocks:
        if isinstance(block, ToolUse):
            if not block.id or block.id in ids:
                continue
            ids.add(block.id)
        kept.append(block)
    return kept


def with_results_paired(calls: Sequence[str], blocks: Sequence[UserBlock]) -> list[UserBlock]:
    """The user blocks that may follow these calls: one result each, in the order of the calls, then the rest.

    A missing result becomes an error result; a result without its call, or a second one, is dropped.
    """
    results: dict[str, ToolResult] = {}
    rest: list[UserBlock] = []
    for block in blocks:
        if isinstance(block, ToolResult):
            results.setdefault(block.tool_use_id, block)
        else:
            rest.append(block)
    paired: list[UserBlock] = [
        results.get(call) or ToolResult(call, NO_RESULT, is_error=True) for call in calls
    ]
    return paired + rest


def without_halves(blocks: Sequence[AssistantBlock], *, is_open: bool = False) -> list[AssistantBlock]:
    """What the provider did itself stays only where a call has its result behind it; in a reply that goes on (`is_open`) the last
    call still waits for it.
    """
    found = [(at, block) for at, block in enumerate(blocks) if isinstance(block, ServerBlock)]
    first_calls: dict[str, int] = {}
    for at, block in found:
        if block.part == "call":
            first_calls.setdefault(block.call_id, at)
    results: dict[str, int] = {}
    for at, block in found:
        if block.part == "result" and first_calls.get(block.call_id, at) < at:
            results.setdefault(block.call_id, at)
    paired = {at for call, at in first_calls.items() if call in results} | set(results.values())
    if is_open and first_calls:
        paired.add(max(first_calls.values()))
    halves = {at for at, block in found if block.part != "whole"} - paired
    return [block for at, block in enumerate(blocks) if at not in halves]


def with_reminders(blocks: Sequence[UserBlock], reminders: Sequence[str]) -> list[UserBlock]:
    """Put reminder texts into the last plain result; beside it only where that is not possible.

    Text next to results reads as another human turn, which models begin to imitate (semantics §8, step 6).
    """
    if not reminders:
        return list(blocks)
    folded = list(blocks)
    last = max((i for i, block in enumerate(folded) if isinstance(block, ToolResult)), default=-1)
    result = folded[last] if last >= 0 else None
    if isinstance(result, ToolResult) and isinstance(result.content, str):
        text = "\n\n".join([result.content, *reminders])
        folded[last] = ToolResult(result.tool_use_id, text, result.is_error)
        return folded
    return [*folded, *(Text(reminder) for reminder in reminders)]
