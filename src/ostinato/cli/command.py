"""The flags and subcommands, as Click reads them; what they do is loaded only when they are used."""

import math
from collections.abc import Sequence
from typing import Any, Final, get_args

import click

from ostinato.cli.debug_request import without_bare_debug
from ostinato.cli.duration import DurationType
from ostinato.cli.folder import FolderType
from ostinato.cli.output_format import OutputFormat
from ostinato.cli.standard_streams import is_terminal, say
from ostinato.cli.subcommands import SUBCOMMANDS, listing, load_subcommand
from ostinato.errors import UsageError
from ostinato.option_values import EFFORTS, PERMISSION_MODES, ThinkingWish
from ostinato.version import VERSION

MAX_DIGITS: Final = 18
"""Of a number of tokens; Python itself refuses to read very long ones."""

FORMATS: Final[tuple[str, ...]] = get_args(OutputFormat)


MAX_SAID_CHARACTERS: Final = 400

_NEARLY: Final = 0.8
"""From this likeness on (0 to 1) a word is taken for a misspelled subcommand."""


class AmountType(click.FloatRange):
    """Of money: `nan` and `inf` are numbers to Python, and no limits."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        amount = super().convert(value, param, ctx)
        if not math.isfinite(amount):
            self.fail(f"`{value}` is no amount", param, ctx)
        return amount


class ThinkingType(click.ParamType[ThinkingWish]):
    """`off`, `on`, or a number of tokens; the Agent SDK's words for the first two are understood too."""

    name = "thinking"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> ThinkingWish:
        match value.lower():
            case "off" | "disabled":
                return "off"
            case "on" | "adaptive":
                return "on"
            case number if (
                len(number) <= MAX_DIGITS and number.isascii() and number.replace("_", "").isdecimal()
            ):
                return int(number.replace("_", ""))
            case _:
                raise click.BadParameter(f"`{value}` is not `off`, `on` or a number of tokens", ctx, param)


def run_command(argv: Sequence[str]) -> int:
    """Read the command line and do it; the exit code. Raises OstinatoError and Click's own usage errors."""
    subcommand = argv[0] if argv and argv[0] in SUBCOMMANDS else None
    if subcommand is None and argv:
        _check_misspelled(argv)
    command = main if subcommand is None else load_subcommand(subcommand)
    name = "ostinato" if subcommand is None else f"ostinato {subcommand}"
    arguments = without_bare_debug(argv) if subcommand is None else list(argv[1:])
    try:
        # Not `main()`: it would answer an interrupt itself, with talk of its own.
        with command.make_context(name, arguments) as context:
            code: object = command.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    return code if isinstance(code, int) else 0


def _check_misspelled(argv: Sequence[str]) -> None:
    """A first word that is nearly a subcommand's name is no prompt. Raises UsageError; `-p` says that it is one."""
    word = argv[0]
    if not word.isalpha() or not {"-p", "--print"}.isdisjoint(argv):
        return
    import difflib  # ruff: ignore[import-outside-top-level] - only a single word needs it

    near = difflib.get_close_matches(word.lower(), SUBCOMMANDS, 1, _NEARLY)
    if near:
        raise UsageError(
            f"there is no subcommand `{word}`; did you mean `{near[0]}`?",
            hint=f"`ostinato -- {word}` sends it to the model",
        )


def _print_version(context: click.Context, _parameter: click.Parameter, is_asked: bool) -> None:  # ruff: ignore[boolean-type-hint-positional-argument] - Click's callback form
    if is_asked:
        say(version_line())
        context.exit(0)


