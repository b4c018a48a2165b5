"""Which files each command of a shell text would touch, with the working folder tracked through `cd`.

Promise: the paths are a superset for the programs that are known; where they cannot be told, `problem` says why.
A text may `cd` in a branch, so every later path is judged in every folder it could be relative to.
"""

import os
import re
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostinato.home_folder import below_home
from ostinato.permissions.content_reach import content_reach
from ostinato.permissions.option_grammar import form, parse_command
from ostinato.permissions.read_only import HARMLESS_TARGETS, is_descriptor_copy, paths_read_by
from ostinato.permissions.shell_command import Proven, Redirect, SimpleCommand, Unprovable
from ostinato.permissions.wrappers import commands_run_by, program_name, unsafe_assignment
from ostinato.permissions.writing_options import written_by_options

MAX_FOLDERS = 8
REPLACING = re.compile(r"mv|ln|rename|mount|CDPATH|cp\b|tar\b|rsync")
"""What may put a folder, and who stands in it, somewhere else: then nothing is told by where the text was."""

LOOP = re.compile(r"\b(?:for|while|until)\b")
FILE_COMMANDS = {
    "mkdir": form("pv", "m", "parents verbose", "mode"),
    "touch": form("acm", "dt", "no-create", "date"),
    "mv": form("fnuv", "", "force no-clobber update verbose"),
    "cp": form("aprRfnuv", "", "archive recursive force no-clobber update verbose"),
}
"""Simple file commands that the mode `acceptEdits` allows inside the workspace."""
COPYING_FOLDERS = frozenset({"a", "r", "R", "archive", "recursive"})
READING = frozenset({"<", "<&", "<>"})
WRITING = frozenset({">", ">>", ">|", "<>", ">&", "&>", "&>>"})
GIT_WRITES_SETTINGS = frozenset({"config", "submodule", "init", "clone", "worktree", "lfs", "maintenance"})


class CommandEffects(msgspec.Struct, frozen=True):
    """What one simple command touches. `chain` is the command and what it runs through wrappers.

    `reads` and `writes` are paths as written, made absolute in every possible folder; `redirected` are those of them
    that come from redirections and from options that write; `optioned` come from options alone. `mentions` are all its words
    read as paths: for a program that is not known, any of them may be written. `is_known` says that `reads` and
    `writes` are complete; `is_read_only` that nothing but its redirections writes. `problem` says why the files
    cannot be told, "" if they can; `doubt` why a command is not known to only read that otherwise would be.
    `writes_unknown`: a redirection writes to a file that only running tells. `placed` is where mv and a copy of folders put what they take, `merged` what would be in their way there.
    `trees`, `kept`, `has_history` and `is_open` say which contents it may show besides, as `ContentReach` does.
    """

    command: SimpleCommand
    chain: tuple[SimpleCommand, ...]
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    redirected: tuple[Path, ...] = ()
    optioned: tuple[Path, ...] = ()
    mentions: tuple[Path, ...] = ()
    is_known: bool = False
    is_read_only: bool = False
    changes_git_settings: bool = False
    problem: str = ""
    doubt: str = ""
    trees: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    has_history: bool = False
    is_open: bool = False
    writes_unknown: bool = False
    placed: tuple[Path, ...] = ()
    merged: tuple[Path, ...] = ()


class Folders(msgspec.Struct, frozen=True):
    """Every folder a command of the text could run in, and why that is not certain ("" if it is).

    `repository_problem` says why git in one of them may start a program of the repository's choice when it only looks.
    """

    possible: tuple[Path, ...]
    home: Path
    problem: str = ""
    repository_problem: str = ""

    def paths(self, words: tuple[str, ...]) -> tuple[Path, ...]:
        """The words as absolute paths. `~` is read both as the home folder and as a name, for quotes are gone."""
        found: list[Path] = []
        for word in words:
            found.extend(folder / word for folder in self.possible)
            below = below_home(word)
            if below is not None:
                found.append(self.home / below)
        return tuple(dict.fromkeys(found))


