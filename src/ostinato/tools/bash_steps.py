"""What Bash does when it is called: run the command, and say how it ended."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ostinato.processes import BackgroundFacts, ProcessResult
from ostinato.tool import ToolContext, ToolOutcome
from ostinato.tools.answer import bounded, marked, valid_unicode
from ostinato.tools.background_text import background_of
from ostinato.tools.exit_codes import describe_exit, is_benign
from ostinato.tools.terminal_text import plain_text

MAX_OUTPUT_BYTES: Final = 30_000
"""Semantics reference, Bash numbers: about 30k characters inline; head and tail, for errors stand at the end."""

HOW_IT_GOES_ON: Final = "TaskOutput reads what it prints, TaskStop stops it, and you are told when it ends. It ends with this conversation at the latest."


async def run(
    command: str,
    context: ToolContext,
    *,
    timeout_ms: int,
    may_move: Callable[[str], bool],
    max_characters: int,
) -> ToolOutcome:
    """To its end or its deadline; from there on beside the conversation where it `may_move`."""
    legal = valid_unicode(command)
    result = await context.workspace.run_shell(
        legal,
        timeout_s=timeout_ms / 1000,
        max_output_bytes=MAX_OUTPUT_BYTES,
        on_output=lambda text: context.progress(valid_unicode(text)),
        moves_as=context.tool_use_id if may_move(legal) else None,
    )
    return _outcome(command, timeout_ms, result, max_characters)


def started(command: str, context: ToolContext) -> ToolOutcome:
    """Beside the conversation, from the beginning. Raises UsageError when it cannot be started."""
    command = valid_unicode(command)
    facts = background_of(context).start(
        command, folder=context.workspace.shell_folder, call_id=context.tool_use_id
    )
    return ToolOutcome(
        f"[runs in the background as {facts.task_id}. {HOW_IT_GOES_ON}]", display=_display(facts)
    )


def _outcome(command: str, timeout_ms: int, result: ProcessResult, max_characters: int) -> ToolOutcome:
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
        bounded(valid_unicode(text), max_characters),
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
