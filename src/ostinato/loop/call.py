"""One tool call, step by step (semantics §14.2): find, check, ask, run, map. Every end is a value; nothing escapes.

The steps before `run` may wait for a person and hold no gate; the executor admits the call between `prepared` and `run`.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, assert_never, cast

import msgspec
from msgspec.structs import replace

from ostinato.codec import encode, sanitise
from ostinato.errors import OstinatoError
from ostinato.loop import results
from ostinato.loop.cancellation import must_pass
from ostinato.loop.described import Mask, described
from ostinato.loop.intent import IntendingWorkspace
from ostinato.loop.noted_files import NotedFiles
from ostinato.messages import Document, Image, KnownFile, ResultBlock, Text, ToolResult, ToolUse
from ostinato.ports import Allowed, CannotSucceed, Denied, Futile, PermissionQuery, Permissions
from ostinato.records import FileIntended
from ostinato.state import ToolUseContext
from ostinato.tool import (
    EXCLUSIVE,
    Access,
    AskSideModel,
    Ended,
    Tool,
    ToolContext,
    ToolOutcome,
    can_be_stopped,
    find_tool,
    hides_nothing,
)
from ostinato.tool_input import InvalidInput, checked_input

CallOutcome = Literal["ok", "error", "denied", "cancelled", "timed_out", "outcome_unknown"]


class Prepared(msgspec.Struct, frozen=True):
    """A call that is known, valid and not yet asked for."""

    tool: Tool
    block: ToolUse
    input: Mapping[str, Any]
    access: Access
    is_read_only: bool
    is_hidden: Callable[[Path], bool] = hides_nothing


class CallEnd(msgspec.Struct, frozen=True):
    """How a call ended: the result for the model, the outcome for the record."""

    result: ToolResult
    outcome: CallOutcome
    display: Mapping[str, Any] | None = None
    denied: Denied | None = None
    knows: tuple[KnownFile, ...] = ()


def error_end(block: ToolUse, text: str, outcome: CallOutcome = "error") -> CallEnd:
    return CallEnd(ToolResult(block.id, results.cut_error(sanitise(text)), is_error=True), outcome)


def prepare_call(block: ToolUse, context: ToolUseContext, mask: Mask) -> Prepared | CallEnd:
    """Find the tool and check the input; never asks, never waits."""
    tool = find_tool(context.tools, block.name)
    if tool is None:
        return error_end(block, results.unknown_tool(block.name, context.deferred.known_names(context.tools)))
    if block.invalid_input is not None:
        return error_end(block, results.invalid_json(tool.name, block.invalid_input))
    return _checked(tool, block, block.input, context, mask)


def _checked(
    tool: Tool, block: ToolUse, raw_input: Mapping[str, Any], context: ToolUseContext, mask: Mask
) -> Prepared | CallEnd:
    try:
        checked = checked_input(tool, raw_input)
    except Exception as error:  # the tool's own validation failed to validate
        checked = InvalidInput(described(error, mask))
    if isinstance(checked, InvalidInput):
        hint = results.load_first(tool.name) if context.deferred.is_unknown(tool.name) else ""
        return error_end(block, results.invalid_input(checked.message) + hint)
    return Prepared(tool, block, checked, _access(tool, checked, context), _is_read_only(tool, checked))


def _access(tool: Tool, checked: Mapping[str, Any], context: ToolUseContext) -> Access:
    try:
        return tool.access(checked, context.workspace)
    except Exception:
        return EXCLUSIVE


def _is_read_only(tool: Tool, checked: Mapping[str, Any]) -> bool:
    try:
        return tool.is_read_only(checked)
    except Exception:
        return False


async def permitted(
    call: Prepared,
    permissions: Permissions,
    context: ToolUseContext,
    mask: Mask,
    cannot_succeed: CannotSucceed | None,
) -> tuple[Prepared, Allowed] | CallEnd:
    """Ask the gate; an input that it changed is checked again. What cannot succeed ends as an error, not as a denial."""
    query = PermissionQuery(
        call.tool, call.block.id, call.input, context.workspace, context.abort, call.access, cannot_succeed
    )
    try:
        decision = await permissions.decide(query)
    except OstinatoError as error:  # the call names what cannot be judged: a path that is none
        return error_end(call.block, str(error))
    except BaseException as error:
        if must_pass(error):
            raise
        return error_end(call.block, f"the permission check failed: {described(error, mask)}", "denied")
    match decision:
        case Denied():
            return replace(error_end(call.block, decision.message, "denied"), denied=decision)
        case Futile():
            return error_end(call.block, decision.message)
        case Allowed():
            allowed = _as_allowed(call, decision, context, mask)
            return allowed if isinstance(allowed, CallEnd) else (allowed, decision)
        case _:
            assert_never(decision)


def _as_allowed(call: Prepared, decision: Allowed, context: ToolUseContext, mask: Mask) -> Prepared | CallEnd:
    if decision.updated_input is None:
        return replace(call, is_hidden=decision.is_hidden)
    changed = _checked(call.tool, call.block, decision.updated_input, context, mask)
    return changed if isinstance(changed, CallEnd) else replace(changed, is_hidden=decision.is_hidden)


async def run_call(
    call: Prepared,
    context: ToolUseContext,
    progress: Callable[[str], None],
    record: Callable[[FileIntended], None],
    mask: Mask,
    ask_side_model: AskSideModel | None = None,
    cannot_be_stopped: Callable[[Ended], None] = can_be_stopped,
) -> CallEnd:
    """Run an admitted call. Whatever the tool raises becomes an error result; only a real cancellation passes."""
    files = NotedFiles(context.files)
    tool_context = ToolContext(
        tool_use_id=call.block.id,
        workspace=IntendingWorkspace(context.workspace, call.block.id, record, call.access),
        files=files,
        abort=context.abort,
        progress=progress,
        forgiving_edit=context.model.forgiving_edit,
        is_hidden=call.is_hidden,
        ask_side_model=ask_side_model,
        access=call.access,
        cannot_be_stopped=cannot_be_stopped,
    )
    try:
        returned = await call.tool.call(call.input, tool_context)
        return replace(_mapped(call, returned, context.model.max_result_characters), knows=files.noted())
    except OstinatoError as error:
        return error_end(call.block, str(error))
    except BaseException as error:
        if must_pass(error):
            raise
        return error_end(call.block, described(error, mask))


def _mapped(call: Prepared, returned: object, cap: int | None) -> CallEnd:
    """Raises TypeError for what is no result: a tool is anybody's code, and what it returns goes into the journal."""
    outcome = ToolOutcome(returned) if isinstance(returned, str) else returned
    if not isinstance(outcome, ToolOutcome):
        raise TypeError(f"the tool returned {type(outcome).__name__}, not its result")
    limit = min(call.tool.max_result_characters, cap or call.tool.max_result_characters)
    content = outcome.content
    if isinstance(content, str):
        content = _bounded(content, limit)
    else:
        content = tuple(_bounded_block(block, limit) for block in content)
    display = _displayable(call.tool.name, outcome.display)
    if outcome.is_timed_out:
        return CallEnd(ToolResult(call.block.id, content, is_error=True), "timed_out", display)
    end: CallOutcome = "error" if outcome.is_error else "ok"
    return CallEnd(ToolResult(call.block.id, content, outcome.is_error), end, display)


def _displayable(tool_name: str, display: object) -> Mapping[str, Any] | None:
    """None for what is no JSON object: it would end the journal, and the call had its effect all the same."""
    if display is None:
        return None
    try:
        if not isinstance(display, Mapping):
            raise TypeError(f"it is {type(display).__name__}")
        encode(cast("object", display))
    except (TypeError, ValueError, RecursionError) as error:
        logging.getLogger("ostinato").warning(
            "`%s` gave a display that is no JSON object: %s", tool_name, error
        )
        return None
    return cast("Mapping[str, Any]", display)


def _bounded_block(block: object, limit: int) -> ResultBlock:
    match block:
        case Text():
            return Text(_bounded(block.text, limit))
        case Image():
            from ostinato.loop.sent_images import sendable_image  # ruff: ignore[import-outside-top-level] - few results hold one

            return sendable_image(block)
        case Document():
            return block
        case _:
            raise TypeError(f"a result holds text, images and documents, not {type(block).__name__}")


def _bounded(text: str, limit: int) -> str:
    clean = sanitise(text)
    if len(clean) <= limit:
        return clean
    head = limit * 2 // 3
    tail = limit - head
    return f"{clean[:head]}\n… {len(clean) - limit} characters left out …\n{clean[-tail:]}"
