"""`ostinato local`: models that run on this machine."""

import click

from ostinato.cli.local_pull import run_pull


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
def local() -> None:
    """Models that run on this machine."""


@local.command("pull")
@click.argument("name", default="local")
@click.option("--from", "source", metavar="FILE|URL", help="Take the file from there.")
def pull_command(*, name: str, source: str | None) -> int:
    """Get the model NAME: the small coding model if none is named."""
    return run_pull(name, source)
