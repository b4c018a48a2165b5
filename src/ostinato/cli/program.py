"""Everything between the command line and the exit code: streams, signals, logging, and the one place where errors are told."""

import contextlib
import logging
import os
from collections.abc import Sequence

import click

from ostinato.cli.command import run_command, usage_text
from ostinato.cli.debug_request import DebugRequest, debug_request
from ostinato.cli.early_signals import hear_early, ignore_late
from ostinato.cli.error_text import error_text
from ostinato.cli.exit_codes import DONE, FAILED, INTERRUPTED, USAGE, error_code
from ostinato.cli.standard_streams import forget_output, prepare, talk
from ostinato.errors import OstinatoError
from ostinato.visible_text import visible


def run_program(argv: Sequence[str]) -> int:
    """The exit code. Raises nothing but SystemExit, for a signal that comes before the work."""
    prepare()
    hear_early()
    request = debug_request(argv, os.environ)
    try:
        _set_up_logging(request)
        return run_command(argv)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `… | head`: who left has read enough
        forget_output()
        return DONE
    except Exception as error:  # the one place where every error becomes two lines and a code
        if request is not None:
            logging.getLogger("ostinato").debug("the command ends by an error", exc_info=error)
        return _told(error)
    finally:
        with contextlib.suppress(ValueError):
            ignore_late()


def _told(error: Exception) -> int:
    """Say what went wrong; the exit code for it."""
    match error:
        case OstinatoError():
            talk(error_text(visible(error.message), visible(error.hint)))
            return error_code(error)
        case click.ClickException():
            talk(error_text(usage_text(error), f"`{_asked_command(error)} --help` lists what there is"))
            return USAGE
        case _:
            what = visible(f"{type(error).__name__}: {error}")
            hint = "this is a fault of ostinato: run it again with `--debug` and report what that prints"
            talk(error_text(f"something unforeseen happened: {what}", hint))
            return FAILED


def _asked_command(error: click.ClickException) -> str:
    """The command that could not be read, with its subcommand."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return "ostinato" if context is None else context.command_path


def _set_up_logging(request: DebugRequest | None) -> None:
    """The library's log goes nowhere unless asked for: a command speaks through its own lines. Raises UsageError."""
    if request is None:
        logging.getLogger("ostinato").addHandler(logging.NullHandler())
        return
    from ostinato.cli.debug_log import start_log  # ruff: ignore[import-outside-top-level] - loads only for those who look

    start_log(request, os.environ)
