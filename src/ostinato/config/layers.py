"""Which settings files there are, and which of them wins: the order, as plain data, before anything is read.

Within one level our own folder wins over the other tool's.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from ostinato.config.places import PROJECT_FOLDERS, Places
from ostinato.config.settings_text import Unreadable
from ostinato.config.source import Level, Source
from ostinato.real_path import real_path

ListDropIns = Callable[[Path], tuple[Path, ...] | Unreadable]


class Layers(msgspec.Struct, frozen=True):
    """The managed files, and those of the chosen levels; each from what wins to what yields, each file once.

    `unlisted` are folders of managed files that nobody could look into.
    """

    managed: tuple[Source, ...]
    others: tuple[Source, ...]
    unlisted: tuple[tuple[Source, Unreadable], ...] = ()


def settings_sources(places: Places, chosen: frozenset[Level], *, list_drop_ins: ListDropIns) -> Layers:
    """Where settings may lie.

    Of two ways to the same file the one of the lower level counts: the user's own file is not a project's, even where
    the home folder is the project.
    """
    managed: list[Source] = []
    unlisted: list[tuple[Source, Unreadable]] = []
    for folder in places.managed_folders:
        more = folder / "managed-settings.d"
        listed = list_drop_ins(more)
        if isinstance(listed, Unreadable):
            unlisted.append((_managed(more), listed))
        else:
            managed += map(_managed, listed)
        managed.append(_managed(folder / "managed-settings.json"))
    root = places.project_root
    others = [
        *(_file("local", root / folder / "settings.local.json", root) for folder in PROJECT_FOLDERS),
        *(_file("project", root / folder / "settings.json", root) for folder in PROJECT_FOLDERS),
        *(
            _file("user", folder / "settings.json", folder)
            for folder in (places.data_root, places.other_user_folder)
            if folder is not None
        ),
    ]
    kept = tuple(source for source in _once(others) if source.level in chosen)
    return Layers(tuple(managed), kept, tuple(unlisted))


def _managed(path: Path) -> Source:
    return _file("managed", path, path.parent)


def _file(level: Level, path: Path, anchor: Path) -> Source:
    return Source(level, str(path), path, anchor)


def _once(sources: list[Source]) -> list[Source]:
    """Of the same place only the last, but the first of two within one level."""
    level_of: dict[str, Level] = {}
    for source in sources:
        level_of[_place(source)] = source.level
    seen: set[str] = set()
    kept: list[Source] = []
    for source in sources:
        place = _place(source)
        if level_of[place] == source.level and place not in seen:
            seen.add(place)
            kept.append(source)
    return kept


def _place(source: Source) -> str:
    """The folder is resolved, the file is not: a project's link to the user's file is still the project's doing."""
    path = source.path
    return source.name if path is None else str(real_path(path.parent) / path.name)
