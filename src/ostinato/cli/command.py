"""The flags and subcommands, as Click reads them; what they do is loaded only when they are used."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, get_args

import click

from ostinato.cli.flags import Flags, OutputFormat, PermissionMode
from ostinato.cli.standard_streams import is_terminal, say
from ostinato.cli.subcommands import SUBCOMMANDS, listing, load_subcommand
from ostinato.version import VERSION

MODES: Final[tuple[str, ...]] = get_args(PermissionMode)
FORMATS: Final[tuple[str, ...]] = get_args(OutputFormat)


def run_command(argv: Sequence[str]) -> int:
    """Read the command line and do it; the exit code. Raises OstinatoError and Click's own usage errors."""
    subcommand = argv[0] if argv and argv[0] in SUBCOMMANDS else None
    command = main if subcommand is None else load_subcommand(subcommand)
    name = "ostinato" if subcommand is None else f"ostinato {subcommand}"
    arguments = list(argv if subcommand is None else argv[1:])
    try:
        # Not `main()`: it would answer an interrupt itself, with talk of its own.
        with command.make_context(name, arguments) as context:
            code: object = command.invoke(context)
    except click.exceptions.Exit as left:
        return left.exit_code
    return code if isinstance(code, int) else 0


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
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--include-partial-messages", is_flag=True, help="With stream-json: also the events as they stream."
)
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="At most N model calls.")
@click.option("--model", metavar="NAME", help="Which model; by default the one you have a key for.")
@click.option("--permission-mode", type=click.Choice(MODES), default="default", show_default=True)
@click.option(
    "--allowed-tools",
    "--allowedTools",
    multiple=True,
    metavar="RULES",
    help="Such as `Edit,Bash(git log:*)`.",
)
@click.option("--disallowed-tools", "--disallowedTools", multiple=True, metavar="RULES")
@click.option(
    "--add-dir",
    "add_dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="One more folder to work in.",
)
@click.option("--system-prompt", metavar="TEXT", help="In place of the default one.")
@click.option("--append-system-prompt", metavar="TEXT", default="")
@click.option(
    "-c", "--continue", "continue_session", is_flag=True, help="Go on with this folder's newest session."
)
@click.option("-r", "--resume", metavar="ID", help="Go on with that session.")
@click.option("--session-id", metavar="UUID", help="The id of the new session.")
@click.option("--no-session-persistence", is_flag=True, help="Keep nothing of this session.")
@click.option("--cwd", type=click.Path(path_type=Path), help="The folder to work in, instead of this one.")
@click.option("--verbose", "is_verbose", is_flag=True, help="Show the tools at work.")
@click.option("--debug", is_flag=True, help="Show traces of errors (also OSTINATO_DEBUG=1).")
@click.option(
    "-v",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version and exit.",
)
def main(*, no_session_persistence: bool, debug: bool, **given: Any) -> int:
    """ostinato, a coding agent, working in this folder. On a terminal it is a conversation; with -p it answers PROMPT
    and exits.

    A prompt that begins with `-` goes after `--`.
    """
    del debug  # read in main.py, before anything can fail
    flags = Flags(keep_session=not no_session_persistence, **given)
    if not flags.is_print and is_terminal(0) and is_terminal(1):
        from ostinato.cli.line_mode import converse  # ruff: ignore[import-outside-top-level] - the editor loads only for a conversation

        return converse(flags)
    from ostinato.cli.print_mode import print_answer  # ruff: ignore[import-outside-top-level] - the engine loads only when there is something to do

    return print_answer(flags)


def usage_text(error: click.ClickException) -> str:
    """Click's complaint in our form."""
    said = error.format_message().rstrip(".").replace("'", "`")
    return said[:1].lower() + said[1:]


def wants_debug(argv: Sequence[str]) -> bool:
    return "--debug" in argv or os.environ.get("OSTINATO_DEBUG", "") not in {"", "0"}
