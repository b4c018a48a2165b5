"""`ostinato permissions`: what the rules say, asked without running anything."""

import os
from pathlib import Path
from typing import Any

import click
import msgspec

from ostinato.cli.exit_codes import DONE
from ostinato.cli.flag_values import check_folders
from ostinato.cli.flags import Flags
from ostinato.cli.folder import FolderType
from ostinato.cli.options import options_from
from ostinato.cli.standard_streams import say, talk
from ostinato.engine.configuration import InEffect, in_effect, read_configuration
from ostinato.engine.options import Options
from ostinato.home_folder import expand_home
from ostinato.option_values import PERMISSION_MODES
from ostinato.permissions.call_report import CallReport, report_call
from ostinato.permissions.report_text import report_text
from ostinato.permissions.typed_call import typed_call
from ostinato.permissions.verdict import Policy


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
def permissions() -> None:
    """What the permission rules say."""


@permissions.command("explain")
@click.argument("what")
@click.option("--tool", default="Bash", metavar="NAME", show_default=True, help="The tool that WHAT is for.")
@click.option(
    "--permission-mode", type=click.Choice(PERMISSION_MODES), default=None, help="As if in this mode."
)
@click.option(
    "--allowed-tools", "--allowedTools", multiple=True, metavar="RULES", help="As if with these allow rules."
)
@click.option(
    "--disallowed-tools",
    "--disallowedTools",
    multiple=True,
    metavar="RULES",
    help="As if with these deny rules.",
)
@click.option(
    "--add-dir",
    "add_dirs",
    multiple=True,
    type=FolderType(),
    help="As if with one more folder.",
)
@click.option("--cwd", type=FolderType(), help="As if in this folder.")
@click.option("--settings", metavar="FILE|JSON", help="As if with these settings, too.")
@click.option("--setting-sources", metavar="NAMES", help="As if only these settings files were read.")
@click.option("--trust", is_flag=True, help="As if what this project supplies were trusted.")
@click.option("--json", "is_json", is_flag=True, help="The report as one JSON object.")
def explain_command(*, what: str, tool: str, is_json: bool, **given: Any) -> int:
    """Say how the call WHAT is read, which rule decides about each part of it, and what would allow it. Nothing runs.

    WHAT is a shell command; with --tool a path or an address; or the tool's input as a JSON object. Rules are those of the
    settings and of the flags, as a conversation in this folder would have them.
    """
    options = options_from(Flags(**given))
    check_folders(options)
    effect, home = _in_effect(options)
    for notice in effect.notices:
        talk(f"note: {notice}\n")
    report = report_on(tool, what, effect, home)
    say(report_json(report) if is_json else report_text(report))
    return DONE


def _in_effect(options: Options) -> tuple[InEffect, Path | None]:
    configuration = read_configuration(options)
    return in_effect(options, configuration), configuration.home


def report_on(tool: str, what: str, effect: InEffect, home: Path | None) -> CallReport:
    """The report on a typed call where these settings are in effect. Raises UsageError."""
    options = effect.options
    folders = tuple(
        Path(os.path.realpath(expand_home(str(folder), home))) for folder in (options.cwd, *options.add_dirs)
    )
    call = typed_call(tool, what, cwd=folders[0], roots=folders, home=home)
    return report_call(call, Policy(options.permission_mode or "default", effect.rules))


def report_json(report: CallReport) -> str:
    """One object, in the names of `CallReport`."""
    return msgspec.json.format(msgspec.json.encode(report, enc_hook=str), indent=2).decode() + "\n"
