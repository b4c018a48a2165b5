"""The paths of one call and where they lead: inside the workspace, under a rule, or under protection."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ostinato.permissions.protected_paths import (
    OTHERS_SECRETS,
    PROCESS_SECRET,
    is_protected,
    is_protected_from_reading,
)
from ostinato.permissions.rule_matching import fixed_place, path_rule_matches, path_rule_reaches
from ostinato.permissions.rules import Rule
from ostinato.permissions.shell_command import Proven
from ostinato.permissions.shell_effects import CommandEffects, Folders, effects_of, reached_folders
from ostinato.permissions.verdict import CallFacts


class CallPaths(msgspec.Struct, frozen=True):
    """A call with the effects of its shell commands worked out once. `moved`: folders that its own commands put there."""

    call: CallFacts
    effects: tuple[CommandEffects, ...]
    moved: frozenset[Path] = frozenset()

    def targets(self, path: Path) -> tuple[Path, ...]:
        """Where the path really leads; empty when that is unknown, as below a folder that comes there only now, links and all."""
        if self.moved and path not in self.moved and not self.moved.isdisjoint(path.parents):
            return ()
        return self.call.resolved.get(path, ())

    def is_inside(self, path: Path) -> bool:
        """Whether all that the path can mean lies in the workspace, compared part by part."""
        targets = self.targets(path)
        return bool(targets) and all(
            any(target.is_relative_to(root) for root in self.call.roots) for target in targets
        )

    def may_be_read(self, path: Path) -> bool:
        """Inside, or a result that the model was given already."""
        stored = self.call.stored_results
        if self.is_inside(path):
            return True
        targets = self.targets(path)
        return (
            stored is not None and bool(targets) and all(target.is_relative_to(stored) for target in targets)
        )

    def may_all_be_read(self, paths: Iterable[Path]) -> bool:
        return all(self.may_be_read(path) for path in paths)

    def are_inside(self, paths: Iterable[Path]) -> bool:
        return all(self.is_inside(path) for path in paths)

    def protection(self, paths: Iterable[Path]) -> tuple[Path, str] | None:
        """The first path that is protected, as written or where it leads, with the protection's name."""
        for path in paths:
            for candidate in (path, *self.targets(path)):
                name = is_protected(candidate, home=self.call.home)
                if name is not None:
                    return path, name
        return None

    def read_protection(self) -> tuple[Path, str] | None:
        """The first path that the call may read and that is protected from it."""
        unknown = (path for effect in self.effects if not effect.is_known for path in effect.mentions)
        named = ((path, False) for path in (*self.reads(), *unknown))
        searched = self.call.reads if self.call.tool_name == "Grep" else ()
        trees = (
            (path, True) for path in (*searched, *(path for effect in self.effects for path in effect.trees))
        )
        for path, is_tree in (*named, *trees):
            for candidate in (path, *self.targets(path)):
                name = is_protected_from_reading(candidate, is_tree=is_tree)
                if name is not None:
                    return path, name
        # A word that only running tells, or the text that a program is given, may be such a path as well.
        is_unknown = any(not effect.is_known for effect in self.effects)
        spelt = PROCESS_SECRET.search(str(self.call.input.get("command", ""))) if is_unknown else None
        return None if spelt is None else (Path(spelt[0]), OTHERS_SECRETS)

    def rule_covers(self, rule: Rule, path: Path) -> bool:
        """An allow rule must cover the path as written and where it leads; a deny or ask rule, either of them."""
        written = self._matches(rule, Path(os.path.normpath(path)))
        led = tuple(self._matches(rule, target) for target in self.targets(path))
        if rule.behaviour == "allow":
            return written and bool(led) and all(led)
        return written or any(led)

    def places(self, path: Path) -> tuple[Path, ...]:
        """The path as written and all that it leads to: each must be allowed; empty where it is unknown."""
        targets = self.targets(path)
        return tuple(dict.fromkeys((Path(os.path.normpath(path)), *targets))) if targets else ()

    def links(self) -> tuple[tuple[Path, Path], ...]:
        """The paths in a shell text that may be files and lead elsewhere, with where; a link above the working folder is
        the user's own way there and does not count."""
        found: dict[Path, Path] = {}
        for path in (path for each in self.effects for path in (*each.writes, *each.mentions, *each.reads)):
            named = Path(os.path.normpath(path))
            said = {named}
            if named.is_relative_to(self.call.cwd):
                said |= {folder / named.relative_to(self.call.cwd) for folder in self.targets(self.call.cwd)}
            literal, *matches = self.targets(path) or (named,)
            elsewhere = [target for target in matches if target.parent != literal.parent]
            if literal not in said or elsewhere:
                found[path] = elsewhere[0] if elsewhere else literal
        return tuple((path, target) for path, target in found.items() if not _is_told(path, target, found))

    def rule_matches(self, rule: Rule, place: Path) -> bool:
        """Whether the rule covers this one of the `places`."""
        return self._matches(rule, place)

    def rule_reaches(self, rule: Rule, effect: CommandEffects) -> bool:
        """Whether a deny or ask rule may cover one of the files whose contents a command may show."""
        if effect.is_open or (effect.has_history and self._is_near(rule)):
            return True
        # Where a path leads may be unknown; what is not there yet can only come from what is judged by itself.
        trees = [path for path in effect.trees if path in self.call.folders or not self.targets(path)]
        kept = [path for path in effect.kept if path not in self.call.files]
        candidates = (
            *((candidate, True) for path in (*trees, *kept) for candidate in (path, *self.targets(path))),
            *((path, False) for path in (*effect.trees, *effect.kept)),
        )
        return any(
            self._reaches(rule, Path(os.path.normpath(path))) if is_tree else self.rule_covers(rule, path)
            for path, is_tree in candidates
        )

    def _is_near(self, rule: Rule) -> bool:
        """Whether what the rule covers may lie in the repository of the working folder, which may begin far above it."""
        if any(self._reaches(rule, root) for root in (self.call.cwd, *self.call.roots)):
            return True
        place = fixed_place(rule, cwd=self.call.cwd, home=self.call.home)
        shared = Path(os.path.commonpath((place, self.call.cwd)))
        return not (self.call.home.is_relative_to(shared) or len(shared.parts) == 1)

    def _reaches(self, rule: Rule, path: Path) -> bool:
        folders = (self.call.cwd, *self.targets(self.call.cwd))
        homes = (self.call.home, *self.targets(self.call.home))
        return any(path_rule_reaches(rule, path, cwd=cwd, home=home) for cwd in folders for home in homes)

    def _matches(self, rule: Rule, path: Path) -> bool:
        folders = (self.call.cwd, *self.targets(self.call.cwd))
        homes = (self.call.home, *self.targets(self.call.home))
        return any(path_rule_matches(rule, path, cwd=cwd, home=home) for cwd in folders for home in homes)

    def writes(self) -> tuple[Path, ...]:
        return self.call.writes + tuple(path for effect in self.effects for path in effect.writes)

    def reads(self) -> tuple[Path, ...]:
        return self.call.reads + tuple(path for effect in self.effects for path in effect.reads)


