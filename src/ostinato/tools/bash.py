"""Bash: one shell command, with a deadline, bounded output and an honest exit code."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.processes import BackgroundFacts, ProcessResult
from ostinato.tool import EXCLUSIVE, READS_ANYTHING, Access, Tool, ToolContext, ToolOutcome
from ostinato.tools.answer import bounded, marked, valid_unicode
from ostinato.tools.background_text import background_of
from ostinato.tools.command_comments import without_comments
from ostinato.tools.exit_codes import describe_exit, is_benign
from ostinato.tools.terminal_text import plain_text

PROMPT: Final = """\
Run a bash command and get its output and exit code. Each starts a new shell: cd lasts from your next reply on, \
variables do not, so chain with &&. There is no terminal and nobody to answer prompts. For files use Read, Edit, Write, Glob and \
Grep."""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "timeout": {"type": "integer", "description": "ms (default 120000, at most 600000)"},
        "description": {"type": "string", "description": "In 5-10 words"},
        "run_in_background": {
            "type": "boolean",
            "description": "Return at once; it runs on, without deadline",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}

DEFAULT_TIMEOUT_MS: Final = 120_000
MAX_TIMEOUT_MS: Final = 600_000
MAX_OUTPUT_BYTES: Final = 30_000
"""Semantics reference, Bash numbers: about 30k characters inline; head and tail, for errors stand at the end."""

MAX_RESULT_CHARACTERS: Final = 32_000
"""The output and what is said about it."""

HOW_IT_GOES_ON: Final = "TaskOutput reads what it prints, TaskStop stops it, and you are told when it ends. It ends with this conversation at the latest."

SAYS_CD: Final = re.compile(r"\b(?:cd|pushd|popd)\b")
SAYS_WAIT: Final = re.compile(r"(?:^|[;&|(\s])(?:sleep|wait|inotifywait)(?:\s|$)")

IsReadOnlyCommand = Callable[[str], bool]
MayMove = Callable[[str], bool]
"""Whether a command whose time is over may go on in the background."""


def never_moves(_command: str) -> bool:
    return False


class BashInput(msgspec.Struct, frozen=True):
    command: str
    timeout: int = DEFAULT_TIMEOUT_MS
    description: str = ""
    run_in_background: bool = False


class _Call(msgspec.Struct, frozen=True):
    may_move: MayMove

    async def __call__(self, tool_input: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        return await run_command(tool_input, context, may_move=self.may_move)


class _ReadOnly(msgspec.Struct, frozen=True):
    """The injected proof that a command only reads, in the forms that a tool needs."""

    is_read_only_command: IsReadOnlyCommand

    def of_input(self, tool_input: Mapping[str, Any]) -> bool:
        return self.is_read_only_command(str(tool_input["command"]))

    def access(self, tool_input: Mapping[str, Any], _workspace: Workspace) -> Access:
        """What only looks may look at what another call writes, so it waits for that one; looks overlap. A `cd` is exclusive too:
        the last one in the order of the calls is to count.
        """
        only_looks = self.of_input(tool_input) and not SAYS_CD.search(str(tool_input["command"]))
        return READS_ANYTHING if only_looks else EXCLUSIVE


def bash_tool(is_read_only: IsReadOnlyCommand, may_move: MayMove = never_moves) -> Tool:
    """The Bash tool. `is_read_only` must say yes only to what is proven; `may_move` only where the model can ask for the output."""
    read_only = _ReadOnly(is_read_only)
    return Tool(
        name="Bash",
        description=PROMPT,
        input_schema=SCHEMA,
        call=run_command if may_move is never_moves else _Call(may_move),
        access=read_only.access,
        is_read_only=read_only.of_input,
        waits=_waits,
        essential=_essential,
        interrupt_behaviour="cancel",
        timeout_s=MAX_TIMEOUT_MS / 1000 + 60,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("command",),
    )


def _waits(tool_input: Mapping[str, Any]) -> bool:
    return SAYS_WAIT.search(str(tool_input["command"])) is not None


def _essential(tool_input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Another description, another deadline or another comment makes no other command."""
    essential = dict(tool_input)
    essential.pop("description", None)
    essential.pop("timeout", None)
    essential["command"] = without_comments(str(tool_input.get("command", "")))
    return essential


