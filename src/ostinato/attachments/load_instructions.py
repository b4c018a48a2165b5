"""Loading instruction files: every file once, in a fixed order, and whatever is wrong with one is a problem with a name.

Blocking; run it in a worker thread. The same files give the same value, byte for byte.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from ostinato.attachments.file_text import FileText, NotRead, read_file_text
from ostinato.attachments.instruction_candidates import Candidate, folder_candidates, start_candidates
from ostinato.attachments.instruction_files import (
    ADVISED_CHARACTERS,
    MAX_BYTES,
    MAX_FILES,
    MAX_IMPORT_DEPTH,
    InstructionFile,
    InstructionPlaces,
    InstructionProblem,
    LoadedInstructions,
    ProblemKind,
)
from ostinato.attachments.instruction_imports import import_path, import_words, is_meant_as_path
from ostinato.attachments.markdown_text import without_block_comments
from ostinato.attachments.path_rules import PathPatterns
from ostinato.attachments.rule_paths import read_rule
from ostinato.home_folder import below_home
from ostinato.real_path import real_path


def load_instructions(places: InstructionPlaces) -> LoadedInstructions:
    """Everything that counts when a session starts in `places.cwd`; rules with `paths` are among the files."""
    return _load(start_candidates(places), places, frozenset())


def load_folder_instructions(
    folder: Path, places: InstructionPlaces, already: frozenset[Path]
) -> LoadedInstructions:
    """What one folder below `cwd` adds; `already` are real paths that need not be loaded again."""
    return _load(folder_candidates(folder), places, already)


def _load(
    candidates: Iterable[Candidate], places: InstructionPlaces, already: frozenset[Path]
) -> LoadedInstructions:
    loading = _Loading(places, already)
    for candidate in candidates:
        loading.add(candidate)
    return LoadedInstructions(
        tuple(loading.files), tuple(loading.problems), frozenset(loading.seen) - already
    )


class _Loading:
    """The files and problems so far. `seen` are real paths, so that links, cycles and copies count once."""

    def __init__(self, places: InstructionPlaces, already: frozenset[Path]) -> None:
        self.files: list[InstructionFile] = []
        self.problems: list[InstructionProblem] = []
        self.seen: set[Path] = set(already)
        self._places = places
        self._excludes = PathPatterns([_with_home(one, places) for one in places.excludes], at_any_depth=True)
        self._bytes_left = MAX_BYTES
        self._owners = {0, os.geteuid(), _owner(places.cwd)}

    def add(self, candidate: Candidate) -> None:
        """Load one file and, right after it, what it imports."""
        if not os.path.lexists(candidate.path):
            return  # a link that leads nowhere or in a circle goes on, and becomes a problem
        real = real_path(candidate.path)
        if real in self.seen:
            return
        if candidate.origin != "managed" and self._is_excluded(candidate.path, real):
            self._note(candidate, "excluded", "an exclude pattern names it")
            return
        if not self._may_read(candidate, real):
            self._note(
                candidate, "refused", f"`{real}` lies outside the working folder and the folders added to it"
            )
            return
        self.seen.add(real)
        if len(self.files) >= MAX_FILES:
            self._note(candidate, "too_large", f"{MAX_FILES} files are loaded already")
            return
        read = read_file_text(real, max_bytes=self._bytes_left)
        match read:
            case NotRead(is_too_large=True):
                reason = f"it, or all files together, would be more than {MAX_BYTES} bytes"
                self._note(candidate, "too_large", reason)
            case NotRead():
                self._note(candidate, "unreadable", read.reason)
            case FileText():
                self._take(candidate, read)

    def _take(self, candidate: Candidate, read: FileText) -> None:
        if self._is_foreign(candidate, read.owner):
            self._note(candidate, "refused", "it lies above the project and belongs to another user")
            return
        self._bytes_left -= read.size_bytes
        text, paths = read.text, candidate.paths
        if candidate.kind == "rule":
            front = read_rule(text)
            text, paths = front.body, front.paths
            if front.problem:
                self._note(candidate, "front_matter", front.problem)
        text = without_block_comments(text).strip()
        if len(text) > ADVISED_CHARACTERS:
            advice = f"it has {len(text)} characters; more than {ADVISED_CHARACTERS} are followed less well"
            self._note(candidate, "long", advice)
        if not text or self._is_copy(candidate, text):
            return
        file = InstructionFile(
            candidate.path,
            candidate.kind,
            candidate.origin,
            candidate.base,
            text,
            candidate.imported_from,
            paths,
        )
        self.files.append(file)
        self._import(candidate, file)

    def _import(self, candidate: Candidate, file: InstructionFile) -> None:
        for word in import_words(file.text):
            path = import_path(word, file.path.parent, self._places.home)
            if path is None:
                if is_meant_as_path(word):
                    reason = f"`@{word}` in `{file.path}` names no file"
                    self.problems.append(InstructionProblem(file.path, "not_found", reason))
                continue
            depth = candidate.depth + 1
            imported = Candidate(path, "import", file.origin, file.base, file.path, file.paths, depth)
            if depth <= MAX_IMPORT_DEPTH:
                self.add(imported)
            elif real_path(path) not in self.seen:
                reason = f"it is imported more than {MAX_IMPORT_DEPTH} files deep"
                self._note(imported, "too_deep", reason)

    def _is_excluded(self, path: Path, real: Path) -> bool:
        return self._excludes.matches(str(path)) or self._excludes.matches(str(real))

    def _may_read(self, candidate: Candidate, real: Path) -> bool:
        """Files of a project may not reach out of it, by an import or by a link, but into a folder that was added."""
        if candidate.origin != "project":
            return True
        inside = self._places.roots if candidate.kind == "import" else (*self._places.roots, candidate.base)
        return any(real.is_relative_to(root) for root in inside)

    def _is_foreign(self, candidate: Candidate, owner: int) -> bool:
        """In a shared folder above the project anybody may leave a file for us to obey."""
        is_above = candidate.origin == "project" and not candidate.base.is_relative_to(self._places.cwd)
        return is_above and owner not in self._owners

    def _is_copy(self, candidate: Candidate, text: str) -> bool:
        """AGENTS.md and CLAUDE.md with the same words side by side count once."""
        return candidate.kind == "instructions" and any(
            file.base == candidate.base and file.origin == candidate.origin and file.text == text
            for file in self.files
        )

    def _note(self, candidate: Candidate, kind: ProblemKind, reason: str) -> None:
        if candidate.imported_from is not None:
            reason = f"{reason} (imported by `{candidate.imported_from}`)"
        self.problems.append(InstructionProblem(candidate.path, kind, reason))


def _with_home(pattern: str, places: InstructionPlaces) -> str:
    below = below_home(pattern)
    return pattern if below is None or places.home is None else f"{places.home}/{below}"


def _owner(folder: Path) -> int:
    try:
        return os.stat(folder).st_uid
    except OSError:
        return os.geteuid()