def _is_told(path: Path, target: Path, links: Mapping[Path, Path]) -> bool:
    """Whether another of the links, above the path, says already where it leads."""
    return any(above in links and links[above] / path.relative_to(above) == target for above in path.parents)


def paths_of(call: CallFacts) -> CallPaths:
    """The call with its shell effects; a text that was not proven has none."""
    if not isinstance(call.shell, Proven):
        return CallPaths(call, ())
    text = str(call.input.get("command", ""))
    start = Folders((call.start,), call.home, repository_problem=call.repository_problem)
    effects = effects_of(call.shell, text, start)
    return CallPaths(call, effects, _moved(call, effects))


def _moved(call: CallFacts, effects: tuple[CommandEffects, ...]) -> frozenset[Path]:
    """Where folders come to, from hand to hand too, in whatever order the commands may run."""
    moved = frozenset[Path]()
    placing = [effect for effect in effects if effect.placed]
    for _ in placing:
        folders = call.folders | moved
        now = {
            path
            for effect in placing
            if not folders.isdisjoint(effect.trees)
            for path in effect.placed
            if path not in call.folders
        }
        if now <= moved:
            break
        moved |= now
    return moved


def git_folders(call: CallFacts) -> tuple[Path, ...]:
    """The folders in which a shell text may run git, so that the settings of the repositories there matter."""
    if not isinstance(call.shell, Proven):
        return ()
    commands = call.shell.commands
    if not any("git" in (word or "") for command in commands for word in command.argv):
        return ()
    text = str(call.input.get("command", ""))
    return reached_folders(commands, text, Folders((call.start,), call.home)).possible


def mentioned_paths(call: CallFacts) -> frozenset[Path]:
    """Every path whose real target the decision will want to know: resolve them and set `resolved`."""
    paths = paths_of(call)
    shell = {path for effect in paths.effects for path in (*effect.mentions, *effect.kept)}
    return frozenset({call.cwd, call.start, call.home, *paths.reads(), *paths.writes(), *shell})