async def run_command(
    tool_input: Mapping[str, Any], context: ToolContext, *, may_move: MayMove = never_moves
) -> ToolOutcome:
    """Run the command to its end or its deadline; cancellation ends its whole tree. Or let it run on beside the conversation, from
    its deadline on too where it `may_move`.
    """
    request = msgspec.convert(dict(tool_input), BashInput)
    if request.run_in_background:
        return _started(request.command, context)
    timeout_ms = min(max(request.timeout, 1), MAX_TIMEOUT_MS)
    command = valid_unicode(request.command)
    result = await context.workspace.run_shell(
        command,
        timeout_s=timeout_ms / 1000,
        max_output_bytes=MAX_OUTPUT_BYTES,
        on_output=lambda text: context.progress(valid_unicode(text)),
        moves_as=context.tool_use_id if may_move(command) else None,
    )
    return _outcome(request.command, timeout_ms, result)


def _started(command: str, context: ToolContext) -> ToolOutcome:
    """Raises UsageError when it cannot be started."""
    command = valid_unicode(command)
    facts = background_of(context).start(
        command, folder=context.workspace.shell_folder, call_id=context.tool_use_id
    )
    return ToolOutcome(
        f"[runs in the background as {facts.task_id}. {HOW_IT_GOES_ON}]", display=_display(facts)
    )


def _outcome(command: str, timeout_ms: int, result: ProcessResult) -> ToolOutcome:
    is_failed = result.moved is None and _has_failed(command, result)
    notes: list[str] = []
    if result.timed_out:
        notes.append(f"[stopped: it ran longer than {timeout_ms} ms; this is the output so far]")
    elif result.moved is not None:
        notes.append(_moved_note(result.moved, timeout_ms))
    elif result.exit_code != 0:
        notes.append(f"[{describe_exit(command, result.exit_code)}]")
    if _is_cut(result):
        notes.append(_size_note(result))
    if result.folder_note:
        notes.append(f"[{result.folder_note}]")
    output = plain_text(result.output).rstrip("\n")
    if not output and not notes:
        notes.append("[no output]")
    text = "\n".join(filter(None, (bounded(output, MAX_OUTPUT_BYTES), *notes)))
    return ToolOutcome(
        bounded(valid_unicode(text), MAX_RESULT_CHARACTERS),
        is_error=is_failed,
        is_timed_out=result.timed_out,
        display=marked(
            None if result.moved is None else _display(result.moved), is_incomplete=_is_cut(result)
        ),
    )


def _has_failed(command: str, result: ProcessResult) -> bool:
    return result.timed_out or not (result.exit_code == 0 or is_benign(command, result.exit_code))


def _is_cut(result: ProcessResult) -> bool:
    return result.total_bytes > MAX_OUTPUT_BYTES


def _display(facts: BackgroundFacts) -> Mapping[str, Any]:
    return {"background_task_id": facts.task_id}


def _moved_note(facts: BackgroundFacts, timeout_ms: int) -> str:
    return (
        f"[it ran longer than {timeout_ms} ms and goes on in the background as {facts.task_id}; this is the output so far. "
        f"{HOW_IT_GOES_ON}]"
    )


def _size_note(result: ProcessResult) -> str:
    where = ""
    if result.spill_path is not None:
        is_whole = result.spilled_bytes in {0, result.total_bytes}
        where = f"; {'all of it is' if is_whole else f'its first {result.spilled_bytes} bytes are'} in {result.spill_path}"
    return f"[the output has {result.total_bytes} bytes, the middle is left out{where}]"
