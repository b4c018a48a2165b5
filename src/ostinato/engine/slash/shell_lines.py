"""The shell lines of a command: each asked at the permission gate like a call of the model's, then run with a deadline."""

from collections.abc import Callable
from typing import Final

import msgspec

from ostinato.engine.slash.scene import SlashScene
from ostinato.loop.abortable import unless_aborted
from ostinato.permissions.rules import Rule
from ostinato.ports import Denied, Futile, PermissionQuery
from ostinato.records import PermissionDecided
from ostinato.tool import Tool, ToolContext, ToolOutcome, find_tool

TIMEOUT_MS: Final = 60_000
MAX_LINES: Final = 20
MAX_TOTAL_CHARACTERS: Final = 200_000
"""Of all output that goes into one prompt; a line's own is bounded by the Bash tool."""

MAX_RECORDED_CHARACTERS: Final = 1_000
"""Of the line, beside the decision about it."""


class Ran(msgspec.Struct, frozen=True):
    """`text` is the bounded output, with the exit code or the deadline said if it failed."""

    text: str


class NotRun(msgspec.Struct, frozen=True):
    """Nothing was run, or it was interrupted; `reason` says why, `hint` what to do."""

    reason: str
    hint: str = ""


def _unheard(_text: str) -> None:
    pass


async def run_shell_line(
    command: str,
    rules: tuple[Rule, ...],
    scene: SlashScene,
    *,
    timeout_ms: int = TIMEOUT_MS,
    on_output: Callable[[str], None] = _unheard,
) -> Ran | NotRun:
    """Ask, then run. The whole line is judged, with the arguments in it. `on_output` gets what it prints newly, first nothing,
    when it starts.
    """
    tool = find_tool(scene.tools, "Bash")
    if tool is None:
        return NotRun("this conversation has no Bash tool")
    outcome = await unless_aborted(
        scene.abort,
        lambda: _asked_and_run(tool, command, rules, scene, timeout_ms, on_output),
        otherwise=NotRun("it was interrupted"),
    )
    if isinstance(outcome, NotRun):
        return outcome
    text = outcome.content if isinstance(outcome.content, str) else ""
    return Ran(text)


async def _asked_and_run(
    tool: Tool,
    command: str,
    rules: tuple[Rule, ...],
    scene: SlashScene,
    timeout_ms: int,
    on_output: Callable[[str], None],
) -> ToolOutcome | NotRun:
    call_id = scene.uuid()
    scene.workspace.settle_shell_folder()
    given = {"command": command, "timeout": timeout_ms}
    query = PermissionQuery(tool, call_id, given, scene.workspace, scene.abort)
    answer = await scene.with_rules(rules).decide(query)
    if isinstance(answer, Futile):
        return NotRun(answer.message)
    behaviour = "deny" if isinstance(answer, Denied) else "allow"
    reason, wanted = answer.reason, command[:MAX_RECORDED_CHARACTERS]
    scene.record(PermissionDecided(call_id, tool.name, behaviour, reason.rule, reason.source, wanted))
    if isinstance(answer, Denied):
        return NotRun(answer.reason.text, "`/permissions` shows what is allowed")
    on_output("")
    context = ToolContext(call_id, scene.workspace, scene.files, scene.abort, on_output)
    done = await tool.call(answer.updated_input or given, context)
    return ToolOutcome(done) if isinstance(done, str) else done
