"""How a command in the background is told of: one line with what it is, how it stands and where its output lies."""

from typing import Final

from ostinato.call_ports import Background
from ostinato.errors import UsageError
from ostinato.processes import BackgroundFacts, BackgroundOutput
from ostinato.tool import ToolContext
from ostinato.tools.answer import bounded
from ostinato.tools.exit_codes import describe_exit
from ostinato.tools.terminal_text import plain_text

MAX_COMMAND_CHARACTERS: Final = 200


def background_of(context: ToolContext) -> Background:
    """Raises UsageError where nothing can run in the background."""
    found = context.workspace.background
    if found is None:
        raise UsageError("nothing can run in the background here", hint="run the command and wait for it")
    return found


async def require_task(task_id: str, context: ToolContext) -> None:
    """Raises UsageError for an id that is not there."""
    await background_of(context).wait(task_id, 0.0)


def state_text(facts: BackgroundFacts) -> str:
    """For example `running for 12 s`."""
    seconds = f"{facts.duration_s:.0f} s"
    match facts.state:
        case "running":
            return f"running for {seconds}"
        case "stopped":
            return f"stopped after {seconds}"
        case "exited":
            how = "exit code 0" if facts.exit_code == 0 else describe_exit(facts.command, facts.exit_code)
            return f"ended after {seconds}, {how}"


def short_command(command: str) -> str:
    """On one line, its end left out where it is long."""
    line = " ".join(command.split())
    return line if len(line) <= MAX_COMMAND_CHARACTERS else f"{line[: MAX_COMMAND_CHARACTERS - 1]}…"


def listed(facts: BackgroundFacts) -> str:
    return f"{facts.task_id}: {state_text(facts)}, {facts.total_bytes} bytes of output: {short_command(facts.command)}"


def background_notice(facts: BackgroundFacts) -> str:
    """For the user, when it has ended by itself."""
    return f"a command in the background has {state_text(facts)}: {short_command(facts.command)}"


def told(found: BackgroundOutput, max_bytes: int) -> str:
    """What was read, and what was not."""
    facts = found.facts
    lines = [f"[{facts.task_id}: {state_text(facts)}]"]
    if found.lost_bytes:
        lines.append(f"[{found.lost_bytes} bytes before this are not kept]")
    text = bounded(plain_text(found.text).strip("\n"), max_bytes)
    if text or not found.unfinished_line:
        lines.append(text or ("[no output]" if facts.total_bytes == 0 else "[no new output]"))
    if found.unfinished_line:
        lines.append(f"[in a line that is not finished: {plain_text(found.unfinished_line)}]")
    if found.end < facts.total_bytes:
        lines.append(f"[bytes {found.start} to {found.end} of {facts.total_bytes}; call again for the next]")
    return "\n".join(lines)
