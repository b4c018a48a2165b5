"""Which calls may run at the same time: two accesses conflict when one writes what the other touches."""

from pathlib import Path

from ostinato.tool import Access


def conflicts(first: Access, second: Access) -> bool:
    """Symmetric. `exclusive` conflicts with everything."""
    if first.exclusive or second.exclusive:
        return True
    return (
        _overlap(first.writes, second.writes)
        or _overlap(first.writes, second.reads)
        or _overlap(first.reads, second.writes)
    )


def _overlap(first: tuple[Path, ...], second: tuple[Path, ...]) -> bool:
    return any(_is_same_or_below(a, b) or _is_same_or_below(b, a) for a in first for b in second)


def _is_same_or_below(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