def effects_of(shell: Proven, text: str, start: Folders) -> tuple[CommandEffects, ...]:
    """The effects of every command of a text that starts in the folder of `start`."""
    anywhere = reached_folders(shell.acts(), text, start)
    moves, behind = shell.commands[: shell.moves], shell.commands[shell.moves : shell.behind_moves]
    if anywhere.problem or not moves or not behind or REPLACING.search(text):
        return tuple(_effects(command, anywhere) for command in shell.acts())
    found = [_effects(command, anywhere) for command in shell.conditions]
    there = start
    for move in moves:
        found.append(_effects(move, there))
        there = replace(there, possible=_moved_to(move, there))
    there = reached_folders(behind, text, there)
    found += [_effects(command, there) for command in behind]
    return (*found, *(_effects(command, anywhere) for command in shell.commands[shell.behind_moves :]))


def reached_folders(commands: tuple[SimpleCommand, ...], text: str, folders: Folders) -> Folders:
    """Where the text may come to with its `cd`s."""
    for command in commands:
        chain = commands_run_by(command)
        for link in (command,) if isinstance(chain, Unprovable) else chain:
            folders = _after_move(link, folders, text)
            if folders.problem:
                return folders
    return folders


def _after_move(command: SimpleCommand, folders: Folders, text: str) -> Folders:
    name = command.argv[0] if command.argv else ""
    if name in {"pushd", "popd"}:
        return replace(folders, problem=f"`{name}` moves to a folder that is not tracked")
    if name != "cd":
        return folders
    target = _cd_target(command)
    if target is None or LOOP.search(text):
        return replace(folders, problem="the folder after `cd` cannot be told")
    possible = tuple(dict.fromkeys((*folders.possible, *_moved_to(command, folders))))
    problem = "too many folders after `cd`" if len(possible) > MAX_FOLDERS else ""
    return replace(folders, possible=possible, problem=problem)


def _moved_to(command: SimpleCommand, folders: Folders) -> tuple[Path, ...]:
    """Where a `cd` that succeeds may lead: the shell takes `..` back through a link, the system takes it from where that leads."""
    paths = folders.paths((_cd_target(command) or "",))
    by_name = tuple(Path(os.path.normpath(path)) for path in paths if ".." in path.parts)
    return tuple(dict.fromkeys((*paths, *by_name)))


def _cd_target(command: SimpleCommand) -> str | None:
    words = tuple(word for word in command.argv[1:] if word != "--")
    if not words:
        return "~"
    target = words[0]
    is_plain = target is not None and not target.startswith("-") and target != "" and _is_plain_home(target)
    return target if is_plain and len(words) == 1 else None


def _is_plain_home(word: str) -> bool:
    return not word.startswith("~") or below_home(word) is not None


def _effects(command: SimpleCommand, folders: Folders) -> CommandEffects:
    chain = commands_run_by(command)
    if isinstance(chain, Unprovable):
        return CommandEffects(command, (command,), problem=chain.why, is_open=True)
    redirects = tuple(redirect for link in chain for redirect in link.redirects)
    problem = folders.problem or _problem_of(chain, redirects)
    written, read = _redirected(redirects)
    mentions = folders.paths(tuple(_mentioned(chain)))
    git_settings = any(_changes_git_settings(link) for link in chain)
    last = chain[-1]
    reach = content_reach(chain)
    shared = CommandEffects(
        command,
        chain,
        trees=folders.paths(reach.trees),
        kept=folders.paths(reach.kept),
        has_history=reach.has_history,
        is_open=reach.is_open or any(_is_unknown(redirect, READING) for redirect in redirects),
        writes_unknown=any(_is_unknown(redirect, WRITING) for redirect in redirects),
        reads=folders.paths(read),
        writes=folders.paths(written),
        redirected=folders.paths((*written, *read)),
        mentions=mentions,
        changes_git_settings=git_settings,
        problem=problem,
        doubt=folders.repository_problem if last.argv[:1] == ("git",) else "",
    )
    looked_at = _looked_at(command, last, folders)
    if looked_at is not None:
        reads = folders.paths(tuple(word for word in (*looked_at, *read) if word != "-"))
        return replace(shared, reads=reads, is_known=True, is_read_only=True)
    return _with_what_it_writes(shared, folders, written)


