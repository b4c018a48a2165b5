"""The files that deny and ask rules for `Read` keep out of what a search shows: a search names a folder and reads them all.

Promise: a file is hidden if a rule covers its name or where that leads; what cannot be looked at is hidden, too.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ostinato.permissions.rule_matching import path_rule_matches, path_rule_reaches
from ostinato.permissions.rules import Rule
from ostinato.real_path import real_path


def hidden_files(
    rules: tuple[Rule, ...], searched: Iterable[Path], *, cwd: Path, home: Path
) -> Callable[[Path], bool] | None:
    """Whether a search must leave an absolute path out, as a function that looks at the file system; None where no rule can
    hide anything below the folders that are searched.
    """
    hiding = [rule for rule in rules if rule.behaviour != "allow" and rule.tool == "Read" and rule.spec]
    if not hiding:
        return None
    folders = tuple(dict.fromkeys((cwd, real_path(cwd))))
    homes = tuple(dict.fromkeys((home, real_path(home))))
    below = {place for path in searched for place in (path, real_path(path))}
    hiding = [
        rule
        for rule in hiding
        if any(
            path_rule_reaches(rule, place, cwd=folder, home=at)
            for place in below
            for folder in folders
            for at in homes
        )
    ]
    if not hiding:
        return None

    def is_hidden(path: Path) -> bool:
        try:
            candidates = {Path(os.path.normpath(path)), Path(os.path.realpath(path))}
        except (OSError, ValueError):
            return True
        return any(
            path_rule_matches(rule, candidate, cwd=folder, home=place)
            for rule in hiding
            for candidate in candidates
            for folder in folders
            for place in homes
        )

    return is_hidden
