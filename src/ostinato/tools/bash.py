"""Bash: one shell command, with a deadline, bounded output and an honest exit code."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from ostinato.ports import Workspace
from ostinato.tool import EXCLUSIVE, READS_ANYTHING, Access, Tool, ToolContext, ToolOutcome, failure

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
MAX_RESULT_CHARACTERS: Final = 32_000
"""The output and what is said about it."""

WITHOUT_MEANING: Final = MappingProxyType({"dangerouslyDisableSandbox": ""})
"""Other programs' models and clients may say it. There is no sandbox to leave, and it gives no right: it is gone before rules judge."""

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
        cannot_succeed=why_not_run,
        access=read_only.access,
        is_read_only=read_only.of_input,
        waits=_waits,
        essential=_essential,
        interrupt_behaviour="cancel",
        timeout_s=MAX_TIMEOUT_MS / 1000 + 60,
        max_result_characters=MAX_RESULT_CHARACTERS,
        flat_parameters=("command",),
        unshown_inputs=WITHOUT_MEANING,
    )


def _waits(tool_input: Mapping[str, Any]) -> bool:
    return SAYS_WAIT.search(str(tool_input["command"])) is not None


def _essential(tool_input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Another description, another deadline or another comment makes no other command; what has no meaning neither."""
    from ostinato.tools.command_comments import without_comments  # ruff: ignore[import-outside-top-level] - loads with a first call

    said = {"description", "timeout", *WITHOUT_MEANING}
    essential = {name: value for name, value in tool_input.items() if name not in said}
    essential["command"] = without_comments(str(tool_input.get("command", "")))
    return essential


async def why_not_run(tool_input: Mapping[str, Any], context: ToolContext) -> str | None:
    """What the command itself would do is not known. Raises UsageError where nothing can run in the background."""
    from ostinato.tools.background_text import background_of  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), BashInput)
    wrong = _wrong(request)
    if wrong is None and request.run_in_background:
        background_of(context)
    return wrong


def _wrong(request: BashInput) -> str | None:
    """Why it can be started by nobody."""
    if "\0" in request.command:
        return "`command` holds a NUL character, which no command can; write it as `\\0` or in hexadecimal for the program that needs it"
    if request.run_in_background or request.timeout >= 1:
        return None
    return f"`timeout` is {request.timeout}, but it is milliseconds from 1 to {MAX_TIMEOUT_MS}; leave it out for {DEFAULT_TIMEOUT_MS}"


async def run_command(
    tool_input: Mapping[str, Any], context: ToolContext, *, may_move: MayMove = never_moves
) -> ToolOutcome:
    """Run the command to its end or its deadline; cancellation ends its whole tree. Or let it run on beside the conversation, from
    its deadline on too where it `may_move`.
    """
    from ostinato.tools.bash_steps import run, started  # ruff: ignore[import-outside-top-level] - loads with a first call

    request = msgspec.convert(dict(tool_input), BashInput)
    wrong = _wrong(request)
    if wrong is not None:
        return failure(wrong)
    if request.run_in_background:
        return started(request.command, context)
    timeout_ms = min(request.timeout, MAX_TIMEOUT_MS)
    return await run(
        request.command,
        context,
        timeout_ms=timeout_ms,
        may_move=may_move,
        max_characters=MAX_RESULT_CHARACTERS,
    )
