"""What goes into a permission decision and what comes out, as frozen data."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from ostinato.option_values import PermissionMode
from ostinato.permissions.rules import Rule
from ostinato.permissions.shell_command import ShellReading

ReasonKind = Literal["rule", "mode", "protected_path", "read_only", "outside", "unprovable", "no_rule"]


def _nothing_resolved() -> Mapping[Path, tuple[Path, ...]]:
    return MappingProxyType({})


class CallFacts(msgspec.Struct, frozen=True):
    """One tool call, with everything about it that the decision may use.

    `reads` and `writes` are the absolute paths of file tools; a shell's are found from `shell`. `roots` are the
    workspace's folders as real paths. `resolved` tells where each path of `mentioned_paths(call)` leads; what is
    missing there counts as unknown. `is_read_only` is the tool's own word and counts only for built-in tools.
    `folders` are those of the paths that are a folder now, `files` those that are something else.
    `repository_problem` says why git, in a folder it may run in, may start a program when it only looks; "" if it
    does not. `shell_folder` is where a shell text starts if that is not `cwd`, on which rules are anchored. `stored_results`
    holds what this conversation's tools gave back: it may be read again like the workspace, and not written.
    """

    tool_name: str
    input: Mapping[str, Any]
    is_read_only: bool
    cwd: Path
    roots: tuple[Path, ...]
    home: Path
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    shell: ShellReading | None = None
    resolved: Mapping[Path, tuple[Path, ...]] = msgspec.field(default_factory=_nothing_resolved)
    repository_problem: str = ""
    folders: frozenset[Path] = frozenset()
    files: frozenset[Path] = frozenset()
    shell_folder: Path | None = None
    stored_results: Path | None = None

    @property
    def start(self) -> Path:
        """Where a shell text begins."""
        return self.shell_folder or self.cwd


class Policy(msgspec.Struct, frozen=True):
    mode: PermissionMode = "default"
    rules: tuple[Rule, ...] = ()


class DecisionReason(msgspec.Struct, frozen=True):
    """Why: `rule` and `source` name the rule (or the mode, the protection, the proof); `text` is one plain clause."""

    kind: ReasonKind
    rule: str
    source: str
    text: str


class Allow(msgspec.Struct, frozen=True):
    reason: DecisionReason


class Deny(msgspec.Struct, frozen=True):
    """`is_unasked`: it would be a question, but for the mode `dontAsk`."""

    reason: DecisionReason
    is_unasked: bool = False


class Ask(msgspec.Struct, frozen=True):
    """A person must decide. `suggestions` are rules that would answer the same call from now on; `links` the paths in a
    shell text that lead somewhere else than they say, each with one place where it leads."""

    reason: DecisionReason
    suggestions: tuple[str, ...] = ()
    links: tuple[tuple[Path, Path], ...] = ()


Verdict = Allow | Deny | Ask