def version_line() -> str:
    return f"{VERSION} (ostinato)\n"


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"{listing()}\n\n"
    "Exit codes: 0 done; 1 not done, or a call was denied; 2 usage; 130 interrupted; 143 terminated.",
)
@click.argument("prompt", required=False)
@click.option("-p", "--print", "is_print", is_flag=True, help="Answer PROMPT and standard input, and exit.")
@click.option(
    "--output-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="What -p writes: the answer, one JSON object at the end, or a line of JSON for each message.",
)
@click.option(
    "--include-partial-messages", is_flag=True, help="With stream-json: also the events as they stream."
)
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="At most N model calls.")
@click.option(
    "--max-budget-usd",
    type=AmountType(min=0, min_open=True),
    metavar="USD",
    help="Make no model call that could bring the cost above this.",
)
@click.option(
    "--max-tokens-total",
    "max_total_tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="The same for tokens, of input, output and cache together.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=DurationType(),
    metavar="TIME",
    help="Stop after this time: seconds, or such as `5m` or `1h30m`.",
)
@click.option("--model", metavar="NAME", help="Which model; by default the one you have a key for.")
@click.option("--effort", type=click.Choice(EFFORTS), help="How thorough the model shall be.")
@click.option(
    "--thinking",
    type=ThinkingType(),
    metavar="off|on|BUDGET",
    help="Whether the model thinks before it answers; BUDGET is in tokens.",
)
@click.option(
    "--fallback-model",
    "fallback_models",
    multiple=True,
    metavar="NAMES",
    help="Go on with these, in order, when the model gives out.",
)
@click.option(
    "--permission-mode",
    type=click.Choice(PERMISSION_MODES),
    help="What happens to calls that no rule decides; by default what the settings say, else `default`: ask.",
)
@click.option(
    "--allowed-tools",
    "--allowedTools",
    multiple=True,
    metavar="RULES",
    help="What runs without a question, such as `Edit,Bash(git log:*)`.",
)
@click.option(
    "--disallowed-tools",
    "--disallowedTools",
    multiple=True,
    metavar="RULES",
    help="What never runs, in any mode; a tool's bare name hides it from the model.",
)
@click.option(
    "--add-dir",
    "add_dirs",
    multiple=True,
    type=FolderType(),
    help="One more folder to work in.",
)
@click.option("--settings", metavar="FILE|JSON", help="More settings; they win over those of files.")
@click.option(
    "--setting-sources",
    metavar="LEVELS",
    help="Which settings files are read, out of `user,project,local`; by default all.",
)
@click.option(
    "--trust", is_flag=True, help="Let what this project supplies act, from now on until it changes."
)
@click.option("--system-prompt", metavar="TEXT", help="In place of the default one.")
@click.option("--append-system-prompt", metavar="TEXT", default="", help="After the system prompt.")
@click.option(
    "-c", "--continue", "continue_session", is_flag=True, help="Go on with this folder's newest session."
)
@click.option("-r", "--resume", metavar="ID", help="Go on with that session.")
@click.option("--session-id", metavar="UUID", help="The id of the new session.")
@click.option("--no-session-persistence", is_flag=True, help="Keep nothing of this session.")
@click.option("--cwd", type=FolderType(), help="The folder to work in, instead of this one.")
@click.option("--verbose", "is_verbose", is_flag=True, help="Show the tools at work.")
@click.option(
    "--debug",
    metavar="[=FILE]",
    expose_value=False,
    help="Log what happens to standard error or to FILE, secrets masked (also OSTINATO_DEBUG=1).",
)
@click.option(
    "--debug-content",
    is_flag=True,
    expose_value=False,
    help="With --debug: also what requests and replies say, not only their size.",
)
@click.option(
    "-v",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def main(*, no_session_persistence: bool, **given: Any) -> int:
    """ostinato, a coding agent, working in this folder. On a terminal it is a conversation; with -p it answers PROMPT
    and exits.

    A prompt that begins with `-` goes after `--`.
    """
    from ostinato.cli.flags import Flags  # ruff: ignore[import-outside-top-level] - help and version say less
    from ostinato.cli.own_environment import hide_own_secrets  # ruff: ignore[import-outside-top-level] - as above

    hide_own_secrets()
    flags = Flags(keep_session=not no_session_persistence, **given)
    if not flags.is_print and is_terminal(0) and is_terminal(1):
        from ostinato.cli.line_mode import converse  # ruff: ignore[import-outside-top-level] - the editor loads only for a conversation

        return converse(flags)
    from ostinato.cli.print_mode import print_answer  # ruff: ignore[import-outside-top-level] - the engine loads only when there is something to do

    return print_answer(flags)


def usage_text(error: click.ClickException) -> str:
    """Click's complaint in our form."""
    said = error.format_message().rstrip(".").replace("'", "`")
    said = said if len(said) <= MAX_SAID_CHARACTERS else f"{said[:MAX_SAID_CHARACTERS]}…"
    return said[:1].lower() + said[1:]
