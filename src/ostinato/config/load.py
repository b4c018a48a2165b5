"""The settings of a session, in two steps: read every file once, then say what counts, trusted or not.

A file that cannot be used is left out as a whole and named; of one that can, each wrong key is left out and named.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, cast

import msgspec

from ostinato.config.before_trust import acting_parts
from ostinato.config.keys import SETTINGS
from ostinato.config.layers import ListDropIns, settings_sources
from ostinato.config.merge import Branch, Document, merge
from ostinato.config.places import Places
from ostinato.config.read_file import drop_ins, read_settings_file
from ostinato.config.settings import Settings, settings_from
from ostinato.config.settings_text import Read, Unreadable, read_settings_text
from ostinato.config.shape import Fault, Nothing, check_fields, is_object
from ostinato.config.source import PROJECT_LEVELS, Level, Problem, Source, Sourced
from ostinato.errors import UsageError

MAX_SHOWN_CHARACTERS: Final = 100

ReadFile: TypeAlias = Callable[[Path], bytes | Unreadable | None]

ALL: Final[frozenset[Level]] = frozenset({"user", "project", "local"})
"""The levels that can be chosen from. Managed files and `--settings` are always read."""


class Loaded(msgspec.Struct, frozen=True):
    """`documents` from what wins to what yields. `sources`: all files that were looked for.

    `project_digests`: path to SHA-256 of the project's files that were read, so that trust is asked for these bytes.
    """

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]
    sources: tuple[Source, ...]
    project_digests: Mapping[Path, str]


class Effective(msgspec.Struct, frozen=True):
    """`merged` is the tree behind `settings`, made of `documents`. `withheld` is what would count if the project were trusted."""

    settings: Settings
    merged: Branch
    documents: tuple[Document, ...] = ()
    withheld: tuple[tuple[str, Sourced[object]], ...] = ()


def load_settings(
    places: Places,
    *,
    chosen: frozenset[Level] = ALL,
    settings_flag: str | None = None,
    given: Sequence[Document] = (),
    read: ReadFile = read_settings_file,
    list_drop_ins: ListDropIns = drop_ins,
) -> Loaded:
    """Read all files. `settings_flag` is the value of `--settings`: a path, or JSON. `given` are flags and variables
    that were set (see `given`), those that win first; managed files win over them.

    Raises UsageError only if `settings_flag` itself cannot be used: somebody asked for it by name.
    """
    layers = settings_sources(places, chosen, list_drop_ins=list_drop_ins)
    documents, problems, digests = list[Document](), list[Problem](), dict[Path, str]()

    def take(source: Source, content: bytes | Unreadable | None) -> None:
        if content is None:
            return
        if isinstance(content, bytes) and source.level in PROJECT_LEVELS and source.path is not None:
            digests[source.path] = hashlib.sha256(content).hexdigest()
        found = read_document(source, content)
        problems.extend(found.problems)
        if found.document is not None:
            documents.append(found.document)

    for source, unreadable in layers.unlisted:
        take(source, unreadable)
    for source in layers.managed:
        take(source, _content(source, read))
    documents.extend(given)
    if settings_flag is not None:
        take(*_flag(settings_flag, read))
    for source in layers.others:
        take(source, _content(source, read))
    return Loaded(tuple(documents), tuple(problems), (*layers.managed, *layers.others), digests)


def effective(loaded: Loaded, *, is_trusted: bool) -> Effective:
    """What counts. Without trust nothing that the project supplies acts but its deny and ask rules."""
    if is_trusted:
        merged = merge(loaded.documents)
        return Effective(settings_from(merged), merged, loaded.documents)
    split = acting_parts(loaded.documents)
    merged = merge(split.acting)
    return Effective(settings_from(merged), merged, split.acting, split.withheld)


def given(level: Level, key: str, value: object, *, name: str) -> Document:
    """One value that a flag or a variable sets. `key` has dots between its parts; `name` is shown, such as `--model`."""
    *above, last = key.split(".")
    data: dict[str, object] = {last: _json(value)}
    for part in reversed(above):
        data = {part: data}
    return Document(Source(level, name), data)


def _json(value: object) -> object:
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


class DocumentRead(msgspec.Struct, frozen=True):
    document: Document | None
    problems: tuple[Problem, ...] = ()


def read_document(source: Source, content: bytes | Unreadable) -> DocumentRead:
    """One file's content, checked key by key."""
    answer = content if isinstance(content, Unreadable) else read_settings_text(content)
    if isinstance(answer, Unreadable):
        problem = Problem(source, answer.what, answer.hint, line=answer.line, column=answer.column)
        return DocumentRead(None, (problem,))
    faults: list[Fault] = []
    data = check_fields(SETTINGS, answer.data, "", faults.append)
    if isinstance(data, Nothing):
        return DocumentRead(None, tuple(_problem(source, fault) for fault in faults))
    if source.level in PROJECT_LEVELS:
        data = _without_bypass(_without_cleanup(data, faults.append), faults.append)
    problems = [_problem(source, fault) for fault in faults]
    return DocumentRead(Document(source, data), (*_repeated(source, answer), *problems))


def _without_bypass(data: dict[str, object], report: Callable[[Fault], None]) -> dict[str, object]:
    """A project never turns all questions off, not even a trusted one: that is for the person at the keyboard."""
    permissions = data.get("permissions")
    if not is_object(permissions) or permissions.get("defaultMode") != "bypassPermissions":
        return data
    hint = "set it in your own settings, or with `--permission-mode`"
    report(Fault("permissions.defaultMode", "may not be `bypassPermissions` in a project", hint))
    return {
        **data,
        "permissions": {name: part for name, part in permissions.items() if name != "defaultMode"},
    }


def _without_cleanup(data: dict[str, object], report: Callable[[Fault], None]) -> dict[str, object]:
    """How long sessions are kept is their user's to say: those of other projects would go with this one's."""
    if "cleanupPeriodDays" not in data:
        return data
    report(Fault("cleanupPeriodDays", "may not be set in a project", "set it in your own settings"))
    return {name: value for name, value in data.items() if name != "cleanupPeriodDays"}


def _repeated(source: Source, answer: Read) -> tuple[Problem, ...]:
    return tuple(
        Problem(source, "stands more than once in one object; the last counts", "keep one of them", key=name)
        for name in answer.repeated
    )


def _problem(source: Source, fault: Fault) -> Problem:
    return Problem(source, fault.what, fault.hint, key=fault.key)


def _content(source: Source, read: ReadFile) -> bytes | Unreadable | None:
    return None if source.path is None else read(source.path)


def _flag(value: str, read: ReadFile) -> tuple[Source, bytes]:
    shown = value if len(value) <= MAX_SHOWN_CHARACTERS else f"{value[:MAX_SHOWN_CHARACTERS]}…"
    if value.lstrip().startswith("{"):
        source = Source("settings_flag", "--settings")
        content: bytes | Unreadable | None = value.encode(errors="surrogatepass")
    else:
        path = Path(value)
        source = Source("settings_flag", str(path), path)
        content = read(path)
    if content is None:
        raise UsageError(
            f"there is no settings file `{shown}`",
            hint="`--settings` takes a path, or JSON that starts with `{`",
        )
    problems = read_document(source, content).problems
    broken = next((problem for problem in problems if not problem.key), None)
    if broken is not None or isinstance(content, Unreadable):
        said = broken.where_and_what if broken else "cannot be used"
        raise UsageError(f"`--settings {shown}` {said}", hint=broken.hint if broken else "")
    return source, content
