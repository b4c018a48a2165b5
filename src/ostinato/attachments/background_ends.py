"""Commands in the background, as far as the model does not know how they stand: each end is told once, and what it
cannot know after a compaction or a resume is told again.
"""

from collections.abc import Sequence
from typing import Final

from ostinato.messages import AssistantMessage, Message, Reminder, ToolResult, UserMessage, attachment_message
from ostinato.ports import Ids, Workspace
from ostinato.processes import BackgroundFacts, background_task_id

SOURCE: Final = "background"
RUNS: Final = " runs"
"""What the key of a command ends with that goes on."""

MAX_COMMAND_CHARACTERS: Final = 200


class BackgroundEnds:
    """A collector. Keys are `ID` for an end and `ID runs` for what goes on."""

    def __init__(self, workspace: Workspace, ids: Ids) -> None:
        self._workspace = workspace
        self._ids = ids
        self._known_ends: set[str] = set()
        self._is_first = True

    async def __call__(self, view: Sequence[Message]) -> Sequence[Message]:
        return self.at_once(view)

    def at_once(self, view: Sequence[Message]) -> Sequence[Message]:
        """One reminder for each command of which there is news."""
        background = self._workspace.background
        present = () if background is None else background.all()
        is_first, self._is_first = self._is_first, False
        if not present and (not is_first or not view):
            return ()
        from ostinato.attachments.told import told_keys  # ruff: ignore[import-outside-top-level] - not before there is something said

        started, told = _started(view), told_keys(view, SOURCE)
        # Known is what the view has held once: a notice that an abort threw away was not told.
        self._known_ends |= told
        news = [reminder for facts in present for reminder in self._news(facts, started, told)]
        if is_first:
            runs = {key.removesuffix(RUNS) for key in told if key.endswith(RUNS)}
            gone = (started | runs) - {facts.task_id for facts in present} - told
            news += [_gone(task_id) for task_id in sorted(gone)]
        return [attachment_message(self._ids.uuid(), reminder) for reminder in news]

    def _news(self, facts: BackgroundFacts, started: set[str], told: set[str]) -> Sequence[Reminder]:
        if facts.state == "running":
            key = f"{facts.task_id}{RUNS}"
            if facts.task_id in started or key in told:
                return ()
            return (
                Reminder(
                    SOURCE, f"{_named(facts)} still runs in the background. TaskOutput reads its output.", key
                ),
            )
        if facts.task_id in self._known_ends or facts.is_end_known:
            return ()
        how = _ended(facts)
        text = f"{_named(facts)} {how}. TaskOutput reads what it printed."
        return (Reminder(SOURCE, text, facts.task_id),)


def _ended(facts: BackgroundFacts) -> str:
    if facts.state == "stopped" or facts.exit_code is None:
        return "was stopped"
    if facts.exit_code < 0:
        return f"was killed by signal {-facts.exit_code}"
    return f"has ended with exit code {facts.exit_code}"


def _started(view: Sequence[Message]) -> set[str]:
    """Of the commands whose start the view shows."""
    wanted: set[str] = set()
    refused: set[str] = set()
    for message in view:
        if isinstance(message, AssistantMessage):
            wanted |= {call.id for call in message.tool_uses if call.input.get("run_in_background") is True}
        elif isinstance(message, UserMessage):
            results = [one for one in message.content if isinstance(one, ToolResult)]
            refused |= {one.tool_use_id for one in results if one.is_error}
            # One that was moved at its timeout: its result names it.
            wanted |= {one.tool_use_id for one in results if _names_its_task(one)}
    return {background_task_id(call_id) for call_id in wanted - refused}


def _names_its_task(result: ToolResult) -> bool:
    text = result.content
    return isinstance(text, str) and "bash_" in text and background_task_id(result.tool_use_id) in text


def _named(facts: BackgroundFacts) -> str:
    from ostinato.attachments.quoted_text import quoted  # ruff: ignore[import-outside-top-level] - few commands run on

    line = " ".join(facts.command.split())
    short = line if len(line) <= MAX_COMMAND_CHARACTERS else f"{line[:MAX_COMMAND_CHARACTERS]}…"
    return f"The background command {facts.task_id} ({quoted(short)})"


def _gone(task_id: str) -> Reminder:
    text = (
        f"The background command {task_id} does not run any more: it ended with an earlier run of this conversation. "
        "Start it again if it is needed."
    )
    return Reminder(SOURCE, text, task_id)
