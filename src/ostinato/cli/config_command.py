"""`ostinato config`: the settings as they count, where each comes from, and what a settings file may hold."""

import os
from pathlib import Path

import click

from ostinato.cli.exit_codes import DONE
from ostinato.cli.flag_values import check_folders
from ostinato.cli.folder import FolderType
from ostinato.cli.options import chosen_sources
from ostinato.cli.standard_streams import say
from ostinato.config.schema import schema_text
from ostinato.config.show import lines_in, show_json, show_text
from ostinato.engine.configuration import Configuration, given_variables, read_configuration, started_with
from ostinato.engine.found_settings import FoundSettings, find_settings
from ostinato.engine.options import Options
from ostinato.engine.unread_rules import without_unread_rules


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
def config() -> None:
    """Settings: what counts, and where it comes from."""


_CWD = click.option("--cwd", type=FolderType(), help="As if in this folder.")


@config.command("show")
@click.option("--origin", "with_origin", is_flag=True, help="With file and line, and what it beat.")
@click.option("--json", "is_json", is_flag=True, help="All of it as one JSON object.")
@click.option("--settings", metavar="FILE|JSON", help="As if with these settings.")
@click.option("--setting-sources", metavar="LEVELS", help="As if only these levels were read.")
@click.option("--trust", is_flag=True, help="As if this folder were trusted.")
@_CWD
def show_command(
    *,
    with_origin: bool,
    is_json: bool,
    settings: str | None,
    setting_sources: str | None,
    trust: bool,
    cwd: Path | None,
) -> int:
    """Every setting that counts. Secrets are hidden; what is wrong, or waits for trust, is named."""
    options = Options(
        cwd=cwd or Path.cwd(),
        settings=settings,
        setting_sources=chosen_sources(setting_sources),
        trust=trust,
    )
    check_folders(options)
    found = _found(options, read_configuration(options))
    effective, unread = without_unread_rules(found.effective())
    problems = (*found.loaded.problems, *unread)
    documents = [*effective.documents, *found.loaded.documents]
    lines = lines_in(documents)
    say(
        show_json(effective, problems, lines)
        if is_json
        else show_text(effective, with_origin=with_origin, problems=problems, lines=lines)
    )
    return DONE


@config.command("path")
@_CWD
def path_command(*, cwd: Path | None) -> int:
    """Every settings file that is looked for, from what wins to what yields; `*` marks those that are there."""
    options = Options(cwd=cwd or Path.cwd(), setting_sources=chosen_sources(None))
    check_folders(options)
    found = _found(options, read_configuration(options))
    for source in found.loaded.sources:
        is_there = source.path is not None and os.path.exists(source.path)
        say(f"{'*' if is_there else ' '} {source.level:<8}{source.name}\n")
    return DONE


@config.command("schema")
def schema_command() -> int:
    """The JSON Schema of a settings file."""
    say(schema_text())
    return DONE


def _found(options: Options, configuration: Configuration) -> FoundSettings:
    """What was found, also where the quick look saw nothing: variables are settings too."""
    if configuration.found is not None:
        return configuration.found
    variables = given_variables(started_with(options))
    return find_settings(options, configuration.places, configuration.chosen, variables)
