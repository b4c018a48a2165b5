"""A home and a project in a temporary folder, and files put into them by a dictionary of paths to contents."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from ostinato.attachments.instruction_files import InstructionPlaces, LoadedInstructions
from ostinato.attachments.load_instructions import load_instructions


def put(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def places(root: Path, **changes: object) -> InstructionPlaces:
    """`root/home`, `root/home/.ostinato` and `root/project`; no managed files of this machine."""
    for name in ("home", "project"):
        (root / name).mkdir(exist_ok=True)
    project = root / "project"
    usual = InstructionPlaces(
        cwd=project, roots=(project,), home=root / "home", data_root=root / "home" / ".ostinato", managed=()
    )
    return msgspec.structs.replace(usual, **changes)


def names(loaded: LoadedInstructions, root: Path) -> list[str]:
    """The loaded files in order, relative to `root`."""
    return [str(file.path.relative_to(root)) for file in loaded.files]


def problems(loaded: LoadedInstructions) -> list[tuple[str, str]]:
    return [(problem.path.name, problem.kind) for problem in loaded.problems]


def load(root: Path, files: Mapping[str, str | bytes], **changes: object) -> LoadedInstructions:
    put(root, files)
    return load_instructions(places(root, **changes))
