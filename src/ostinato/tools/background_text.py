"""How a command in the background is told of: one line with what it is, how it stands and where its output lies."""

from typing import Final

from ostinato.call_ports import Background
from ostinato.errors import UsageError
from ostinato.processes import BackgroundFacts
from ostinato.tool import ToolContext
from ostinato.tools.exit_codes import describe_exit

MAX_COMMAND_CHARACTERS: Final = 200


def background_of(context: ToolContext) -> Background:
    """Raises UsageError where nothing can run in the background."""
    found = context.workspace.background
    if found is None:
        raise UsageError("nothing can run in the background here", hint="run the command and wait for it")
    return found


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