def _with_what_it_writes(
    shared: CommandEffects, folders: Folders, written: tuple[str, ...]
) -> CommandEffects:
    """The effects of a command that is not proven to only read; `written` are the targets of its redirections."""
    command, chain = shared.command, shared.chain
    moves = _moved_by(chain)
    by_options = written_by_options(chain)
    targets = tuple(word for word in by_options if word is not None and word not in HARMLESS_TARGETS)
    optioned = tuple(path for path in folders.paths(targets) if path not in shared.redirected)
    is_unknown = None in by_options
    # What is copied or moved is read: under its new name no rule would know it.
    sources = shared.trees if moves.is_known else ()
    return replace(
        shared,
        reads=tuple(dict.fromkeys((*shared.reads, *sources))),
        writes=(*folders.paths((*written, *moves.touched)), *optioned),
        redirected=(*shared.redirected, *optioned),
        optioned=optioned,
        writes_unknown=shared.writes_unknown or is_unknown,
        problem=shared.problem or ("the file that an option writes is not static" if is_unknown else ""),
        is_known=moves.is_known or not command.argv,
        is_read_only=not command.argv,
        placed=folders.paths(moves.placed),
        merged=folders.paths(moves.merged),
    )


def _problem_of(chain: tuple[SimpleCommand, ...], redirects: tuple[Redirect, ...]) -> str:
    for link in chain:
        if (name := unsafe_assignment(link)) is not None:
            return f"setting `{name}` may change which program runs or what it does"
    for redirect in redirects:
        if redirect.target is None and redirect.operator not in {"<<", "<<-", "<<<"}:
            return "the target of a redirection is not static"
    return ""


def _redirected(redirects: tuple[Redirect, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(written, read) targets; a copied descriptor and the null device are neither."""
    written: list[str] = []
    read: list[str] = []
    for redirect in redirects:
        target = redirect.target
        if target is None or target in HARMLESS_TARGETS or is_descriptor_copy(redirect):
            continue
        if redirect.operator in READING:
            read.append(target)
        if redirect.operator in WRITING:
            written.append(target)
    return tuple(written), tuple(read)


def _is_unknown(redirect: Redirect, operators: frozenset[str]) -> bool:
    return redirect.target is None and redirect.operator in operators


def _looked_at(command: SimpleCommand, last: SimpleCommand, folders: Folders) -> tuple[str, ...] | None:
    """The words that a read-only command looks at, its redirections left out; None when it is not proven."""
    if last.argv[:1] == ("cd",):
        target = _cd_target(last)
        return None if target is None else (target,)
    if folders.repository_problem and last.argv[:1] == ("git",):
        return None
    without_redirects = SimpleCommand(command.argv, (), command.env, command.globs)
    return paths_read_by(without_redirects) if command.argv else None


class _Moves(msgspec.Struct, frozen=True):
    """What mkdir, touch, mv or cp touch; not known for other programs, and where not every name can be told."""

    touched: tuple[str, ...] = ()
    placed: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    is_known: bool = False


def _moved_by(chain: tuple[SimpleCommand, ...]) -> _Moves:
    """Every operand, and what mv and cp make inside a folder."""
    command = chain[0]
    if len(chain) > 1 or not command.argv or command.argv[0] not in FILE_COMMANDS or command.globs:
        return _Moves()
    arguments = parse_command(FILE_COMMANDS[command.argv[0]], command)
    if arguments is None:
        return _Moves()
    operands = arguments.operands
    if command.argv[0] not in {"mv", "cp"} or not operands:
        return _Moves(operands, is_known=True)
    names = tuple(source.rstrip("/").rsplit("/", 1)[-1] for source in operands[:-1])
    if not {"", ".", ".."}.isdisjoint(names):
        return _Moves()  # all that is in the folder, whatever it is called
    into = tuple(f"{operands[-1]}/{name}" for name in names)
    takes_folders = command.argv[0] == "mv" or bool(arguments.option_names() & COPYING_FOLDERS)
    return _Moves(
        operands + into,
        (operands[-1], *into) if takes_folders else (),
        into if takes_folders and command.argv[0] == "cp" else (),
        is_known=True,
    )


def _mentioned(chain: tuple[SimpleCommand, ...]) -> list[str]:
    found: list[str] = []
    for link in chain:
        for word in link.words()[1:]:
            if word is None or "\n" in word or len(word) > 1_000:
                continue
            found.append(word)
            if "=" in word:
                found.append(word.partition("=")[2])
    return found


def _changes_git_settings(command: SimpleCommand) -> bool:
    if not command.argv or program_name(command.argv[0] or "") != "git":
        return False
    subcommand = next((word for word in command.argv[1:] if word is None or not word.startswith("-")), "")
    return subcommand in GIT_WRITES_SETTINGS
